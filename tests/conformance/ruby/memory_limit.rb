STEP = 8 * 1024 * 1024

blocks = []
loop { blocks << ("x" * STEP) }
