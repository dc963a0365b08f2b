# -*- coding: latin-1 -*-
name = "grün"
print(name, len(name))
raise ValueError("grün")
