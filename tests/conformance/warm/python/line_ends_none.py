print(1)
if 1:
    1/0