class Leave(SystemExit):
    @property
    def code(self):
        raise ValueError("no code")


raise Leave("text", 2)
