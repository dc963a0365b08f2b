"""Fetches the many bytes of registry.py and prints the seconds it took.

usage: fetch.py PORT tunnel|http

Where the environment names a proxy it goes through that; else straight. As
through a tunnel the bytes come as they are, after a TLS hello, since more than
the hello no proxy sees of TLS.
"""

import os
import socket
import ssl
import sys
import time

GIB = 1 << 30


def hello():
    said = ssl.MemoryBIO()
    context = ssl.create_default_context()
    context.check_hostname = False
    client = context.wrap_bio(ssl.MemoryBIO(), said)
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return said.read()


def head(connection):
    """Up to a head's end; gives how many bytes came after it."""
    said = b""
    while b"\r\n\r\n" not in said:
        more = connection.recv(4096)
        if not more:
            sys.exit(f"the connection ended after {said!r}")
        said += more
    if b" 200 " not in said.split(b"\r\n")[0]:
        sys.exit(said.decode())
    return len(said) - said.index(b"\r\n\r\n") - 4


def main():
    target, mode = f"127.0.0.2:{sys.argv[1]}", sys.argv[2]
    proxy = os.environ.get("http_proxy", "").removeprefix("http://").rstrip("/")
    first = hello()
    buffer = bytearray(256 << 10)
    address = (proxy or target).rsplit(":", 1)
    start = time.monotonic()
    connection = socket.create_connection((address[0], int(address[1])))
    got = 0
    if mode == "http":
        path = f"http://{target}/" if proxy else "/"
        connection.sendall(
            f"GET {path} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        got = head(connection)
    else:
        if proxy:
            connection.sendall(f"CONNECT {target} HTTP/1.1\r\n"
                               f"Host: {target}\r\n\r\n".encode())
            head(connection)
        connection.sendall(first)
    while got < GIB:
        count = connection.recv_into(buffer)
        if count == 0:
            sys.exit(f"the connection ended after {got} bytes")
        got += count
    print(time.monotonic() - start)


main()
