"""The sockets of CPython's C module `_socket`, over the kernel's calls: TCP and UDP of the sandbox's own loopback, unix sockets, and
TCP to the world outside as far as the sandbox's network policy goes. Names are resolved by a query to the loopback's port 53.
"""
import errno as _errno
import os
import struct as _struct
import time as _time

from _cloche.host import door as _door, state as _state
from _cloche.host.door import Frame as _Frame, call as _call, call_data as _call_data, raw as _raw
from _cloche.sockets import messages as _messages
from _cloche.sockets.addresses import inet_aton, inet_ntoa, inet_ntop, inet_pton, literal as _literal
from _cloche.sockets.names import (EAI_ADDRFAMILY, EAI_AGAIN, EAI_BADFLAGS, EAI_FAIL, EAI_FAMILY, EAI_MEMORY, EAI_NODATA, EAI_NONAME,
                                   EAI_SERVICE, EAI_SOCKTYPE, EAI_SYSTEM, gaierror, name_error as _name_error, resolve as _resolve)
from _cloche.sockets.messages import CMSG_LEN, CMSG_SPACE

error = OSError
timeout = TimeoutError


# _cloche/threads/library.py puts the scheduler's in their place.
def _busy():
    return False


def _wait_ready(poll, seconds, fds):
    return poll(seconds)


_alone = None  # a context in which no other thread runs
_opens_tls = None  # _cloche/sockets/tls.py's, once there has been TLS that a program carries itself


class herror(OSError):
    pass


has_ipv6 = True
AF_UNSPEC, AF_UNIX, AF_INET, AF_INET6 = 0, 1, 2, 10
SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET = 1, 2, 5
SOCK_CLOEXEC, SOCK_NONBLOCK = 0o2000000, 0o4000
SOL_SOCKET, SOL_IP, SOL_TCP, SOL_UDP = 1, 0, 6, 17
SO_REUSEADDR, SO_TYPE, SO_ERROR, SO_DONTROUTE, SO_BROADCAST, SO_SNDBUF, SO_RCVBUF, SO_KEEPALIVE, SO_OOBINLINE = range(2, 11)
SO_PRIORITY, SO_LINGER, SO_REUSEPORT, SO_PASSCRED, SO_PEERCRED, SO_RCVLOWAT = 12, 13, 15, 16, 17, 18
SO_RCVTIMEO, SO_SNDTIMEO, SO_ACCEPTCONN, SO_PROTOCOL, SO_DOMAIN = 66, 67, 30, 38, 39
SOMAXCONN = 4096
SHUT_RD, SHUT_WR, SHUT_RDWR = 0, 1, 2
MSG_OOB, MSG_PEEK, MSG_DONTROUTE, MSG_CTRUNC, MSG_TRUNC, MSG_DONTWAIT, MSG_EOR, MSG_WAITALL = 1, 2, 4, 8, 0x20, 0x40, 0x80, 0x100
MSG_NOSIGNAL, MSG_MORE, MSG_CMSG_CLOEXEC = 0x4000, 0x8000, 0x40000000
IPPROTO_IP, IPPROTO_ICMP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_IPV6, IPPROTO_RAW = 0, 1, 6, 17, 41, 255
IP_TOS, IP_TTL, IPV6_UNICAST_HOPS, IPV6_V6ONLY, IPV6_TCLASS = 1, 2, 16, 26, 67
TCP_NODELAY, TCP_CORK, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT, TCP_QUICKACK, TCP_USER_TIMEOUT = 1, 3, 4, 5, 6, 12, 18
INADDR_ANY, INADDR_LOOPBACK, INADDR_BROADCAST, INADDR_NONE = 0, 0x7F000001, 0xFFFFFFFF, 0xFFFFFFFF
AI_PASSIVE, AI_CANONNAME, AI_NUMERICHOST, AI_V4MAPPED, AI_ALL, AI_ADDRCONFIG, AI_NUMERICSERV = 1, 2, 4, 8, 0x10, 0x20, 0x400
NI_NUMERICHOST, NI_NUMERICSERV, NI_NOFQDN, NI_NAMEREQD, NI_DGRAM, NI_MAXHOST, NI_MAXSERV = 1, 2, 4, 8, 16, 1025, 32
# The rest, as Linux numbers them.
globals().update((name, int(value)) for name, _, value in (word.partition("=") for word in """
    ETHERTYPE_ARP=2054 ETHERTYPE_IP=2048 ETHERTYPE_IPV6=34525 ETHERTYPE_VLAN=33024 INADDR_ALLHOSTS_GROUP=3758096385
    INADDR_MAX_LOCAL_GROUP=3758096639 INADDR_UNSPEC_GROUP=3758096384 IPPORT_RESERVED=1024 IPPORT_USERRESERVED=5000 IPPROTO_AH=51
    IPPROTO_DSTOPTS=60 IPPROTO_EGP=8 IPPROTO_ESP=50 IPPROTO_FRAGMENT=44 IPPROTO_GRE=47 IPPROTO_HOPOPTS=0 IPPROTO_ICMPV6=58
    IPPROTO_IDP=22 IPPROTO_IGMP=2 IPPROTO_IPIP=4 IPPROTO_MPTCP=262 IPPROTO_NONE=59 IPPROTO_PIM=103 IPPROTO_PUP=12 IPPROTO_ROUTING=43
    IPPROTO_RSVP=46 IPPROTO_SCTP=132 IPPROTO_TP=29 IPPROTO_UDPLITE=136 IPV6_CHECKSUM=7 IPV6_DONTFRAG=62 IPV6_DSTOPTS=59
    IPV6_HOPLIMIT=52 IPV6_HOPOPTS=54 IPV6_JOIN_GROUP=20 IPV6_LEAVE_GROUP=21 IPV6_MULTICAST_HOPS=18 IPV6_MULTICAST_IF=17
    IPV6_MULTICAST_LOOP=19 IPV6_NEXTHOP=9 IPV6_PATHMTU=61 IPV6_PKTINFO=50 IPV6_RECVDSTOPTS=58 IPV6_RECVHOPLIMIT=51 IPV6_RECVHOPOPTS=53
    IPV6_RECVPATHMTU=60 IPV6_RECVPKTINFO=49 IPV6_RECVRTHDR=56 IPV6_RECVTCLASS=66 IPV6_RTHDR=57 IPV6_RTHDRDSTOPTS=55
    IPV6_RTHDR_TYPE_0=0 IP_ADD_MEMBERSHIP=35 IP_ADD_SOURCE_MEMBERSHIP=39 IP_BIND_ADDRESS_NO_PORT=24 IP_BLOCK_SOURCE=38
    IP_DEFAULT_MULTICAST_LOOP=1 IP_DEFAULT_MULTICAST_TTL=1 IP_DROP_MEMBERSHIP=36 IP_DROP_SOURCE_MEMBERSHIP=40 IP_HDRINCL=3
    IP_MULTICAST_IF=32 IP_MULTICAST_LOOP=34 IP_MULTICAST_TTL=33 IP_OPTIONS=4 IP_PKTINFO=8 IP_RECVOPTS=6 IP_RECVRETOPTS=7 IP_RECVTOS=13
    IP_RETOPTS=7 IP_TRANSPARENT=19 IP_UNBLOCK_SOURCE=37 MSG_CONFIRM=2048 MSG_ERRQUEUE=8192 MSG_FASTOPEN=536870912 NI_IDN=32
    SCM_CREDENTIALS=2 SCM_RIGHTS=1 SOCK_RAW=3 SOCK_RDM=4 SO_BINDTODEVICE=25 SO_BINDTOIFINDEX=62 SO_DEBUG=1 SO_INCOMING_CPU=49
    SO_MARK=36 SO_PASSSEC=34 SO_PEERSEC=31 SO_SNDLOWAT=19 TCP_CC_INFO=26 TCP_CONGESTION=13 TCP_DEFER_ACCEPT=9 TCP_FASTOPEN=23
    TCP_FASTOPEN_CONNECT=30 TCP_FASTOPEN_KEY=33 TCP_FASTOPEN_NO_COOKIE=34 TCP_INFO=11 TCP_INQ=36 TCP_LINGER2=8 TCP_MAXSEG=2
    TCP_MD5SIG=14 TCP_MD5SIG_EXT=32 TCP_NOTSENT_LOWAT=25 TCP_QUEUE_SEQ=21 TCP_REPAIR=19 TCP_REPAIR_OPTIONS=22 TCP_REPAIR_QUEUE=20
    TCP_REPAIR_WINDOW=29 TCP_SAVED_SYN=28 TCP_SAVE_SYN=27 TCP_SYNCNT=7 TCP_THIN_DUPACK=17 TCP_THIN_LINEAR_TIMEOUTS=16 TCP_TIMESTAMP=24
    TCP_TX_DELAY=37 TCP_ULP=31 TCP_WINDOW_CLAMP=10 TCP_ZEROCOPY_RECEIVE=35
""".split()))
CAPI = None
_F_GETFL, _F_SETFL, _F_GETFD, _F_SETFD, _F_DUPFD_CLOEXEC = 3, 4, 1, 2, 1030
_POLLIN, _POLLOUT = 1, 4
_LINUX_AGAIN, _LINUX_INPROGRESS, _LINUX_INTR = 11, 115, 4
_PIECE = 262144  # bytes of a long message that one call is given
_MOST_RECEIVED = 1 << 20  # bytes of one call's room; no socket holds more
_MOST_SENT = 1 << 20  # what a socket that does not wait is given at once, of which it takes what it has room for
_default_timeout = None


def getdefaulttimeout():
    return _default_timeout


def setdefaulttimeout(timeout, /):
    global _default_timeout
    _default_timeout = _check_timeout(timeout)


def _check_timeout(value):
    if value is None:
        return None
    if isinstance(value, (str, bytes, bytearray)) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer")
    value = float(value)
    if value != value:
        raise ValueError("Invalid value NaN (not a number)")
    if value < 0:
        raise ValueError("Timeout value out of range")
    if value >= 1 << 63:
        raise OverflowError("timeout doesn't fit into C timeval")
    return value


# --- addresses ---------------------------------------------------------------------------------------------------

def htons(value, /): return _swap(value, 2)
def ntohs(value, /): return _swap(value, 2)
def htonl(value, /): return _swap(value, 4)
def ntohl(value, /): return _swap(value, 4)


def _swap(value, size):
    return int.from_bytes(value.to_bytes(size, "little"), "big")


def _pack(family, address, name):
    if family == AF_UNIX:
        path = address.encode("utf-8", "surrogateescape") if isinstance(address, str) else bytes(address)
        if len(path) > 108 or path[:1] != b"\0" and len(path) > 107:
            raise OSError("AF_UNIX path too long")
        return _struct.pack("<H", AF_UNIX) + path + (b"" if path[:1] == b"\0" else b"\0")
    if not isinstance(address, tuple):
        raise TypeError(f"{name}(): AF_INET{'6' if family == AF_INET6 else ''} address must be tuple, not {type(address).__name__}")
    if family == AF_INET:
        if len(address) != 2:
            raise TypeError(f"{name}(): AF_INET address must be a pair (host, port)")
        host, port = address
        return _struct.pack("<H", AF_INET) + _port(port, name) + _host(AF_INET, host) + bytes(8)
    if not 2 <= len(address) <= 4:
        raise TypeError(f"{name}(): AF_INET6 address must be a tuple (host, port[, flowinfo[, scopeid]])")
    host, port, flow, scope = (*address, 0, 0)[:4]
    return _struct.pack("<H", AF_INET6) + _port(port, name) + _struct.pack(">I", flow) + _host(AF_INET6, host) + _struct.pack("<I", scope)


def _port(port, name):
    if not isinstance(port, int):
        raise TypeError(f"'{type(port).__name__}' object cannot be interpreted as an integer")
    if not 0 <= port <= 0xFFFF:
        raise OverflowError(f"{name}(): port must be 0-65535.")
    return port.to_bytes(2, "big")


def _host(family, host):
    if isinstance(host, (bytes, bytearray)):
        host = host.decode("ascii")
    if not isinstance(host, str):
        raise TypeError(f"str, bytes or bytearray expected, not {type(host).__name__}")
    if host == "":
        return bytes(4 if family == AF_INET else 16)
    if family == AF_INET and host == "<broadcast>":
        return b"\xff" * 4
    try:
        return inet_pton(family, host.partition("%")[0])
    except OSError:
        return inet_pton(family, getaddrinfo(host, 0, family, SOCK_STREAM)[0][4][0])


def _unpack(data):
    if len(data) < 2:
        return None
    family = _struct.unpack_from("<H", data)[0]
    if family == AF_UNIX:
        name = bytes(data[2:])
        if name[:1] == b"\0":
            return name
        return name.split(b"\0")[0].decode("utf-8", "surrogateescape")
    if family == AF_INET:
        return inet_ntoa(data[4:8]), int.from_bytes(data[2:4], "big")
    if family == AF_INET6:
        return (inet_ntop(AF_INET6, data[8:24]), int.from_bytes(data[2:4], "big"), int.from_bytes(data[4:8], "big"),
                _struct.unpack_from("<I", data, 24)[0])
    return family, bytes(data[2:])


# --- sockets -----------------------------------------------------------------------------------------------------

class socket:
    """socket(family=AF_INET, type=SOCK_STREAM, proto=0) -> a socket; see the module `socket`."""

    __slots__ = ("_fd", "_family", "_type", "proto", "_timeout")
    family = property(lambda self: self._family)
    type = property(lambda self: self._type)

    def __init__(self, family=-1, type=-1, proto=-1, fileno=None):
        self._fd = -1
        if fileno is not None:
            if isinstance(fileno, float) or not isinstance(fileno, int):
                raise TypeError(f"'{fileno.__class__.__name__}' object cannot be interpreted as an integer")
            if fileno < 0:
                raise ValueError("negative file descriptor")
            family = _get_number(fileno, SOL_SOCKET, SO_DOMAIN) if family == -1 else family
            type = _get_number(fileno, SOL_SOCKET, SO_TYPE) if type == -1 else type
            proto = _get_number(fileno, SOL_SOCKET, SO_PROTOCOL) if proto == -1 else proto
            self._fd = fileno
        else:
            family = AF_INET if family == -1 else int(family)
            type = SOCK_STREAM if type == -1 else int(type)
            proto = 0 if proto == -1 else proto
            self._fd = _call("socket", family, type | SOCK_CLOEXEC, proto)
        self._family, self.proto = family, proto
        self._type = type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)
        self._timeout = 0.0 if type & SOCK_NONBLOCK else None
        if not type & SOCK_NONBLOCK and _default_timeout is not None:
            self.settimeout(_default_timeout)

    def __del__(self):
        fd = getattr(self, "_fd", -1)
        if fd >= 0:
            import warnings
            try:
                warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self)
            finally:
                self._fd = -1
                _raw("close", fd)

    def __repr__(self):
        return f"<socket object, fd={self._fd}, family={self._family}, type={self._type}, proto={self.proto}>"

    def fileno(self):
        return self._fd

    def detach(self):
        fd, self._fd = self._fd, -1
        return fd

    def close(self):
        fd, self._fd = self._fd, -1
        if fd >= 0:
            result, _ = _raw("close", fd)
            if result < 0 and result != -104:
                raise _door.error(-result)

    # timeouts

    def settimeout(self, timeout, /):
        self._timeout = _check_timeout(timeout)
        flags = _call("fcntl", self._fd, _F_GETFL)
        wanted = flags & ~SOCK_NONBLOCK if timeout is None else flags | SOCK_NONBLOCK
        if wanted != flags:
            _call("fcntl", self._fd, _F_SETFL, wanted)

    def gettimeout(self):
        return self._timeout

    @property
    def timeout(self):
        return self._timeout

    def setblocking(self, flag, /):
        self.settimeout(None if flag else 0.0)

    def getblocking(self):
        return self._timeout is None or self._timeout > 0

    def _perform(self, events, attempt, flags=0, deadline=None):
        """(result, data area) of `attempt(flags)`, made again while it would block and there is time. While other threads run the
        kernel is told not to wait: they go on."""
        if self._fd < 0:
            raise _door.error(_errno.EBADF)
        shared = self._timeout is None and not flags & MSG_DONTWAIT and _busy()
        while True:
            result, buffer = attempt(flags | MSG_DONTWAIT if shared else flags)
            if result >= 0:
                return result, memoryview(buffer)[_door.HEADER_SIZE:]
            if result == -_LINUX_AGAIN and shared and not _call("fcntl", self._fd, _F_GETFL) & SOCK_NONBLOCK:
                self._wait(events, None)
            elif result == -_LINUX_AGAIN and self._timeout:
                now = _time.monotonic()
                deadline = now + self._timeout if deadline is None else deadline
                if not self._wait(events, deadline - now):
                    raise TimeoutError("timed out")
            elif result != -_LINUX_INTR:
                raise _door.error(-result)

    def _wait(self, events, seconds):
        return _wait_ready(lambda some: self._poll(events, some), seconds, {self._fd: events})

    def _poll(self, events, seconds):
        end = None if seconds is None else _time.monotonic() + seconds
        while True:
            left = None if end is None else end - _time.monotonic()
            if left is not None and left <= 0:
                left = 0.0
            frame = _Frame()
            polled = frame.data(_struct.pack("<iHH", self._fd, events, 0))
            moment = 0 if left is None else frame.data(_struct.pack("<qq", int(left), int(left % 1 * 1e9)))
            result, _ = _raw("ppoll", polled, 1, moment, 0, 0, frame=frame)
            if result == -_LINUX_INTR:
                continue
            if result < 0:
                raise _door.error(-result)
            return result > 0

    # connections

    def bind(self, address, /):
        packed = _pack(self._family, address, "bind")
        frame = _Frame()
        _call("bind", self._fd, frame.data(packed), len(packed), frame=frame)

    def listen(self, backlog=128, /):
        _call("listen", self._fd, max(backlog, 0))

    def _accept(self):
        def attempt(flags):
            if not flags & MSG_DONTWAIT:
                return _raw("accept4", self._fd, 0, 0, SOCK_CLOEXEC)
            with _alone():
                return _raw("accept4", self._fd, 0, 0, SOCK_CLOEXEC) if self._poll(_POLLIN, 0) else (-_LINUX_AGAIN, b"")

        fd, _ = self._perform(_POLLIN, attempt)
        return fd, _name("getpeername", fd)

    def _connect(self, address):
        packed = _pack(self._family, address, "connect")
        frame = _Frame()
        at = frame.data(packed)
        while True:
            flags = _call("fcntl", self._fd, _F_GETFL)
            shared = self._timeout is None and not flags & SOCK_NONBLOCK and _busy()
            if shared:  # not in the kernel: other threads run meanwhile
                with _alone():
                    _call("fcntl", self._fd, _F_SETFL, flags | SOCK_NONBLOCK)
                    result, _ = _raw("connect", self._fd, at, len(packed), frame=frame)
                    _call("fcntl", self._fd, _F_SETFL, flags)
            else:
                result, _ = _raw("connect", self._fd, at, len(packed), frame=frame)
            if result == -_LINUX_INPROGRESS or result == -_LINUX_INTR:
                if self._timeout == 0:
                    return _LINUX_INPROGRESS
                if not self._wait(_POLLOUT, self._timeout):
                    raise TimeoutError("timed out")
                return _get_number(self._fd, SOL_SOCKET, SO_ERROR)
            if result != -_LINUX_AGAIN or not shared:
                return -result
            _time.sleep(0.001)  # the other side's queue is full, of which no event tells

    def connect(self, address, /):
        failed = self._connect(address)
        if failed:
            raise _door.error(failed)

    def connect_ex(self, address, /):
        try:
            failed = self._connect(address)
        except TimeoutError:
            return _errno.EAGAIN
        return _door.error(failed).errno if failed else 0

    def shutdown(self, how, /):
        _call("shutdown", self._fd, how)

    def getsockname(self):
        return _name("getsockname", self._fd)

    def getpeername(self):
        return _name("getpeername", self._fd)

    # data

    def _send(self, view, flags, to=b"", deadline=None):
        if _opens_tls and not to and (before := _opens_tls(self, view)) is not None:
            if not before:
                return len(view)
            view = view[:before]
        frame = _Frame()
        body, address = frame.data(view), frame.data(to) if to else 0
        return self._perform(_POLLOUT, lambda now: _raw("sendto", self._fd, body, len(view), now, address, len(to), frame=frame),
                             flags | MSG_NOSIGNAL, deadline)[0]

    def send(self, data, flags=0, /):
        view = memoryview(data).cast("B")
        if self._takes_a_part(flags):
            return self._send(view[:_MOST_SENT], flags)
        if self._type != SOCK_STREAM or not _busy():
            return self._send(view, flags)
        return self._send_rest(view, flags, self._send(view[:_PIECE], flags))

    def _takes_a_part(self, flags):
        return self._type == SOCK_STREAM and (self._timeout is not None or flags & MSG_DONTWAIT)

    def _send_rest(self, view, flags, sent):
        """A blocking stream takes all, as it does in the kernel. What cannot be sent any more is told at the next call."""
        try:
            while sent < len(view):
                sent += self._send(view[sent:sent + _PIECE], flags)
        except OSError:
            pass
        return sent

    def sendall(self, data, flags=0, /):
        view = memoryview(data).cast("B")
        deadline = _time.monotonic() + self._timeout if self._timeout else None
        sent = 0
        while sent < len(view):
            sent += self._send(view[sent:sent + _PIECE], flags, deadline=deadline)

    def sendto(self, data, *arguments):
        if not 1 <= len(arguments) <= 2:
            raise TypeError(f"sendto() takes 2 or 3 arguments ({len(arguments) + 1} given)")
        flags, address = (0, *arguments)[-2:]
        return self._send(memoryview(data).cast("B"), flags, _pack(self._family, address, "sendto"))

    def sendmsg(self, buffers, ancdata=(), flags=0, address=None, /):
        control = _messages.packed(ancdata)
        data = b"".join(_first(buffers, _MOST_SENT) if not control and self._takes_a_part(flags) else tuple(buffers))
        if not control:
            return self.send(data, flags) if address is None else self.sendto(data, flags, address)
        frame = _Frame()
        to = b"" if address is None else _pack(self._family, address, "sendmsg")
        header = _messages.Message(frame, to, data, control).header
        sent, _ = self._perform(_POLLOUT, lambda now: _raw("sendmsg", self._fd, header, now, frame=frame), flags | MSG_NOSIGNAL)
        shared = self._type == SOCK_STREAM and self._timeout is None and not flags & MSG_DONTWAIT
        return self._send_rest(memoryview(data), flags, sent) if shared else sent

    def recv(self, size, flags=0, /):
        if size < 0:
            raise ValueError("negative buffersize in recv")
        data = self._receive(size, flags)
        if flags & MSG_WAITALL and not flags & (MSG_PEEK | MSG_DONTWAIT) and self._timeout is None and self._type == SOCK_STREAM:
            pieces = [data]
            while data and (size := size - len(data)) > 0:
                pieces.append(data := self._receive(size, flags))
            return b"".join(pieces)
        return data

    def _receive(self, size, flags):
        size = min(size, _MOST_RECEIVED)
        frame = _Frame()
        at = frame.space(size)
        count, data = self._perform(_POLLIN, lambda now: _raw("recvfrom", self._fd, at, size, now, 0, 0, frame=frame), flags)
        return bytes(data[:min(count, size)])

    def recv_into(self, buffer, nbytes=0, flags=0):
        view = _writable(buffer, "recv_into", nbytes)
        data = self.recv(nbytes or len(view), flags)
        view[:len(data)] = data
        return len(data)

    def recvfrom(self, size, flags=0, /):
        if size < 0:
            raise ValueError("negative buffersize in recvfrom")
        size = min(size, _MOST_RECEIVED)
        frame = _Frame()
        at, room = frame.space(size), frame.space(128)
        length_at = frame.data(_struct.pack("<I", 128))
        count, data = self._perform(
            _POLLIN, lambda now: _raw("recvfrom", self._fd, at, size, now, room, length_at, frame=frame), flags)
        length = _struct.unpack_from("<I", data, length_at)[0]
        return bytes(data[:min(count, size)]), _unpack(bytes(data[room:room + min(length, 128)]))

    def recvfrom_into(self, buffer, nbytes=0, flags=0):
        view = _writable(buffer, "recvfrom_into", nbytes)
        data, address = self.recvfrom(nbytes or len(view), flags)
        view[:len(data)] = data
        return len(data), address

    def recvmsg(self, size, ancbufsize=0, flags=0, /):
        if size < 0:
            raise ValueError("negative buffer size in recvmsg()")
        if not 0 <= ancbufsize < 1 << 31:
            raise ValueError("invalid ancillary data buffer length")
        size = min(size, _MOST_RECEIVED)
        frame = _Frame()
        message = _messages.Message(frame, bytes(_messages.MOST_NAME), bytes(size), bytes(min(ancbufsize, _messages.MOST_CONTROL)))
        count, data = self._perform(_POLLIN, lambda now: _raw("recvmsg", self._fd, message.header, now, frame=frame), flags)
        content, ancillary, told, address = message.received(data, count)
        return content, ancillary, told, _unpack(address)

    def recvmsg_into(self, buffers, ancbufsize=0, flags=0, /):
        views = [_writable(buffer, "recvmsg_into") for buffer in buffers]
        data, *told = self.recvmsg(sum(map(len, views)), ancbufsize, flags)
        left = memoryview(data)
        for view in views:
            count = min(len(view), len(left))
            view[:count] = left[:count]
            left = left[count:]
        return len(data), *told

    # options

    def setsockopt(self, level, name, value, optlen=None, /):
        data = value.to_bytes(4, "little", signed=True) if isinstance(value, int) else bytes(optlen) if value is None else bytes(value)
        frame = _Frame()
        _call("setsockopt", self._fd, level, name, frame.data(data), len(data), frame=frame)

    def getsockopt(self, level, name, buflen=0, /):
        if not buflen:
            return _get_number(self._fd, level, name)
        return _get_option(self._fd, level, name, buflen)

    def _start_tls(self, request):
        """See _cloche/sockets/tls.py: the host speaks TLS on this connection from here on."""
        self.setsockopt(0x1000, 1, request)


SocketType = socket


def _first(buffers, most):
    """Of these the first ones that have so many bytes together, or the next more."""
    found = []
    for buffer in buffers:
        view = memoryview(buffer).cast("B")
        found.append(view[:most])
        most -= len(found[-1])
        if not most:
            break
    return found


def _writable(buffer, name, nbytes=0):
    """A view of what data goes into; nothing is received where it cannot take so many bytes."""
    view = memoryview(buffer)
    if view.readonly:
        raise TypeError(f"{name}() argument 1 must be read-write bytes-like object, not {type(buffer).__name__}")
    view = view.cast("B")
    if nbytes < 0:
        raise ValueError(f"negative buffersize in {name}")
    if nbytes > len(view):
        raise ValueError("nbytes is greater than the length of the buffer" if name == "recvfrom_into" else "buffer too small for requested bytes")
    return view


def _name(which, fd):
    frame = _Frame()
    room = frame.space(128)
    length_at = frame.data(_struct.pack("<I", 128))
    _, data = _call_data(which, fd, room, length_at, frame=frame)
    length = _struct.unpack_from("<I", data, length_at)[0]
    return _unpack(bytes(data[room:room + min(length, 128)])) if length > 2 else ""


def _get_option(fd, level, name, size):
    frame = _Frame()
    room = frame.space(size)
    length_at = frame.data(_struct.pack("<i", size))
    _, data = _call_data("getsockopt", fd, level, name, room, length_at, frame=frame)
    return bytes(data[room:room + _struct.unpack_from("<i", data, length_at)[0]])


def _get_number(fd, level, name):
    return int.from_bytes(_get_option(fd, level, name, 4), "little", signed=True)


def socketpair(family=AF_UNIX, type=SOCK_STREAM, proto=0, /):
    frame = _Frame()
    room = frame.space(8)
    _, data = _call_data("socketpair", int(family), int(type) | SOCK_CLOEXEC, proto, room, frame=frame)
    first, second = _struct.unpack_from("<ii", data)
    return socket(family, type, proto, first), socket(family, type, proto, second)


def close(fd, /):
    _call("close", fd)


def dup(fd, /):
    return _call("fcntl", fd, _F_DUPFD_CLOEXEC, 0)


# --- names -------------------------------------------------------------------------------------------------------

_SERVICES = {"ftp": 21, "ssh": 22, "telnet": 23, "smtp": 25, "domain": 53, "http": 80, "pop3": 110, "ntp": 123, "imap": 143,
             "https": 443, "smtps": 465, "submission": 587, "imaps": 993, "pop3s": 995}


def getservbyname(name, proto=None, /):
    try:
        return _SERVICES[name]
    except KeyError:
        raise OSError("service/proto not found") from None


def getservbyport(port, proto=None, /):
    if not 0 <= port <= 0xFFFF:
        raise OverflowError("getservbyport: port must be 0-65535.")
    for name, number in _SERVICES.items():
        if number == port:
            return name
    raise OSError("port/proto not found")


def getprotobyname(name, /):
    try:
        return {"ip": 0, "icmp": 1, "tcp": 6, "udp": 17, "ipv6": 41}[name]
    except KeyError:
        raise OSError("protocol not found") from None


def gethostname():
    return _state.host_name


def sethostname(name, /):
    raise PermissionError(_errno.EPERM, os.strerror(_errno.EPERM))


def getaddrinfo(host, port, family=0, type=0, proto=0, flags=0):
    if isinstance(host, (bytes, bytearray)):
        host = host.decode("ascii")
    if host is not None and not isinstance(host, str):
        raise TypeError("getaddrinfo() argument 1 must be string or None")
    if isinstance(port, (bytes, bytearray)):
        port = port.decode("ascii")
    if host is None and port is None:
        raise _name_error(EAI_NONAME)
    if family not in (AF_UNSPEC, AF_INET, AF_INET6):
        raise _name_error(EAI_FAMILY)
    families = [AF_INET, AF_INET6] if family == AF_UNSPEC else [int(family)]
    kinds = [(kind, number) for kind, number in ((SOCK_STREAM, IPPROTO_TCP), (SOCK_DGRAM, IPPROTO_UDP))
             if type in (0, kind) and proto in (0, number)]
    if not kinds:
        raise _name_error(EAI_SOCKTYPE)
    if port is None or port == "":
        number = 0
    elif isinstance(port, int):
        number = port & 0xFFFF
    elif port.isascii() and port.isdigit():
        number = int(port) & 0xFFFF
    elif flags & AI_NUMERICSERV or port not in _SERVICES:
        raise _name_error(EAI_SERVICE)
    else:
        number = _SERVICES[port]
    canonical = ""
    if host is None or host == "":
        any_host = {AF_INET: "0.0.0.0", AF_INET6: "::"} if flags & AI_PASSIVE else {AF_INET: "127.0.0.1", AF_INET6: "::1"}
        found = [(one, any_host[one]) for one in families]
    elif literal := _literal(host.partition("%")[0]):
        if literal[0] not in families:
            raise _name_error(EAI_ADDRFAMILY)
        found = [literal]
    elif flags & AI_NUMERICHOST:
        raise _name_error(EAI_NONAME)
    else:
        try:
            name = host if host.isascii() else host.encode("idna").decode()
        except UnicodeError:
            raise _name_error(EAI_NONAME) from None
        found = _resolve(name.lower(), families, socket)
        canonical = name if flags & AI_CANONNAME else ""
    return [(one, kind, protocol, canonical, (text, number) if one == AF_INET else (text, number, 0, 0))
            for one, text in found for kind, protocol in kinds]


def gethostbyname(name, /):
    return getaddrinfo(name, 0, AF_INET, SOCK_STREAM)[0][4][0]


def gethostbyname_ex(name, /):
    return name, [], [entry[4][0] for entry in getaddrinfo(name, 0, AF_INET, SOCK_STREAM)]


def gethostbyaddr(address, /):
    for name in ("localhost",):
        if address in ("127.0.0.1", "::1", name):
            return name, [], [gethostbyname(name)]
    raise herror(1, "Unknown host")


def getnameinfo(address, flags, /):
    host, port = address[:2]
    literal = _literal(host)
    if literal is None:
        host = getaddrinfo(host, port)[0][4][0]
    if flags & NI_NAMEREQD and host not in ("127.0.0.1", "::1"):
        raise _name_error(EAI_NONAME)
    if not flags & NI_NUMERICHOST and host in ("127.0.0.1", "::1"):
        host = "localhost"
    service = str(port)
    if not flags & NI_NUMERICSERV:
        service = next((name for name, number in _SERVICES.items() if number == port), service)
    return host, service


def if_nameindex():
    return [(1, "lo")]


def if_nametoindex(name, /):
    if name == "lo":
        return 1
    raise OSError(_errno.ENODEV, os.strerror(_errno.ENODEV))


def if_indextoname(index, /):
    if index == 1:
        return "lo"
    raise OSError(_errno.ENXIO, os.strerror(_errno.ENXIO))


__all__ = [name for name in dir() if not name.startswith("_")]
