import os

child = os.fork()
if child:
    print("child ended with", os.wait()[1])
print("both come here", child == 0)
