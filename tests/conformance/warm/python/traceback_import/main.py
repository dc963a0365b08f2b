import helper

print(helper.__name__, helper.__file__, helper.__cached__, __file__)
helper.go(3)
