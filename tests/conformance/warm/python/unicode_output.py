print("ü 世界 🌍", "\u00e9", ascii("é"), "é".encode("latin-1"), "\N{SNOWMAN}")
import unicodedata
print(unicodedata.name("é"), unicodedata.normalize("NFD", "é").encode(), "ß".upper(), "İ".lower().encode())
print("\udc80")
