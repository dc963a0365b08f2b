import os
import random
import secrets
import subprocess
import sys
import uuid

print(random.Random(5).random(), random.getstate()[0])
random.seed(1)
print(random.random(), random.sample(range(100), 3))
print(len({uuid.uuid4() for _ in range(3)}), len(secrets.token_hex(4)), len(os.urandom(3)))
