class Failing:
    def __del__(self):
        raise ValueError("in __del__")


x = Failing()
del x
y = Failing()
print("end")
