STEP = 8 * 1024 * 1024

blocks = []
while True:
    blocks.append(b"x" * STEP)
