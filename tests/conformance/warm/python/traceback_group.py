def fail(n):
    raise ValueError(n)


errors = []
for n in range(3):
    try:
        fail(n)
    except ValueError as error:
        errors.append(error)
raise ExceptionGroup("several", errors)
