class Mine(KeyboardInterrupt):
    pass


raise Mine("an ordinary death")
