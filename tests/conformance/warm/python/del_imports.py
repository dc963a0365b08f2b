class Late:
    def __del__(self):
        for name in ("json", "xml.dom", "helper"):
            try:
                __import__(name)
                print("imported", name)
            except ImportError as error:
                print(type(error).__name__, error)
        with open("late.txt", "w") as file:
            file.write("x")
        print(open("late.txt").read())


late = Late()
