import gc

gc.disable()
gc.enable()
calls = []


def watch(phase, info, calls=calls, print=print):
    if not calls:
        calls.append(phase)
        print("first", phase)


gc.callbacks.append(watch)
print("end")
