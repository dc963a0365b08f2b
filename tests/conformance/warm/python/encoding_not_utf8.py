print(1)
x = "é"
print(2)
