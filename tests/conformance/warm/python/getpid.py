import os
import subprocess
import sys
import threading

pids = {os.getpid(), os.getpid(), int(os.readlink("/proc/self")), threading.get_native_id()}
child = subprocess.run([sys.executable, "-c", "import os; print(os.getppid())"], capture_output=True)
pids.add(int(child.stdout))
print(len(pids), os.getcwd() == sys.path[0], os.umask(0o22) == 0o22)
