import math

for attempt in ("maths", "math.squrt", "pritn", "[].appendd"):
    try:
        eval(attempt)
    except (NameError, AttributeError):
        import traceback

        traceback.print_exc()
my_value = 1
print(my_valeu)
