class Leave(SystemExit):
    @property
    def code(self):
        return 9


raise Leave("text", 2)
