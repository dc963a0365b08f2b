print("never)
