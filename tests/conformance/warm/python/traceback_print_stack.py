# needs: clean stack
import inspect
import sys
import traceback


def outer():
    return inner()


def inner():
    traceback.print_stack()
    frame, depth = sys._getframe(), 0
    while frame:
        print(frame.f_code.co_name, frame.f_code.co_filename)
        frame, depth = frame.f_back, depth + 1
    print([entry.function for entry in inspect.stack()], depth)
    print(traceback.format_stack(), len(traceback.extract_stack()))
    try:
        sys._getframe(depth)
    except ValueError as error:
        print(error)
    1 / 0


print(inspect.currentframe().f_back)
try:
    outer()
except ZeroDivisionError as error:
    traceback.print_exc()
    print(len(inspect.trace()), error.__traceback__.tb_frame.f_code.co_name)
    traceback.print_exception(error, limit=1, file=sys.stdout)
