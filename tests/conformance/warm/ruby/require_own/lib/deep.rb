DEEP = [__FILE__, __method__.inspect]
