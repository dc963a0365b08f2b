import warnings

warnings.filters[:] = [("always", None, ResourceWarning, None, 0)] * len(warnings.filters)
file = open("/dev/null")
