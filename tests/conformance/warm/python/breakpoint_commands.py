# needs: clean stack
def f(x):
    breakpoint()
    return x + 1


print(f(1))
