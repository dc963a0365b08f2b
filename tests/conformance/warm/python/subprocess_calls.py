import os
import subprocess
import sys

print(subprocess.run(["echo", "hello"], capture_output=True, text=True))
print(subprocess.check_output("echo $0 $HOME; pwd", shell=True, text=True).replace(os.getcwd(), "HERE"))
child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
print(child.communicate(b"through cat"), child.returncode)
print(subprocess.run([sys.executable, "-c", "import sys; print(sys.flags.dont_write_bytecode); sys.exit(5)"]).returncode)
print(os.system("exit 3"), os.popen("echo popen").read())
try:
    subprocess.run(["sleep", "10"], timeout=0.05)
except subprocess.TimeoutExpired as error:
    print(error.cmd)
try:
    subprocess.run(["/nowhere"])
except FileNotFoundError as error:
    print(error)
subprocess.run(["false"], check=True)
