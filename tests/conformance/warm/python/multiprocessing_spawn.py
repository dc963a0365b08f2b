import multiprocessing
import sys

print("imported as", __name__, sys.argv)


def work(connection):
    connection.send((__name__, sys.argv, sys.path[0] == sys.path[1]))


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=work, args=(there,))
    process.start()
    print(here.recv())
    process.join()
    print(process.exitcode)
