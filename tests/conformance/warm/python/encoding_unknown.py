# coding: foo
print(2)
