"""asyncio's event loop: its selector waits in the kernel's poll, and another thread or a signal's handler wakes it by a count that it
looks at, so there is no pair of sockets for that.
"""
import asyncio
import contextlib
import functools
import selectors
import threading
from asyncio import base_events, selector_events, transports

from . import names, polling


def _no_self_pipe(self):
    self._ssock = self._csock = None


def _nothing(self, *_):
    pass


def _wake(self):
    """call_soon_threadsafe, from a signal's handler or another thread."""
    polling.wake()


def _make_tls_transport(self, rawsock, protocol, sslcontext, waiter=None, *, server_side=False, server_hostname=None, extra=None,
                        server=None, ssl_handshake_timeout=None, ssl_shutdown_timeout=None, **_):
    """TLS is the host's: once the handshake is done the transport is an ordinary one. Without a context `ssl=True` was said."""
    if sslcontext is None:
        import ssl
        sslcontext = ssl.create_default_context()
    tls = sslcontext.wrap_socket(rawsock, server_side=server_side, server_hostname=server_hostname, do_handshake_on_connect=False)
    transport = _LateTransport(self, protocol)
    self.create_task(_connect_tls(self, tls, protocol, transport, waiter, extra, server, ssl_handshake_timeout))
    return transport


async def _connect_tls(self, tls, protocol, transport, waiter, extra, server, timeout):
    try:
        async with asyncio.timeout(timeout or 60):
            await _shake_hands(self, tls)
        extra = {**(extra or {}), "ssl_object": tls, "sslcontext": tls.context, "peercert": tls.getpeercert(),
                 "cipher": tls.cipher(), "compression": None}
        transport._real = self._make_socket_transport(tls, protocol, waiter, extra=extra, server=server)
    except BaseException as error:
        tls.close()
        if waiter is not None and not waiter.done():
            waiter.set_exception(error if isinstance(error, Exception) else ConnectionAbortedError("the handshake was cancelled"))
        if not isinstance(error, Exception):
            raise


async def _shake_hands(self, tls):
    import ssl
    while True:
        try:
            return tls.do_handshake()
        except ssl.SSLWantReadError:
            ready = self.create_future()
            self.add_reader(tls.fileno(), ready.set_result, None)
            try:
                await ready
            finally:
                self.remove_reader(tls.fileno())


class _LateTransport(transports.Transport):
    """Stands for a transport that is there after the handshake."""

    def __init__(self, loop, protocol):
        super().__init__()
        self._real = None

    def close(self):
        """Before there is one: the handshake has failed, and has closed the socket."""

    abort = close

    def is_closing(self):
        return True

    def __getattribute__(self, name):
        real = object.__getattribute__(self, "__dict__").get("_real")
        if real is None or name == "_real":
            return object.__getattribute__(self, name)
        return getattr(real, name)


async def _getaddrinfo(self, host, port, *, family=0, type=0, proto=0, flags=0):
    """A thread of its own asks for a name, while the loop goes on: the threads of a pool are not there in a session's fork."""
    import socket
    ask = functools.partial(socket.getaddrinfo, host, port, family, type, proto, flags)
    if not isinstance(host, str) or names.literal(host.partition("%")[0]):
        return ask()
    told = self.create_future()

    def tell(result, error):
        if not told.done():
            told.set_exception(error) if error else told.set_result(result)

    def look():
        result = error = None
        try:
            result = ask()
        except Exception as failure:
            error = failure
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self.call_soon_threadsafe(tell, result, error)

    try:
        threading.Thread(target=look, name="asyncio-getaddrinfo", daemon=True).start()
    except RuntimeError:  # there are as many threads as there may be
        return ask()
    return await told


def install():
    loop = selector_events.BaseSelectorEventLoop
    loop._make_self_pipe = _no_self_pipe
    loop._close_self_pipe = _nothing
    loop._write_to_self = _wake
    loop._make_ssl_transport = _make_tls_transport
    base_events.BaseEventLoop.getaddrinfo = _getaddrinfo
    selectors.DefaultSelector = getattr(selectors, "PollSelector", selectors.SelectSelector)


_own = None


def session_loop():
    """The loop of a session: what its tasks live in from one execution to the next."""
    global _own
    if _own is None or _own.is_closed():
        _own = asyncio.new_event_loop()
    return _own
