import os
import sys

for stream in (sys.stdin, sys.stdout, sys.stderr):
    print(stream, type(stream.buffer), stream.buffer, stream.fileno(), stream.name, stream.mode)
    print(stream.isatty(), stream.readable(), stream.writable(), stream.seekable(), stream.closed)
    print(stream.line_buffering, stream.write_through, stream.encoding, stream.errors, stream.newlines)
    print(stream._CHUNK_SIZE, getattr(stream.buffer, "raw", stream.buffer), vars(stream))
    raw = getattr(stream.buffer, "raw", stream.buffer)
    print(raw.mode, raw.closefd, raw._blksize, os.get_inheritable(stream.fileno()), raw.name)
    try:
        print(stream.tell())
    except OSError as error:
        print(type(error), error)
print([sys.__stdin__ is sys.stdin, sys.__stdout__ is sys.stdout, sys.__stderr__ is sys.stderr])
print(sorted(int(fd) for fd in os.listdir("/proc/self/fd") if int(fd) < 3))
