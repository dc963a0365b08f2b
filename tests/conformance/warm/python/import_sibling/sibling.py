try:
    count += 1
except NameError:
    count = 1


def show_main():
    import __main__

    print(__main__.__file__.rsplit("/")[-1], __main__.sibling.count)
