import copy
import pickle


class Point:
    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return self.x == other.x


data = pickle.dumps(Point(3))
print(b"__main__" in data, pickle.loads(data) == Point(3), copy.deepcopy([Point(1)])[0].x)
print(Point, Point.__module__, Point.__qualname__, pickle.loads(pickle.dumps(Point)) is Point)
try:
    pickle.dumps(lambda: 1)
except (pickle.PicklingError, AttributeError) as error:
    print(error)
