import sys

text = sys.stdin.read()
print(ascii(text))
sys.stdout.write(text)
