import io
import sys

sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding="latin-1", newline="\r\n")
print("grün")
print("not flushed by the program", end="")
