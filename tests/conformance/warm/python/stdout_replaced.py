import io
import sys

old = sys.stdout


class Counting(io.StringIO):
    def flush(self):
        old.write("flush\n")

    def __del__(self):
        old.write("gone\n")


sys.stdout = Counting()
print("captured")
old.write(sys.stdout.getvalue())
