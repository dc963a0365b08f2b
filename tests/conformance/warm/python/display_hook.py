import sys

sys.displayhook(5)
import builtins

print(builtins._)
sys.displayhook = print
exec(compile("7", "<x>", "single"))
