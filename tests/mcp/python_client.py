"""The official Python SDK against `sandglass mcp`, as its users call it.

usage: python_client.py BINARY URL

Runs all checks over stdio (starting BINARY) and over HTTP (at URL), with
whichever major version of the package `mcp` is installed. Prints "ok" at the
end; an exception is a failure. SANDGLASS_ADDRESS names the daemon.
"""

import asyncio
import base64
import contextlib
import os
import struct
import sys
import zlib

import mcp

MODERN = hasattr(mcp, "Client")

TOOLS = {"run_code", "run_command", "start_command", "read_output",
         "stop_command", "create_sandbox", "delete_sandbox", "read_file",
         "write_file", "list_files", "list_languages"}

PNG_MAKER = """
import struct, zlib
def chunk(kind, data):
    return (struct.pack('>I', len(data)) + kind + data
            + struct.pack('>I', zlib.crc32(kind + data)))
open('dot.png', 'wb').write(
    b'\\x89PNG\\r\\n\\x1a\\n'
    + chunk(b'IHDR', struct.pack('>IIBBBBB', 1, 1, 8, 2, 0, 0, 0))
    + chunk(b'IDAT', zlib.compress(b'\\0\\xff\\0\\0')) + chunk(b'IEND', b''))
x = 41
"""


@contextlib.asynccontextmanager
async def stdio(binary):
    """A client over a process of its own."""
    parameters = mcp.StdioServerParameters(
        command=binary, args=["mcp"],
        env={"SANDGLASS_ADDRESS": os.environ["SANDGLASS_ADDRESS"]})
    if MODERN:
        async with mcp.Client(parameters) as client:
            assert client.protocol_version == "2026-07-28", client
            yield client
        return
    async with mcp.stdio_client(parameters) as streams:
        async with mcp.ClientSession(*streams) as session:
            yield await initialized(session)


@contextlib.asynccontextmanager
async def http(url):
    """A client over HTTP."""
    if MODERN:
        async with mcp.Client(url) as client:
            assert client.protocol_version == "2026-07-28", client
            yield client
        return
    from mcp.client.streamable_http import streamablehttp_client
    async with streamablehttp_client(url) as streams:
        async with mcp.ClientSession(streams[0], streams[1]) as session:
            yield await initialized(session)


async def initialized(session):
    answer = await session.initialize()
    assert answer.protocolVersion == "2025-11-25", answer
    return session


def is_error(result):
    return result.is_error if MODERN else result.isError


def text(result):
    return result.content[0].text


async def call(client, name, **arguments):
    """The text of a call that must succeed."""
    result = await client.call_tool(name, arguments)
    assert not is_error(result), result
    return text(result)


async def check_one_shots(client):
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(listed) == TOOLS, listed
    assert "42" in await call(client, "run_code", language="python",
                              code="print(6 * 7)")
    assert "python" in await call(client, "list_languages")
    # A program that fails is said to have failed.
    result = await client.call_tool(
        "run_code", {"language": "python", "code": "raise SystemExit(3)"})
    assert "exit 3" in text(result), result
    result = await client.call_tool("run_code", {"language": "python"})
    assert is_error(result) and "code" in text(result), result
    result = await client.call_tool(
        "run_code", {"language": "python", "code": "1", "timeout": 51})
    assert is_error(result) and "start_command" in text(result), result
    try:
        await client.call_tool("no_such_tool", {})
        raise AssertionError("an unknown tool was called")
    except Exception as error:  # its class is another in each major version
        assert "no_such_tool" in str(error), error


async def check_progress(client):
    heard = []

    async def on_progress(progress, total, message):
        heard.append((progress, message))

    result = await client.call_tool(
        "run_code",
        {"language": "python",
         "code": "import time\nfor i in range(4):\n"
                 "    print('step', i, flush=True)\n    time.sleep(0.3)\n"},
        progress_callback=on_progress)
    assert "step 3" in text(result), result
    assert len(heard) >= 2, heard
    assert heard == sorted(heard) and "step" in heard[-1][1], heard


async def check_sandbox(client):
    made = await call(client, "create_sandbox", language="python")
    sandbox = made.split("sandbox_id: ")[1].split()[0]

    async def here(name, **arguments):
        return await call(client, name, sandbox_id=sandbox, **arguments)

    await here("run_code", language="python", code=PNG_MAKER)
    assert "42" in await here("run_code", language="python",
                              code="print(x + 1)")
    await here("write_file", path="/workspace/a/b.txt", content="one\ntwo\n")
    assert "two" in await here("read_file", path="/workspace/a/b.txt")
    assert "dot.png" in await here("list_files")
    assert "two" in await here("run_command", command="tail -n 1 a/b.txt")
    result = await client.call_tool(
        "read_file", {"sandbox_id": sandbox, "path": "/workspace/dot.png"})
    image = [part for part in result.content if part.type == "image"]
    assert len(image) == 1, result
    assert base64.b64decode(image[0].data).startswith(b"\x89PNG"), result

    started = await here("start_command",
                         command="echo begun; exec sleep 1000")
    command = next(word.strip(".,;:") for word in started.split()
                   if len(word) > 12 and "-" in word or word.startswith("e-"))
    assert "begun" in await here("read_output", command_id=command, wait=1)
    await here("stop_command", command_id=command)
    await here("delete_sandbox")
    result = await client.call_tool(
        "run_command", {"sandbox_id": sandbox, "command": "true"})
    assert is_error(result) and "create_sandbox" in text(result), result


async def check_at_once(client):
    results = await asyncio.gather(*[
        call(client, "run_code", language="python", code=f"print({n} * 1001)")
        for n in range(6)])
    for n, said in enumerate(results):
        assert str(n * 1001) in said, results


async def check_all(client):
    await check_one_shots(client)
    await check_progress(client)
    await check_sandbox(client)
    await check_at_once(client)


async def main(binary, url):
    async with stdio(binary) as client:
        await check_all(client)
    async with http(url) as client:
        await check_all(client)
    print("ok")


asyncio.run(main(*sys.argv[1:]))
