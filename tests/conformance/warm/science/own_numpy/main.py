import sys

import numpy

print(numpy.here, numpy.__file__, sys.argv, __file__)
