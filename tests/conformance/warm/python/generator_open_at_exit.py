def steps():
    try:
        yield 1
    finally:
        print("closed")


open_one = steps()
print(next(open_one))
