import sys

sys.stdout.write("".join(f"line {n}\n" for n in range(200_000)))
