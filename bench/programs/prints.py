print("run 0")
for i in range(20000):
    print(i)
