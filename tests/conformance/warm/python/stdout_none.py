import sys

sys.stdout = None
print("nowhere")
sys.stderr.write("end\n")
