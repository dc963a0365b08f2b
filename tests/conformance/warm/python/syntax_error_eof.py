try:
    print("never")
