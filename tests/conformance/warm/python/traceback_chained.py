class Own(Exception):
    def __str__(self):
        return "own text\nof two lines"


def load():
    try:
        {}["missing"]
    except KeyError as error:
        raise Own("x") from error


try:
    load()
except Own:
    error = ValueError("second", 2)
    error.add_note("a note")
    raise error
