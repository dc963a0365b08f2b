import sys


def main():
    print("main", sys.argv[1:])
    return 7


if __name__ == "__main__":
    sys.exit(main())
