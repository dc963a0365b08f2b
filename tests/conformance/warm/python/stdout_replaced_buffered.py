import io
import sys

sys.stdout.write("first\n")
sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w", closefd=False)))
print("held back until the end")
