import sys

value = 5
print("other as", __name__, sys.argv[0].rsplit("/", 1)[-1])
