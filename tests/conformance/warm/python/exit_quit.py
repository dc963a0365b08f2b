print(exit, quit)
quit(4)
