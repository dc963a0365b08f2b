import asyncio


async def numbers():
    try:
        yield 1
        yield 2
    finally:
        print("closed")


async def main():
    global kept
    kept = numbers()
    print(await anext(kept))


asyncio.run(main())
other = numbers()
try:
    other.asend(None).send(None)
except StopIteration as error:
    print(error.value)
print("end")
