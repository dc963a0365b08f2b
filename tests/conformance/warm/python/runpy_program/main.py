import runpy
import sys

print(runpy.run_path("other.py", run_name="__main__")["value"])
print(sorted(runpy.run_module("other"))[:3], sys.argv, __name__)
runpy.run_module("other", run_name="__main__", alter_sys=True)
