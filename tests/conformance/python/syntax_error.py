print("never printed")
print("nor is this")
total = = 3
print(total)
