import asyncio


async def work(n):
    await asyncio.sleep(0.001 * n)
    return n, asyncio.current_task().get_name()


async def numbers():
    try:
        for n in range(3):
            yield n
    finally:
        print("generator closed")


async def main():
    print(await asyncio.gather(work(2), work(1)))
    async for n in numbers():
        print(n)
        break
    try:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(5)
    except TimeoutError as error:
        print("timeout", repr(error))
    print(await asyncio.to_thread(lambda: "thread"))
    process = await asyncio.create_subprocess_exec("echo", "child", stdout=-1)
    print(await process.communicate())
    async with asyncio.TaskGroup() as group:
        group.create_task(work(0))
    raise ValueError("from main")


asyncio.run(main())
