TEXT = "Grüße, 世界 🌍"

print(TEXT)
print(len(TEXT))
