import sys


def tracer(frame, event, arg):
    print(event, frame.f_code.co_name)


def f():
    pass


sys.settrace(tracer)
f()
sys.setprofile(tracer)
f()
