print("with a mark", __doc__)
x = = 1
