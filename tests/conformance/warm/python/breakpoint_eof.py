# needs: clean stack
x = 1
print("before")
breakpoint()
print("after", x)
