import warnings

print(warnings.filters, warnings.onceregistry, warnings.defaultaction, warnings.showwarning)


def old():
    warnings.warn("old is old", DeprecationWarning, stacklevel=2)


old()
warnings.warn("look", UserWarning)
for _ in range(3):
    warnings.warn("once a place")
print(list(__warningregistry__))
print("a" is "b", 1 is 1)
warnings.simplefilter("error")
warnings.warn("now an error")
