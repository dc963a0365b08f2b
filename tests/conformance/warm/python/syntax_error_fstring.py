name = 1
print(f"{name!x} {")
