import sys


class Failing:
    def __del__(self):
        raise ValueError("gone wrong")


def hook(args):
    print("hook", args.exc_type, args.exc_value, args.err_msg, args.object.__name__, type(args))


sys.unraisablehook = hook
Failing()
kept = Failing()
print("end")
