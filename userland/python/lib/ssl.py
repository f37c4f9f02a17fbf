"""TLS for sockets, by the host: it speaks TLS on the connection, and this program reads and writes what is inside.

The certificate of a server and its name are always checked, against the certificates that the host trusts or that the sandbox's
network policy names; what a program says about that (verify_mode, check_hostname, its own certificates) changes nothing.
Clients only: server_side=True is not to be had.
"""
import base64
import enum
import os
import socket as _socket_module
from _cloche.sockets import tls as _tls
from _cloche.sockets.tls import (MemoryBIO, SSLCertVerificationError, SSLEOFError, SSLError, SSLSyscallError, SSLWantReadError,  # noqa: F401
                                 SSLWantWriteError, SSLZeroReturnError)
from collections import namedtuple
from socket import AF_INET, SOCK_STREAM, create_connection, socket  # noqa: F401
from enum import IntEnum as _IntEnum, IntFlag as _IntFlag

HAS_SNI = HAS_ALPN = HAS_ECDH = HAS_TLSv1_2 = HAS_TLSv1_3 = HAS_NEVER_CHECK_COMMON_NAME = True
HAS_NPN = HAS_SSLv2 = HAS_SSLv3 = HAS_TLSv1 = HAS_TLSv1_1 = HAS_PSK = HAS_PHA = HAS_PSK_TLS13 = False
OPENSSL_VERSION = "OpenSSL 3.0 (of the host)"
OPENSSL_VERSION_INFO = (3, 0, 0, 0, 0)
OPENSSL_VERSION_NUMBER = 0x30000000
_OPENSSL_API_VERSION = OPENSSL_VERSION_INFO
CHANNEL_BINDING_TYPES = []
_RESTRICTED_SERVER_CIPHERS = _DEFAULT_CIPHERS = "DEFAULT"
PEM_HEADER, PEM_FOOTER = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"


class _SSLMethod(_IntEnum):
    PROTOCOL_TLS = 2
    PROTOCOL_TLSv1 = 3
    PROTOCOL_TLSv1_1 = 4
    PROTOCOL_TLSv1_2 = 5
    PROTOCOL_TLS_CLIENT = 16
    PROTOCOL_TLS_SERVER = 17


PROTOCOL_SSLv23 = _SSLMethod.PROTOCOL_TLS


class Options(_IntFlag):
    OP_ALL = 0x80000050
    OP_NO_SSLv2 = 0
    OP_NO_SSLv3 = 0x2000000
    OP_NO_TLSv1 = 0x4000000
    OP_NO_TLSv1_1 = 0x10000000
    OP_NO_TLSv1_2 = 0x8000000
    OP_NO_TLSv1_3 = 0x20000000
    OP_NO_COMPRESSION = 0x20000
    OP_NO_TICKET = 0x4000
    OP_NO_RENEGOTIATION = 0x40000000
    OP_CIPHER_SERVER_PREFERENCE = 0x400000
    OP_SINGLE_DH_USE = 0
    OP_SINGLE_ECDH_USE = 0
    OP_IGNORE_UNEXPECTED_EOF = 0x80
    OP_LEGACY_SERVER_CONNECT = 4
    OP_ENABLE_MIDDLEBOX_COMPAT = 0x100000


class AlertDescription(_IntEnum):
    ALERT_DESCRIPTION_CLOSE_NOTIFY = 0
    ALERT_DESCRIPTION_BAD_CERTIFICATE = 42
    ALERT_DESCRIPTION_UNKNOWN_CA = 48


class SSLErrorNumber(_IntEnum):
    SSL_ERROR_SSL = 1
    SSL_ERROR_WANT_READ = 2
    SSL_ERROR_WANT_WRITE = 3
    SSL_ERROR_WANT_X509_LOOKUP = 4
    SSL_ERROR_SYSCALL = 5
    SSL_ERROR_ZERO_RETURN = 6
    SSL_ERROR_WANT_CONNECT = 7
    SSL_ERROR_EOF = 8
    SSL_ERROR_INVALID_ERROR_CODE = 10


class VerifyMode(_IntEnum):
    CERT_NONE = 0
    CERT_OPTIONAL = 1
    CERT_REQUIRED = 2


class VerifyFlags(_IntFlag):
    VERIFY_DEFAULT = 0
    VERIFY_CRL_CHECK_LEAF = 4
    VERIFY_CRL_CHECK_CHAIN = 12
    VERIFY_X509_STRICT = 0x20
    VERIFY_ALLOW_PROXY_CERTS = 0x40
    VERIFY_X509_TRUSTED_FIRST = 0x8000
    VERIFY_X509_PARTIAL_CHAIN = 0x80000


class TLSVersion(_IntEnum):
    MINIMUM_SUPPORTED = -2
    SSLv3 = 0x300
    TLSv1 = 0x301
    TLSv1_1 = 0x302
    TLSv1_2 = 0x303
    TLSv1_3 = 0x304
    MAXIMUM_SUPPORTED = -1


for _kind in (_SSLMethod, Options, AlertDescription, SSLErrorNumber, VerifyMode, VerifyFlags):
    globals().update(_kind.__members__)


CertificateError = SSLCertVerificationError
socket_error = OSError
DefaultVerifyPaths = namedtuple(
    "DefaultVerifyPaths", "cafile capath openssl_cafile_env openssl_cafile openssl_capath_env openssl_capath")


class Purpose(enum.Enum):
    SERVER_AUTH = "1.3.6.1.5.5.7.3.1"
    CLIENT_AUTH = "1.3.6.1.5.5.7.3.2"


def get_default_verify_paths():
    return DefaultVerifyPaths(None, None, "SSL_CERT_FILE", "", "SSL_CERT_DIR", "")


def _wants_read():
    return SSLWantReadError(SSL_ERROR_WANT_READ, "The operation did not complete (read)")  # noqa: F821


def _wants_write():
    return SSLWantWriteError(SSL_ERROR_WANT_WRITE, "The operation did not complete (write)")  # noqa: F821


def _broken_off():
    return SSLEOFError(SSL_ERROR_EOF, "EOF occurred in violation of protocol")  # noqa: F821


def _copied(data, into):
    into[:len(data)] = data
    return len(data)


class SSLContext:
    sslsocket_class = None
    sslobject_class = None
    keylog_filename = None
    sni_callback = None
    post_handshake_auth = False
    security_level = 2
    num_tickets = 2

    def __init__(self, protocol=None, *_):
        protocol = PROTOCOL_TLS if protocol is None else _SSLMethod(protocol)  # noqa: F821
        self.protocol = protocol
        client = protocol == PROTOCOL_TLS_CLIENT  # noqa: F821
        self._check_hostname = client
        self._verify_mode = CERT_REQUIRED if client else CERT_NONE  # noqa: F821
        self.options = Options.OP_ALL | Options.OP_NO_SSLv3
        self.verify_flags = VerifyFlags.VERIFY_X509_TRUSTED_FIRST
        self.minimum_version = TLSVersion.TLSv1_2
        self.maximum_version = TLSVersion.MAXIMUM_SUPPORTED
        self.hostname_checks_common_name = True
        self._alpn = []

    @property
    def check_hostname(self):
        return self._check_hostname

    @check_hostname.setter
    def check_hostname(self, value):
        self._check_hostname = bool(value)
        if value and self._verify_mode == CERT_NONE:  # noqa: F821
            self._verify_mode = CERT_REQUIRED  # noqa: F821

    @property
    def verify_mode(self):
        return self._verify_mode

    @verify_mode.setter
    def verify_mode(self, value):
        value = VerifyMode(value)
        if value == CERT_NONE and self._check_hostname:  # noqa: F821
            raise ValueError("Cannot set verify_mode to CERT_NONE when check_hostname is enabled.")
        self._verify_mode = value

    def set_alpn_protocols(self, protocols):
        self._alpn = [p.decode("ascii") if isinstance(p, bytes) else p for p in protocols]
        if any(not 0 < len(p) < 256 for p in self._alpn):
            raise SSLError("ALPN protocols must be 1 to 255 bytes long")

    def set_npn_protocols(self, protocols):
        pass

    def set_ciphers(self, ciphers, /):
        pass

    def set_ecdh_curve(self, name, /):
        pass

    def load_default_certs(self, purpose=Purpose.SERVER_AUTH):
        pass

    def set_default_verify_paths(self):
        pass

    def load_verify_locations(self, cafile=None, capath=None, cadata=None):
        if cafile is None and capath is None and cadata is None:
            raise TypeError("cafile, capath and cadata cannot be all omitted")
        if cafile is not None:
            os.stat(cafile)

    def load_cert_chain(self, certfile, keyfile=None, password=None):
        raise SSLError("certificates of clients are not supported here")

    def cert_store_stats(self):
        return {"x509": 0, "crl": 0, "x509_ca": 0}

    def get_ca_certs(self, binary_form=False):
        return []

    def get_ciphers(self):
        return []

    def session_stats(self):
        return {}

    def wrap_socket(self, sock, server_side=False, do_handshake_on_connect=True, suppress_ragged_eofs=True, server_hostname=None,
                    session=None):
        if server_side:
            raise NotImplementedError("TLS of a server is not to be had in this sandbox")
        return (self.sslsocket_class or SSLSocket)._create(sock, self, server_hostname, do_handshake_on_connect)

    def wrap_bio(self, incoming, outgoing, server_side=False, server_hostname=None, session=None):
        if server_side:
            raise NotImplementedError("TLS of a server is not to be had in this sandbox")
        return (self.sslobject_class or SSLObject)._create(incoming, outgoing, server_side, server_hostname, session, self)

    def _session(self, server_hostname):
        if self.check_hostname and server_hostname is None:
            raise ValueError("check_hostname requires server_hostname")
        least = "TLSv1.3" if self.minimum_version == TLSVersion.TLSv1_3 else "TLSv1.2"
        return _tls.Session(_tls.request(server_hostname, self._alpn, least))


class SSLSocket(socket):
    """A connection on which the host speaks TLS."""

    def __init__(self, *_, **__):
        raise TypeError(f"{type(self).__name__} does not have a public constructor. Instances are returned by SSLContext.wrap_socket().")

    @classmethod
    def _create(cls, sock, context, server_hostname, handshake):
        if sock.getsockopt(_socket_module.SOL_SOCKET, _socket_module.SO_TYPE) != SOCK_STREAM:
            raise NotImplementedError("only stream sockets are supported")
        tls = context._session(server_hostname)
        timeout = sock.gettimeout()
        family, kind, proto = sock.family, sock.type, sock.proto
        self = cls.__new__(cls)
        socket.__init__(self, family, kind, proto, sock.detach())
        self.context, self.server_hostname, self.server_side = context, server_hostname, False
        self.session, self.session_reused = None, False
        self.suppress_ragged_eofs, self.do_handshake_on_connect = True, handshake
        self._tls, self._sslobj = tls, None
        self.settimeout(timeout)
        try:
            self.getpeername()
        except OSError:
            return self
        if handshake:
            if timeout == 0.0:
                self.close()
                raise ValueError("do_handshake_on_connect should not be specified for non-blocking sockets")
            try:
                self.do_handshake()
            except BaseException:
                self.close()
                raise
        return self

    def connect(self, address):
        super().connect(address)
        if self.do_handshake_on_connect:
            self.do_handshake()

    def connect_ex(self, address):
        failed = super().connect_ex(address)
        if not failed and self.do_handshake_on_connect:
            self.do_handshake()
        return failed

    def do_handshake(self, block=False):
        if self._sslobj is None:
            _tls.begin(self, self._tls.asked)
            self._sslobj = self._tls
        while wanted := self._tls.wanted():
            try:
                piece = socket.recv(self, wanted)
            except BlockingIOError:
                raise _wants_read() from None
            if not piece:
                raise _broken_off()
            self._tls.take(piece)

    def read(self, len=1024, buffer=None):
        if buffer is not None:
            return self.recv_into(buffer, len)
        return self.recv(len)

    def write(self, data):
        return self.send(data)

    def recv(self, buflen=1024, flags=0):
        try:
            return super().recv(buflen, flags)
        except BlockingIOError:
            raise _wants_read() from None

    def recv_into(self, buffer, nbytes=None, flags=0):
        try:
            return super().recv_into(buffer, nbytes or 0, flags)
        except BlockingIOError:
            raise _wants_read() from None

    def send(self, data, flags=0):
        try:
            return super().send(data, flags)
        except BlockingIOError:
            raise _wants_write() from None

    def sendto(self, *_):
        raise ValueError("sendto not allowed on instances of SSLSocket")

    def recvfrom(self, *_):
        raise ValueError("recvfrom not allowed on instances of SSLSocket")

    def dup(self):
        raise NotImplementedError("Can't dup() SSLSocket instances")

    def unwrap(self):
        self.shutdown(_socket_module.SHUT_WR)
        return self

    def pending(self):
        return 0



class SSLObject:
    """One side of a connection with TLS whose bytes the program carries."""

    def __init__(self, *_, **__):
        raise TypeError(f"{type(self).__name__} does not have a public constructor. Instances are returned by SSLContext.wrap_bio().")

    @classmethod
    def _create(cls, incoming, outgoing, server_side=False, server_hostname=None, session=None, context=None):
        for name, bio in ("incoming", incoming), ("outgoing", outgoing):
            if not isinstance(bio, MemoryBIO):
                raise TypeError(f"_wrap_bio() argument '{name}' must be _ssl.MemoryBIO, not {type(bio).__name__}")
        self = cls.__new__(cls)
        self.context, self.server_hostname, self.server_side = context, server_hostname, False
        self.session, self.session_reused = None, False
        self._tls = self._sslobj = context._session(server_hostname)
        self._incoming, self._outgoing = incoming, outgoing
        self._begun = self._ended = False
        return self

    def do_handshake(self):
        if not self._begun:
            self._begun = True
            self._outgoing.write(_tls.opening(self._tls))
        while wanted := self._tls.wanted():
            if not self._incoming.pending:
                raise _broken_off() if self._incoming.eof else _wants_read()
            if not self._tls.has_begun:  # what carries its bytes is no socket of this process
                raise _tls.not_of_the_host()
            self._tls.take(self._incoming.read(wanted))

    def read(self, len=1024, buffer=None):
        into = None if buffer is None else memoryview(buffer).cast("B")
        if into is not None and not 0 < len < into.nbytes:
            len = into.nbytes
        if len < 0:
            raise ValueError("size should not be negative")
        if len:
            self.do_handshake()
            if not self._incoming.pending and not self._incoming.eof:
                raise _wants_read()
        data = self._incoming.read(len)
        return data if into is None else _copied(data, into)

    def write(self, data):
        self.do_handshake()
        if self._ended:
            raise SSLZeroReturnError(SSL_ERROR_ZERO_RETURN, "TLS/SSL connection has been closed (EOF)")  # noqa: F821
        return self._outgoing.write(data)

    def pending(self):
        return self._incoming.pending if self.version() else 0

    def unwrap(self):
        """The host tells the server when the program closes the connection."""
        if not self.version():
            raise SSLError(SSL_ERROR_SSL, "[SSL: SHUTDOWN_WHILE_IN_INIT] shutdown while in init")  # noqa: F821
        self._ended = True


def _of_session(name):
    def method(self, *arguments, **named):
        return getattr(self._tls, name)(*arguments, **named)
    method.__name__ = name
    return method


for _kind in (SSLSocket, SSLObject):
    for _name in ("version", "cipher", "shared_ciphers", "compression", "selected_alpn_protocol", "selected_npn_protocol", "getpeercert",
                  "get_channel_binding", "get_verified_chain", "get_unverified_chain", "group", "client_sigalg", "server_sigalg"):
        setattr(_kind, _name, _of_session(_name))


class SSLSession:
    pass


SSLContext.sslsocket_class, SSLContext.sslobject_class = SSLSocket, SSLObject


def create_default_context(purpose=Purpose.SERVER_AUTH, *, cafile=None, capath=None, cadata=None):
    if not isinstance(purpose, Purpose):
        raise TypeError(purpose)
    context = SSLContext(PROTOCOL_TLS_CLIENT)  # noqa: F821
    if cafile or capath or cadata:
        context.load_verify_locations(cafile, capath, cadata)
    return context


def _create_unverified_context(protocol=None, *, cert_reqs=VerifyMode.CERT_NONE, check_hostname=False, purpose=Purpose.SERVER_AUTH,
                               certfile=None, keyfile=None, cafile=None, capath=None, cadata=None):
    context = SSLContext(PROTOCOL_TLS_CLIENT)  # noqa: F821
    context.check_hostname = check_hostname
    return context


_create_default_https_context = create_default_context
_create_stdlib_context = _create_unverified_context


def cert_time_to_seconds(cert_time):
    from calendar import timegm
    from time import strptime
    return timegm(strptime(cert_time, "%b %d %H:%M:%S %Y GMT"))


def DER_cert_to_PEM_cert(der):
    text = base64.b64encode(der).decode("ascii")
    return "\n".join([PEM_HEADER, *(text[i:i + 64] for i in range(0, len(text), 64)), PEM_FOOTER]) + "\n"


def PEM_cert_to_DER_cert(pem):
    pem = pem.strip()
    if not pem.startswith(PEM_HEADER) or not pem.endswith(PEM_FOOTER):
        raise ValueError("Invalid PEM encoding")
    return base64.b64decode(pem[len(PEM_HEADER):-len(PEM_FOOTER)])


def get_server_certificate(addr, ssl_version=None, ca_certs=None, timeout=None):
    with create_connection(addr, *(() if timeout is None else (timeout,))) as sock:
        with create_default_context().wrap_socket(sock, server_hostname=addr[0]) as tls:
            return DER_cert_to_PEM_cert(tls.getpeercert(True))


def get_protocol_name(protocol_code):
    return _SSLMethod(protocol_code).name if protocol_code in list(_SSLMethod) else "<unknown>"


def RAND_bytes(count):
    return os.urandom(count)


def RAND_status():
    return True


def RAND_add(data, entropy, /):
    pass
