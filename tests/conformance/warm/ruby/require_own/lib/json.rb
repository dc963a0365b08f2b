JSON = "the program's own"
