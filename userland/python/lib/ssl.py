"""TLS for sockets, by the host: it speaks TLS on the connection, and this program reads and writes what is inside.

The certificate of a server and its name are always checked, against the certificates that the host trusts or that the sandbox's
network policy names; what a program says about that (verify_mode, check_hostname, its own certificates) changes nothing.
Clients only: wrap_socket(server_side=True) and TLS over MemoryBIO are not to be had.
"""
import base64
import enum
import json
import os
import socket as _socket_module
import struct
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


CertificateError = SSLCertVerificationError
socket_error = OSError
DefaultVerifyPaths = namedtuple(
    "DefaultVerifyPaths", "cafile capath openssl_cafile_env openssl_cafile openssl_capath_env openssl_capath")


class Purpose(enum.Enum):
    SERVER_AUTH = "1.3.6.1.5.5.7.3.1"
    CLIENT_AUTH = "1.3.6.1.5.5.7.3.2"


def get_default_verify_paths():
    return DefaultVerifyPaths(None, None, "SSL_CERT_FILE", "", "SSL_CERT_DIR", "")


def _failure(info):
    text, reason = info["error"], info["reason"]
    if reason == "CERTIFICATE_VERIFY_FAILED":
        error = SSLCertVerificationError(1, f"[SSL: {reason}] {text}")
        error.verify_code = info.get("verify_code", 0)
        error.verify_message = text.partition(": ")[2]
    else:
        error = SSLError(1, f"[SSL] {text}")
    error.library, error.reason = "SSL", reason
    return error


_HEAD = struct.Struct("<I")


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
        raise NotImplementedError("TLS over MemoryBIO is not to be had in this sandbox: wrap the socket")

    def _request(self, server_hostname, address):
        host = server_hostname or address
        if not host:
            raise ValueError("check_hostname requires server_hostname")
        host = host.partition("%")[0] if isinstance(host, str) else bytes(host).decode("ascii")
        if not host.isascii():
            host = host.encode("idna").decode()
        least = "TLSv1.3" if self.minimum_version == TLSVersion.TLSv1_3 else "TLSv1.2"
        return json.dumps({"host": host, "alpn": self._alpn, "minimum": least}).encode()


class SSLSocket(socket):
    """A connection on which the host speaks TLS."""

    def __init__(self, *_, **__):
        raise TypeError(f"{type(self).__name__} does not have a public constructor. Instances are returned by SSLContext.wrap_socket().")

    @classmethod
    def _create(cls, sock, context, server_hostname, handshake):
        if sock.getsockopt(_socket_module.SOL_SOCKET, _socket_module.SO_TYPE) != SOCK_STREAM:
            raise NotImplementedError("only stream sockets are supported")
        if server_hostname is not None:
            if not server_hostname or server_hostname.startswith("."):
                raise ValueError("server_hostname cannot be an empty string or start with a leading dot.")
        elif context.check_hostname:
            raise ValueError("check_hostname requires server_hostname")
        timeout = sock.gettimeout()
        family, kind, proto = sock.family, sock.type, sock.proto
        self = cls.__new__(cls)
        socket.__init__(self, family, kind, proto, sock.detach())
        self.context, self.server_hostname, self.server_side = context, server_hostname, False
        self.session, self.session_reused = None, False
        self.suppress_ragged_eofs, self.do_handshake_on_connect = True, handshake
        self._info = self._request = None
        self._answer = bytearray()
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
        if self._info is not None:
            return
        if self._request is None:
            self._request = self.context._request(self.server_hostname, self.getpeername()[0])
            self._start_tls(self._request)
        while True:
            wanted = _HEAD.size if len(self._answer) < _HEAD.size else _HEAD.size + _HEAD.unpack_from(self._answer)[0]
            if len(self._answer) >= _HEAD.size and len(self._answer) == wanted:
                break
            try:
                piece = socket.recv(self, wanted - len(self._answer))
            except BlockingIOError:
                raise SSLWantReadError(SSL_ERROR_WANT_READ, "The operation did not complete (read)") from None  # noqa: F821
            if not piece:
                raise SSLEOFError(SSL_ERROR_EOF, "EOF occurred in violation of protocol")  # noqa: F821
            self._answer += piece
        info = json.loads(self._answer[_HEAD.size:])
        if "error" in info:
            raise _failure(info)
        self._info = info

    def _blocking_errors(self, error, kind):
        return kind(SSL_ERROR_WANT_READ if kind is SSLWantReadError else SSL_ERROR_WANT_WRITE,  # noqa: F821
                    "The operation did not complete")

    def read(self, len=1024, buffer=None):
        if buffer is not None:
            return self.recv_into(buffer, len)
        return self.recv(len)

    def write(self, data):
        return self.send(data)

    def recv(self, buflen=1024, flags=0):
        try:
            return super().recv(buflen, flags)
        except BlockingIOError as error:
            raise self._blocking_errors(error, SSLWantReadError) from None

    def recv_into(self, buffer, nbytes=None, flags=0):
        try:
            return super().recv_into(buffer, nbytes or 0, flags)
        except BlockingIOError as error:
            raise self._blocking_errors(error, SSLWantReadError) from None

    def send(self, data, flags=0):
        try:
            return super().send(data, flags)
        except BlockingIOError as error:
            raise self._blocking_errors(error, SSLWantWriteError) from None

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

    def version(self):
        return self._info["version"] if self._info else None

    def cipher(self):
        return tuple(self._info["cipher"]) if self._info else None

    def shared_ciphers(self):
        return None

    def compression(self):
        return None

    def selected_alpn_protocol(self):
        return self._info.get("alpn") if self._info else None

    def selected_npn_protocol(self):
        return None

    def get_channel_binding(self, cb_type="tls-unique"):
        return None

    def getpeercert(self, binary_form=False):
        if self._info is None:
            raise ValueError("handshake not done yet")
        if binary_form:
            return base64.b64decode(self._info.get("certificate", ""))
        return _tuples(self._info.get("peer", {}))

    def get_verified_chain(self):
        return [self.getpeercert(True)]

    get_unverified_chain = get_verified_chain


def _tuples(value):
    """As the standard library gives certificates: names are tuples of tuples."""
    if isinstance(value, dict):
        return {key: _tuples(inner) if key in ("subject", "issuer", "subjectAltName") else inner for key, inner in value.items()}
    return tuple(_tuples(inner) for inner in value) if isinstance(value, list) else value


class MemoryBIO:
    """Holds bytes; TLS does not run over it here."""

    def __init__(self):
        self._data, self.eof = bytearray(), False

    @property
    def pending(self):
        return len(self._data)

    def read(self, size=-1):
        size = len(self._data) if size < 0 else size
        data = bytes(self._data[:size])
        del self._data[:size]
        return data

    def write(self, data):
        self._data += data
        return len(data)

    def write_eof(self):
        self.eof = True


class SSLObject:
    pass


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
