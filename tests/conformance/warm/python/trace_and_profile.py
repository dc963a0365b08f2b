import sys

events = []


def tracer(frame, event, arg):
    events.append((event, frame.f_code.co_name, frame.f_lineno))
    return tracer


def f(x):
    y = x + 1
    return y


sys.settrace(tracer)
f(1)
sys.settrace(None)
print(events)
events.clear()
sys.setprofile(lambda frame, event, arg: events.append((event, frame.f_code.co_name)))
f(2)
len("x")
sys.setprofile(None)
print(events)
