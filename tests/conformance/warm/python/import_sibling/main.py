import importlib
import sys

import package
import sibling
from package import part

print(sibling, package, part.NAME, package.part is part)
print(sibling.count, importlib.reload(sibling).count, sys.modules["sibling"] is sibling)
print(__import__("sibling") is sibling, importlib.import_module("package.part") is part)
print(importlib.util.find_spec("sibling"), importlib.util.find_spec("nothing"))
sibling.show_main()
import nothing
