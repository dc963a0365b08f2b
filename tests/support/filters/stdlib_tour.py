"""Uses broad parts of Python's library; ends 0 when all of it works.

Runs under the system call policy: a call that the policy lost fails here.
"""

import asyncio
import ctypes
import fcntl
import http.server
import mmap
import multiprocessing
import multiprocessing.shared_memory
import os
import pty
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time
import urllib.request


def square(x):
    return x * x


def processes():
    threads = [threading.Thread(target=time.sleep, args=(0.01,)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shell = subprocess.run(["sh", "-c", "cat; echo end"], input=b"x",
                           capture_output=True, start_new_session=True)
    assert shell.stdout == b"xend\n", shell
    for method in multiprocessing.get_all_start_methods():
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(square, range(4)) == [0, 1, 4, 9], method
    shared = multiprocessing.shared_memory.SharedMemory(create=True, size=4096)
    shared.buf[0] = 1
    shared.close()
    shared.unlink()
    pid, terminal = pty.fork()
    if pid == 0:
        os.execlp("tty", "tty")
    assert os.read(terminal, 100).startswith(b"/dev/pts/")
    assert os.waitpid(pid, 0)[1] == 0


def files():
    with open("a", "w") as file:
        file.write("text")
        file.flush()
        os.fsync(file.fileno())
        fcntl.flock(file, fcntl.LOCK_EX)
    shutil.copy2("a", "b")
    shutil.copytree(".", "../copy")
    os.mkfifo("fifo")
    os.link("a", "hard")
    os.symlink("a", "soft")
    os.chmod("a", 0o600)
    os.utime("a")
    os.truncate("a", 1)
    os.statvfs("/")
    os.listxattr("a")
    database = sqlite3.connect("database")
    database.execute("pragma journal_mode=wal")
    database.execute("create table numbers(n)")
    database.executemany("insert into numbers values(?)", ((i,) for i in range(100)))
    database.commit()
    assert database.execute("select sum(n) from numbers").fetchone() == (4950,)
    database.close()
    os.close(os.memfd_create("memory"))
    mapped = mmap.mmap(-1, 8192)
    mapped[0] = 1
    mapped.close()
    ctypes.CDLL(None).getpid()


def waiting():
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    signal.pause()
    os.eventfd(1)
    os.pidfd_open(os.getpid())
    select.epoll().poll(0.01)
    os.sched_getaffinity(0)
    os.nice(1)


async def network():
    async def echo(reader, writer):
        writer.write(await reader.read(3))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"abc")
    assert await reader.read(3) == b"abc"
    child = await asyncio.create_subprocess_exec("echo", "x", stdout=-1)
    assert (await child.communicate())[0] == b"x\n"
    server.close()


def sockets():
    left, right = socket.socketpair()
    socket.send_fds(left, [b"x"], [0])
    assert socket.recv_fds(right, 1, 1)[0] == b"x"
    assert socket.getaddrinfo("127.0.0.1", 80)
    assert socket.if_nameindex()
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    server.RequestHandlerClass.log_message = lambda *_: None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/"
    assert urllib.request.urlopen(url).status == 200
    server.shutdown()


def main():
    with tempfile.TemporaryDirectory() as directory:
        os.mkdir(directory + "/tour")
        os.chdir(directory + "/tour")
        processes()
        files()
        waiting()
        asyncio.run(network())
        sockets()
        os.chdir("/")


if __name__ == "__main__":
    main()
