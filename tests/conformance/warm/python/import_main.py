import __main__
import importlib

if __name__ == "__main__":
    print("once", __main__.__name__)
    main = importlib.import_module("main")
    print(main is __main__, main.__name__, main.__file__ == __file__, main.__cached__ is None)
else:
    print("again as", __name__)
