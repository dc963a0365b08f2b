import os

if os.fork():
    os.wait()
    print(repr(open("out.txt").read()))
else:
    os.kept = [open("out.txt", "w")]
    os.kept[0].write("kept by a module of the library")
