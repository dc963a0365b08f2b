import sys
sys.exit(2**65 + 7)
