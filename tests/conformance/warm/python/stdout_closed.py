import sys

print("before")
sys.stdout.close()
try:
    print("after")
except ValueError as error:
    sys.stderr.write(f"{error}\n")
