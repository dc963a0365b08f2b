name = input("name? ")
print("hello", name)
print(repr(input()))
print(repr(input("last: ")))
try:
    input("more? ")
except EOFError as error:
    print("EOF", error)
input()
