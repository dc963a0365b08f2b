import sys


class Upper:
    def __init__(self, inner):
        self.inner = inner

    def write(self, text):
        self.inner.write(text.upper())

    def flush(self):
        self.inner.write("flushed\n")


sys.stdout = Upper(sys.stdout)
print("text")
