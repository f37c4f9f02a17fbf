"""`_socket` over the connections of eryx:net: clients of TCP, and TLS by the host. The library's own `socket` and our `ssl` stand on it.

Calls of the host wait, and nothing else of the component runs meanwhile. How long they may wait is the host's to say: a timeout that a
program sets is kept and told, and changes nothing; a socket that must not wait cannot be had. Names are resolved by the host when it
connects, so `getaddrinfo` gives back what it got.
"""
import errno
import itertools
import json
import struct

from componentize_py_types import Err
from wit_world.imports import tcp, tls

AF_UNSPEC, AF_UNIX, AF_INET, AF_INET6 = 0, 1, 2, 10
SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_NONBLOCK, SOCK_CLOEXEC = 1, 2, 3, 0o4000, 0o2000000
SOL_SOCKET, SOL_TCP, SOL_IP, SOL_UDP = 1, 6, 0, 17
IPPROTO_IP, IPPROTO_ICMP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_IPV6 = 0, 1, 6, 17, 41
SO_REUSEADDR, SO_TYPE, SO_ERROR, SO_BROADCAST, SO_SNDBUF, SO_RCVBUF, SO_KEEPALIVE, SO_LINGER, SO_REUSEPORT = 2, 3, 4, 6, 7, 8, 9, 13, 15
TCP_NODELAY, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT, TCP_USER_TIMEOUT = 1, 4, 5, 6, 18
IPV6_V6ONLY = 26
MSG_OOB, MSG_PEEK, MSG_DONTWAIT, MSG_WAITALL, MSG_NOSIGNAL = 1, 2, 0x40, 0x100, 0x4000
SHUT_RD, SHUT_WR, SHUT_RDWR = 0, 1, 2
SOMAXCONN = 4096
AI_PASSIVE, AI_CANONNAME, AI_NUMERICHOST, AI_V4MAPPED, AI_ALL, AI_ADDRCONFIG, AI_NUMERICSERV = 1, 2, 4, 8, 16, 32, 1024
EAI_AGAIN, EAI_BADFLAGS, EAI_FAMILY, EAI_FAIL, EAI_NONAME, EAI_SERVICE, EAI_SOCKTYPE = -3, -1, -6, -4, -2, -8, -7
NI_NUMERICHOST, NI_NUMERICSERV, NI_NAMEREQD, NI_DGRAM = 1, 2, 8, 16
INADDR_ANY, INADDR_LOOPBACK, INADDR_BROADCAST, INADDR_NONE = 0, 0x7F000001, 0xFFFFFFFF, 0xFFFFFFFF
has_ipv6 = True

error, timeout = OSError, TimeoutError

_READ_MOST = 1 << 20
_SERVICES = {"http": 80, "https": 443, "ftp": 21, "ssh": 22, "smtp": 25, "domain": 53, "pop3": 110, "imap": 143, "imaps": 993}
_HEAD = struct.Struct("<I")  # of what ssl reads after start_tls: its length, and JSON
_default_timeout = None


class herror(OSError):
    pass


class gaierror(OSError):
    pass


class _Connection:
    """What a descriptor stands for: a connection of the host, or none yet."""

    def __init__(self):
        self.interface, self.handle, self.peer = tcp, None, None
        self.waiting = bytearray()  # read before what the connection gives


_open = {}  # by descriptor; the numbers are of this module alone
_numbers = itertools.count(1000)


def _tcp_failure(problem):
    kinds = {
        tcp.TcpError_ConnectionRefused: lambda: ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"),
        tcp.TcpError_ConnectionReset: lambda: ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"),
        tcp.TcpError_TimedOut: lambda: TimeoutError(errno.ETIMEDOUT, "Connection timed out"),
        tcp.TcpError_HostNotFound: lambda: gaierror(EAI_NONAME, "Name or service not known"),
        tcp.TcpError_IoError: lambda: OSError(errno.EIO, problem.value or "Input/output error"),
        tcp.TcpError_NotPermitted: lambda: PermissionError(errno.EACCES, problem.value or "Permission denied"),
        tcp.TcpError_InvalidHandle: lambda: OSError(errno.EBADF, "Bad file descriptor"),
    }
    return kinds[type(problem)]()


def _failure(problem):
    """Of reading and writing on either kind of connection."""
    if isinstance(problem, tls.TlsError_Tcp):
        return _tcp_failure(problem.value)
    if isinstance(problem, tls.TlsError_InvalidHandle):
        return OSError(errno.EBADF, "Bad file descriptor")
    if isinstance(problem, (tls.TlsError_HandshakeFailed, tls.TlsError_CertificateError)):
        return OSError(errno.EPROTO, problem.value)
    return _tcp_failure(problem)


def _handshake(connection, host):
    """What ssl reads: what was agreed, or why not."""
    try:
        connection.handle = tls.upgrade(connection.handle, host)
    except Err as problem:
        connection.handle = None  # it is used up
        reasons = {tls.TlsError_CertificateError: "CERTIFICATE_VERIFY_FAILED", tls.TlsError_HandshakeFailed: "HANDSHAKE_FAILURE"}
        reason = reasons.get(type(problem.value))
        if reason is None:
            raise _failure(problem.value) from None
        return {"error": problem.value.value, "reason": reason}
    connection.interface = tls
    return {"version": None, "cipher": [], "alpn": None}  # the host does not tell


class socket:
    """A client's TCP connection."""

    __slots__ = "_family", "_timeout", "_fileno"

    def __init__(self, family=-1, type=-1, proto=-1, fileno=None):
        family = AF_INET if family == -1 else family
        type = SOCK_STREAM if type == -1 else type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)
        if family not in (AF_INET, AF_INET6):
            raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
        if type != SOCK_STREAM or proto not in (-1, 0, IPPROTO_TCP):
            raise OSError(errno.EPROTONOSUPPORT, "there are TCP connections only in a component")
        self._family, self._timeout = family, _default_timeout
        if fileno is None:
            fileno = next(_numbers)
            _open[fileno] = _Connection()
        elif fileno not in _open:
            raise OSError(errno.EBADF, "Bad file descriptor")
        self._fileno = fileno

    family = property(lambda self: self._family)
    type = property(lambda self: SOCK_STREAM)
    proto = property(lambda self: 0)
    timeout = property(lambda self: self._timeout)

    def __del__(self):
        if getattr(self, "_fileno", -1) >= 0:
            _close(self._fileno)

    def _own(self):
        try:
            return _open[self._fileno]
        except KeyError:
            raise OSError(errno.EBADF, "Bad file descriptor") from None

    def _connected(self):
        connection = self._own()
        if connection.handle is None:
            raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")
        return connection

    def fileno(self):
        return self._fileno

    def detach(self):
        fileno, self._fileno = self._fileno, -1
        return fileno

    def close(self):
        if self._fileno >= 0:
            _close(self.detach())

    def connect(self, address, /):
        connection = self._own()
        if connection.handle is not None:
            raise OSError(errno.EISCONN, "Transport endpoint is already connected")
        host, port = _host(address[0]), address[1]
        if not isinstance(port, int):
            raise TypeError(f"'{port.__class__.__name__}' object cannot be interpreted as an integer")
        if not 0 <= port <= 65535:
            raise OverflowError("connect(): port must be 0-65535.")
        try:
            connection.handle = tcp.connect(host, port)
        except Err as problem:
            raise _tcp_failure(problem.value) from None
        connection.peer = (host, port, 0, 0) if self._family == AF_INET6 else (host, port)

    def connect_ex(self, address, /):
        try:
            self.connect(address)
        except gaierror:
            raise
        except OSError as problem:
            return problem.errno
        return 0

    def _start_tls(self, request):
        connection = self._connected()
        answer = json.dumps(_handshake(connection, json.loads(request)["host"])).encode()
        connection.waiting += _HEAD.pack(len(answer)) + answer

    def recv(self, bufsize, flags=0, /):
        if bufsize < 0:
            raise ValueError("negative buffersize in recv")
        connection = self._own()
        if not connection.waiting and bufsize:
            connection = self._connected()
            try:
                data = connection.interface.read(connection.handle, min(bufsize, _READ_MOST))
            except Err as problem:
                raise _failure(problem.value) from None
            if not flags & MSG_PEEK:
                return data
            connection.waiting += data
        data = bytes(connection.waiting[:bufsize])
        if not flags & MSG_PEEK:
            del connection.waiting[:bufsize]
        return data

    def recv_into(self, buffer, nbytes=0, flags=0):
        with memoryview(buffer) as view, view.cast("B") as octets:
            data = self.recv(min(nbytes or len(octets), len(octets)), flags)
            octets[:len(data)] = data
        return len(data)

    def recvfrom(self, bufsize, flags=0, /):
        return self.recv(bufsize, flags), None

    def recvfrom_into(self, buffer, nbytes=0, flags=0):
        return self.recv_into(buffer, nbytes, flags), None

    def send(self, data, flags=0, /):
        connection = self._connected()
        with memoryview(data) as view:
            octets = view.tobytes()
        if not octets:
            return 0
        try:
            return connection.interface.write(connection.handle, octets)
        except Err as problem:
            raise _failure(problem.value) from None

    def sendall(self, data, flags=0, /):
        with memoryview(data) as view, view.cast("B") as octets:
            sent = 0
            while sent < len(octets):
                taken = self.send(octets[sent:sent + _READ_MOST], flags)
                if not taken:
                    raise OSError(errno.EIO, "the host takes nothing")
                sent += taken

    def shutdown(self, how, /):
        if how not in (SHUT_RD, SHUT_WR, SHUT_RDWR):
            raise OSError(errno.EINVAL, "Invalid argument")
        self._connected()  # a connection of the host ends as a whole, when it is closed

    def getpeername(self):
        return self._connected().peer

    def getsockname(self):
        self._own()
        return ("::", 0, 0, 0) if self._family == AF_INET6 else ("0.0.0.0", 0)

    def getsockopt(self, level, option, buflen=0, /):
        self._own()
        value = SOCK_STREAM if (level, option) == (SOL_SOCKET, SO_TYPE) else 0
        return value.to_bytes(buflen, "little") if buflen else value

    def setsockopt(self, level, option, *value):
        self._own()  # the host has its own

    def settimeout(self, value, /):
        _check_timeout(value)
        self._timeout = value

    def gettimeout(self):
        return self._timeout

    def setblocking(self, flag, /):
        self.settimeout(None if flag else 0.0)

    def getblocking(self):
        return True

    def _servers(self, *_):
        raise OSError(errno.EOPNOTSUPP, "there are no servers in a component")

    bind = listen = _accept = _servers

    def _no_datagrams(self, *_):
        raise OSError(errno.EOPNOTSUPP, "there are TCP connections only in a component")

    sendto = sendmsg = recvmsg = recvmsg_into = _no_datagrams


SocketType = socket


def _check_timeout(value):
    if value is None:
        return
    if value < 0:
        raise ValueError("Timeout value out of range")
    if value == 0:
        raise OSError(errno.EOPNOTSUPP, "sockets of a component wait: there is no non-blocking mode")


def _close(fileno):
    connection = _open.pop(fileno, None)
    if connection is not None and connection.handle is not None:
        connection.interface.close(connection.handle)


def close(fileno, /):
    if fileno not in _open:
        raise OSError(errno.EBADF, "Bad file descriptor")
    _close(fileno)


def dup(fileno, /):
    raise OSError(errno.EOPNOTSUPP, "a connection of a component has one descriptor")


def getdefaulttimeout():
    return _default_timeout


def setdefaulttimeout(value, /):
    global _default_timeout
    _check_timeout(value)
    _default_timeout = value


def _host(host):
    """As the host of the component takes it."""
    if isinstance(host, (bytes, bytearray)):
        host = host.decode("ascii")
    if not isinstance(host, str):
        raise TypeError(f"str, bytes or bytearray expected, not {type(host).__name__}")
    return host if host.isascii() else host.encode("idna").decode()


def _port(port):
    if port is None:
        return 0
    if isinstance(port, (bytes, bytearray)):
        port = port.decode("ascii")
    if isinstance(port, str) and not port.isdigit():
        if port not in _SERVICES:
            raise gaierror(EAI_SERVICE, "Servname not supported for ai_socktype")
        return _SERVICES[port]
    return int(port)


def _family_of(host):
    """Of an address in numbers; none of a name."""
    if ":" in host:
        return AF_INET6
    parts = host.split(".")
    return AF_INET if len(parts) == 4 and all(part.isdigit() and int(part) < 256 for part in parts) else None


def getaddrinfo(host, port, family=0, type=0, proto=0, flags=0):
    if host is None and port is None:
        raise gaierror(EAI_NONAME, "Name or service not known")
    if type not in (0, SOCK_STREAM) or proto not in (0, IPPROTO_TCP):
        raise gaierror(EAI_SOCKTYPE, "ai_socktype not supported")
    host = _host(host) if host else "127.0.0.1"
    own = _family_of(host)
    if own is None and flags & AI_NUMERICHOST:
        raise gaierror(EAI_NONAME, "Name or service not known")
    family = own or family or AF_INET
    address = (host, _port(port), 0, 0) if family == AF_INET6 else (host, _port(port))
    return [(family, SOCK_STREAM, IPPROTO_TCP, "", address)]


def getnameinfo(address, flags, /):
    return address[0], str(address[1])


def gethostname():
    return "component"


def gethostbyname(host, /):
    raise gaierror(EAI_FAIL, "names are resolved by the host of the component, when it connects")


gethostbyname_ex = gethostbyaddr = gethostbyname


def getservbyname(name, protocol="tcp", /):
    if name not in _SERVICES:
        raise OSError("service/proto not found")
    return _SERVICES[name]


def getservbyport(port, protocol="tcp", /):
    for name, number in _SERVICES.items():
        if number == port:
            return name
    raise OSError("port/proto not found")


def getprotobyname(name, /):
    return {"tcp": IPPROTO_TCP, "udp": IPPROTO_UDP, "ip": 0, "ipv6": IPPROTO_IPV6, "icmp": 1}[name]


def htons(value, /):
    return struct.unpack("<H", struct.pack(">H", value))[0]


def htonl(value, /):
    return struct.unpack("<I", struct.pack(">I", value))[0]


ntohs, ntohl = htons, htonl


def inet_aton(text, /):
    if _family_of(text) != AF_INET:
        raise OSError("illegal IP address string passed to inet_aton")
    return bytes(int(part) for part in text.split("."))


def inet_ntoa(packed, /):
    if len(packed) != 4:
        raise OSError("packed IP wrong length")
    return ".".join(str(octet) for octet in bytes(packed))


def inet_pton(family, text, /):
    import ipaddress
    try:
        return (ipaddress.IPv4Address if family == AF_INET else ipaddress.IPv6Address)(text).packed
    except ValueError:
        raise OSError("illegal IP address string passed to inet_pton") from None


def inet_ntop(family, packed, /):
    import ipaddress
    return str((ipaddress.IPv4Address if family == AF_INET else ipaddress.IPv6Address)(bytes(packed)))


# What `from _socket import *` takes.
__all__ = [name for name, value in globals().items()
           if not name.startswith("_") and (isinstance(value, int) or getattr(value, "__module__", None) in (__name__, "builtins"))]
