import sys

sys.excepthook = 5
raise ValueError("x")
