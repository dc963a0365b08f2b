import multiprocessing


def work():
    raise ValueError("in a child")


if __name__ == "__main__":
    process = multiprocessing.Process(target=work, name="child")
    process.start()
    process.join()
    print(process.exitcode)
