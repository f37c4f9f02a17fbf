"""What sockets refuse before they take or send anything, and numeric addresses as C reads them."""
import gc
import socket
import warnings


def attempt(function, *arguments):
    try:
        return function(*arguments)
    except Exception as error:
        return type(error).__name__


left, right = socket.socketpair()
room = bytearray(8)
left.send(b"message")
print(attempt(right.recv_into, b"fixed"), attempt(right.recv_into, room, 9), attempt(right.recv_into, room, -1))
print(attempt(right.recvfrom_into, memoryview(b"fixed")), attempt(right.recvfrom_into, room, 9), attempt(right.recvfrom_into, room, -1))
print(attempt(right.recvmsg_into, [b"fixed"]), attempt(right.recvmsg_into, [room], -1), attempt(right.recvmsg_into, [room], 0, "flags"))
print(attempt(right.recvmsg_into, [room]), bytes(room))
for item in (object(), (0, 0), (0, 0, b"", 0), (object(), 0, b""), (0, object(), b""), (0, 0, object())):
    print(attempt(left.sendmsg, [b"x"], [item]), end=" ")
right.setblocking(False)
print(attempt(right.recv, 8))
for timeout in ("5", b"5", object(), [], float("nan"), -1, 1e30, True, 2, 0.5, None):
    print(attempt(right.settimeout, timeout), end=" ")
print(right.gettimeout(), attempt(socket.setdefaulttimeout, "spam"), socket.getdefaulttimeout())
print(attempt(socket.getservbyport, -1), attempt(socket.getservbyport, 1 << 16), socket.getservbyport(80))

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    forgotten = socket.socket()
    text = repr(forgotten)
    del forgotten
    gc.collect()
print([str(warning.message) == f"unclosed {text}" for warning in caught])

for text in ("1.2.3.4", "1.2.3", "0x7f.1", "010.0.0.1", "08.1.1.1", "+1.2.3.4", "1_0.1.1.1", " 1.2.3.4", "1.2.3.4 rest", "1.2.3.4\n", "", "0x", "256.1", "4294967296"):
    print(repr(text), attempt(socket.inet_aton, text), attempt(socket.inet_pton, socket.AF_INET, text))
for text in ("::", "::1", "1::", "fe80::1%lo", ":::", "1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:8", "0x1::", "+1::", "1_0::", "::1.2.3.4", "1.2.3.4::", "::01.2.3.4", "1:2:3:4:5:6:1.2.3.4", "12345::"):
    print(text, attempt(socket.inet_pton, socket.AF_INET6, text))
