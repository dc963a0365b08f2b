import select
import socket

a, b = socket.socketpair()
a.sendall(b"hello")
print(b.recv(10), select.select([b], [], [], 0)[0])
server = socket.socket(socket.AF_UNIX)
server.bind("here")
server.listen()
client = socket.socket(socket.AF_UNIX)
client.connect("here")
print(server.accept()[1], client.fileno() > 2)
