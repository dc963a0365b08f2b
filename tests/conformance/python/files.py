from pathlib import Path

text = Path("input.txt").read_bytes()
result = Path("out/result.txt")
result.parent.mkdir(exist_ok=True)
result.write_bytes(text.upper())  # bytes.upper() changes ASCII letters only
print("ok")
