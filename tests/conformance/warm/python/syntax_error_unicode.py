größe = 1
print(größe) + “quoted”
