here = "the program's own"
