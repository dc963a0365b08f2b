import os
import tempfile

print(tempfile.gettempdir(), tempfile.tempdir)
with tempfile.NamedTemporaryFile("w+", suffix=".txt", delete=False) as file:
    file.write("x")
print(os.path.exists(file.name), os.path.dirname(file.name))
os.unlink(file.name)
kept = tempfile.TemporaryDirectory()
other = tempfile.NamedTemporaryFile()
print(os.path.isdir(kept.name), len(os.path.basename(kept.name)))
