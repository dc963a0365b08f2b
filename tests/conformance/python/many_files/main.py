from numbers_to_add import NUMBERS
from totals.adder import add_all

print("sum:", add_all(NUMBERS))
