import signal


class Noisy:
    def __del__(self):
        print("gone")


noisy = Noisy()
signal.signal(signal.SIGTERM, lambda *args: noisy)
print("end")
