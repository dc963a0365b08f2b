exit(2.5)
