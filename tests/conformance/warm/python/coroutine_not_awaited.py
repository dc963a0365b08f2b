async def work():
    print("never")


kept = work()
work()
print("end")
