import asyncio


async def forever():
    await asyncio.Event().wait()


loop = asyncio.new_event_loop()
task = loop.create_task(forever())
loop.run_until_complete(asyncio.sleep(0))
print("end")
