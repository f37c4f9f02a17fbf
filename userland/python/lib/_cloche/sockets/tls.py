"""TLS of the host, as `ssl` has it: what a handshake gives, and TLS whose bytes a program carries itself.

`Session` stands in the place of OpenSSL's own object. Where a program wraps no socket but carries TLS's bytes in a way of its own
(asyncio's start_tls, anyio, trio), there are no such bytes: the first that it is given is an opening, and the socket that is to send it
begins TLS instead. From then on the program carries plain bytes.
"""
import base64
import errno
import json
import os
import struct
import weakref

import _socket

_LENGTH, _MOST_ANSWER = struct.Struct("<I"), 256 << 10
_mark = None  # around the request in an opening
_unsent = weakref.WeakValueDictionary()  # sessions whose openings no socket has sent, by their tokens
_NO_TLS = {
    errno.EALREADY: "there is TLS on this connection already, and none inside of it",
    errno.EOPNOTSUPP: "TLS is spoken by the host, on connections to the world outside: there is none between programs of a sandbox",
    errno.EPROTO: "the server has said something before TLS began",
    errno.EINVAL: "the host refuses the request for TLS: is the server's name one?",
}


class SSLError(OSError):
    library = reason = None

    def __str__(self):
        return str(self.strerror) if self.strerror is not None else super().__str__()


class SSLZeroReturnError(SSLError):
    pass


class SSLWantReadError(SSLError):
    pass


class SSLWantWriteError(SSLError):
    pass


class SSLSyscallError(SSLError):
    pass


class SSLEOFError(SSLError):
    pass


class SSLCertVerificationError(SSLError, ValueError):
    verify_code = 0
    verify_message = ""


for _error in (SSLError, SSLZeroReturnError, SSLWantReadError, SSLWantWriteError, SSLSyscallError, SSLEOFError, SSLCertVerificationError):
    _error.__module__ = "ssl"


def request(host, protocols, minimum):
    """What is asked of the host. `host`: the name that the server's certificate has to have; None: the socket's address."""
    if host is not None:
        host = host if isinstance(host, str) else bytes(host).decode("ascii")
        if not host or host.startswith("."):
            raise ValueError("server_hostname cannot be an empty string or start with a leading dot.")
        host = host.partition("%")[0]
        if not host.isascii():
            host = host.encode("idna").decode()
    return {"host": host, "alpn": protocols, "minimum": minimum, "token": os.urandom(16).hex()}


def begin(sock, asked):
    """Begins TLS on the connection of `sock`."""
    if asked["host"] is None:
        address = sock.getpeername()
        asked = {**asked, "host": address[0].partition("%")[0] if isinstance(address, tuple) else ""}
    try:
        sock._start_tls(json.dumps(asked).encode())
    except OSError as error:
        if error.errno not in _NO_TLS:
            raise
        raise SSLError(error.errno, f"[SSL] {_NO_TLS[error.errno]}") from None


def opening(session):
    """What begins TLS on the socket that sends it."""
    global _mark
    if _mark is None:
        _mark = os.urandom(16)
        _socket._opens_tls = _opens_tls
    _unsent[session.asked["token"]] = session
    return _mark + json.dumps(session.asked).encode() + _mark


def _opens_tls(sock, view):
    """None where `view` does not end with an opening. Else how many bytes are before it; without any TLS has begun."""
    if len(view) < 2 * len(_mark) or view[-len(_mark):] != _mark:
        return None
    content = bytes(view)
    before = content.index(_mark)
    if not before:
        asked = json.loads(content[len(_mark):-len(_mark)])
        begin(sock, asked)
        if session := _unsent.pop(asked["token"], None):
            session.has_begun = True
    return before


def _failure(told):
    text, reason = told["error"], told["reason"]
    if reason == "CERTIFICATE_VERIFY_FAILED":
        error = SSLCertVerificationError(1, f"[SSL: {reason}] {text}")
        error.verify_code = told.get("verify_code", 0)
        error.verify_message = text.partition(": ")[2]
    else:
        error = SSLError(1, f"[SSL] {text}")
    error.library, error.reason = "SSL", reason
    return error


def not_of_the_host():
    return _failure({"error": "wrong version number: it is not the host of this sandbox that answers", "reason": "WRONG_VERSION_NUMBER"})


class Session:
    """What is known of one side of a connection with TLS. The host's answer to the request for it comes first on the connection: its
    length in four bytes, and JSON. It has the request's token, which no server knows."""

    def __init__(self, asked):
        self.asked = asked
        self.has_begun = False  # by its opening
        self._answer = bytearray()
        self._told = None

    def wanted(self):
        """How many bytes of the answer are still to come; 0: the handshake is done. Raises what it has failed with."""
        head, have = _LENGTH.size, len(self._answer)
        if have < head:
            return head - have
        length, = _LENGTH.unpack_from(self._answer)
        if length > _MOST_ANSWER:
            raise not_of_the_host()
        if have == head + length and self._told is None:
            told = self._read(self._answer[head:])
            if "error" in told:
                raise _failure(told)
            self._told = told
        return head + length - have

    def _read(self, answer):
        try:
            told = json.loads(answer)
            if told["token"] == self.asked["token"]:
                return told
        except (LookupError, TypeError, ValueError):
            pass
        raise not_of_the_host()

    def take(self, piece):
        """A piece of the answer, of no more than is wanted."""
        self._answer += piece

    def version(self):
        return self._told["version"] if self._told else None

    def cipher(self):
        return tuple(self._told["cipher"]) if self._told else None

    def selected_alpn_protocol(self):
        return self._told.get("alpn") if self._told else None

    def getpeercert(self, binary_form=False):
        if self._told is None:
            raise ValueError("handshake not done yet")
        if binary_form:
            return base64.b64decode(self._told.get("certificate", ""))
        return _tuples(self._told.get("peer", {}))

    def get_verified_chain(self):
        return [self.getpeercert(True)]

    get_unverified_chain = get_verified_chain

    def nothing(self, *_, **__):
        return None

    selected_npn_protocol = shared_ciphers = compression = get_channel_binding = group = client_sigalg = server_sigalg = nothing


def _tuples(value):
    """As the standard library gives certificates: names are tuples of tuples."""
    if isinstance(value, dict):
        return {key: _tuples(inner) if key in ("subject", "issuer", "subjectAltName") else inner for key, inner in value.items()}
    return tuple(_tuples(inner) for inner in value) if isinstance(value, list) else value


class MemoryBIO:
    """Bytes that a program carries between a connection and an SSLObject."""

    def __init__(self):
        self._data = bytearray()
        self._ended = False

    @property
    def pending(self):
        return len(self._data)

    @property
    def eof(self):
        return self._ended and not self._data

    def read(self, size=-1, /):
        size = len(self._data) if size < 0 else min(size, len(self._data))
        with memoryview(self._data) as view:
            data = bytes(view[:size])
        del self._data[:size]
        return data

    def write(self, data, /):
        if self._ended:
            raise SSLError("cannot write() after write_eof()")
        with memoryview(data) as view:
            if not view.contiguous:
                raise BufferError("memoryview: underlying buffer is not C-contiguous")
            self._data += view.cast("B") if view.nbytes else b""
            return view.nbytes

    def write_eof(self):
        self._ended = True
