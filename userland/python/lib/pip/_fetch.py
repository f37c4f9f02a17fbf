"""What comes over the network: pages of indexes and files, each kept in the cache folder (~/.cache/pip).

The guest's own sockets and TLS are used, so the sandbox's network policy decides. Pages are asked for again with what the
server gave to compare them by; files are kept under their SHA-256, and by the host for other sandboxes too (_host_cache.py).
"""
import base64
import errno
import hashlib
import http.client
import json
import os
import ssl
import time
import urllib.parse
import zlib

from . import _host_cache
from ._errors import PipError
from ._hashes import check_named

CHUNK_BYTES = 1 << 17
MAX_TEXT_BYTES = 16 << 20
MAX_REDIRECTS = 10
MAX_CONNECTIONS = 8
FRESH_S = 600  # a page of this age is taken without asking, unless the server said otherwise
_AGAIN = {408, 429, 500, 502, 503, 504}


class FetchError(PipError):
    """`status`: the server's; `refused`: by the sandbox's network policy."""

    def __init__(self, text, status=0, refused=False):
        super().__init__(text)
        self.http_status, self.refused = status, refused


class Reply:
    """A page: its address after all redirections, its kind (content type), its text."""

    def __init__(self, url, kind, text):
        self.url, self.kind, self.text = url, kind, text


class Fetcher:
    def __init__(self, cache, timeout_s=15.0, retries=3, say=None):
        """`cache`: a folder, or None for no cache; `say` is told what is fetched."""
        self.cache, self.timeout_s, self.retries, self.say = cache, timeout_s, retries, say or (lambda text: None)
        self._connections = {}  # (scheme, host, port) -> one that may be asked again
        self._at = ""  # what is being asked, for errors

    def page(self, url, accept, limit=MAX_TEXT_BYTES):
        place = self._place("pages", hashlib.sha256(f"{accept}\n{url}".encode()).hexdigest())
        known = self._read_page(place)
        if known and 0 <= time.time() - known["at"] < known["fresh_s"]:
            return Reply(known["url"], known["kind"], known["text"])
        headers = {"Accept": accept, "Accept-Encoding": "gzip"}
        if known and known["tag"]:
            headers["If-None-Match"] = known["tag"]
        try:
            with self._open(url, headers) as reply:
                body = _body(reply, limit, url)
                kind = reply.headers.get_content_type()
                text = body.decode(reply.headers.get_content_charset() or "utf-8", "replace")
                known = {"url": _plain(reply.url), "kind": kind, "text": text, "tag": reply.headers.get("ETag", ""), "at": time.time(),
                         "fresh_s": _fresh_s(reply.headers)}
        except FetchError as error:
            if error.http_status != 304:
                raise
            known["at"] = time.time()
        self._keep(place, json.dumps(known).encode())
        return Reply(known["url"], known["kind"], known["text"])

    def text(self, url, hashes):
        """A small text, checked against its hashes when there are some."""
        place = self._place("texts", hashes["sha256"]) if _is_sha256(hashes.get("sha256")) else None
        body = self._read(place)
        if body is None or hashlib.sha256(body).hexdigest() != hashes["sha256"]:
            with self._open(url, {"Accept-Encoding": "gzip"}) as reply:
                body = _body(reply, MAX_TEXT_BYTES, url)
            check_named(hashes, lambda kind: hashlib.new(kind, body).hexdigest(), url)
            self._keep(place, body)
        return body.decode("utf-8", "replace")

    def file(self, link):
        """The path of the file, complete and with the hash that its link has."""
        digest = link.hashes.get("sha256", "").lower()
        place = self._place("files", f"{digest}/{link.file_name}") if _is_sha256(digest) else None
        if place and os.path.isfile(place):
            with open(place, "rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() == digest:
                    self.say(f"  Using cached {link.file_name}")
                    return place
        if place is None:
            import tempfile
            place = os.path.join(tempfile.mkdtemp(prefix="pip-"), link.file_name)
        try:
            try:
                self._fetch(link, digest, place)
            except OSError as error:
                if not self.makes_room_for(error):
                    raise
                self._fetch(link, digest, place)
        except OSError as error:
            raise PipError(f"Could not keep {link.file_name}: {error}") from None
        return place

    def _fetch(self, link, digest, place):
        os.makedirs(os.path.dirname(place), exist_ok=True)
        shared = bool(self.cache) and _is_sha256(digest) and _host_cache.is_public(link.url)
        partial = f"{place}.{os.getpid()}.part"
        try:
            if shared and self._found_at_host(link, digest, partial):
                self.say(f"  Using cached {link.file_name}")
            else:
                self.say(f"  Downloading {link.file_name}")
                with self._open(link.url, {}) as reply, open(partial, "wb") as out:
                    with _host_cache.Keeping(reply.descriptor, link, _length(reply) if shared and reply.url == link.url else 0) as keeping:
                        _copy(reply, out, link.url, keeping.write)
                with open(partial, "rb") as file:
                    check_named(link.hashes, lambda kind: hashlib.file_digest(_rewound(file), kind).hexdigest(), link.file_name)
            os.replace(partial, place)
        finally:
            if os.path.exists(partial):
                os.unlink(partial)

    def makes_room_for(self, error):
        """Whether it was a lack of room, and the cache had files, which are gone now. Who wants one of them again fetches it again."""
        removed = False
        self._drop()  # of a file that was being fetched the rest is still to come
        if error.errno in (errno.ENOSPC, errno.EDQUOT) and self.cache:
            for folder, _, names in os.walk(os.path.join(self.cache, "cloche", "files")):
                for name in names:
                    os.unlink(os.path.join(folder, name))
                    removed = True
        return removed

    def _found_at_host(self, link, digest, partial):
        """Whether the host had the file, which is at `partial` then. One that came to harm is fetched anew, and takes its place."""
        parts = urllib.parse.urlsplit(link.url)
        key = (parts.scheme, parts.hostname, parts.port)
        try:
            connection = self._connections.get(key) or _connect(parts, self.timeout_s)
            connection.sock or connection.connect()
            self._connections.setdefault(key, connection)
            kept = _host_cache.find(connection.sock.fileno(), link)
        except (OSError, http.client.HTTPException):
            return False  # whoever fetches it says why
        if kept is None:
            return False
        with kept, open(partial, "wb+") as out:
            while chunk := kept.read(CHUNK_BYTES):
                out.write(chunk)
            return hashlib.file_digest(_rewound(out), "sha256").hexdigest() == digest

    def _open(self, url, headers):
        """The reply, of status 200."""
        for left in range(self.retries, -1, -1):
            try:
                reply = self._follow(url, headers)
                if reply.status == 200:
                    return reply
                if len(reply.read(CHUNK_BYTES)) == CHUNK_BYTES:
                    self._drop()  # what is left of it would be in the way of the next reply
                if reply.status not in _AGAIN or not left:
                    raise FetchError(f"{_plain(url)} answered {reply.status} {reply.reason}", reply.status)
                reply.close()
            except (OSError, http.client.HTTPException) as error:
                self._drop()
                problem = _explained(error, urllib.parse.urlsplit(self._at))
                if problem.refused or not left:
                    raise problem from None
            time.sleep(min(0.25 * 2 ** (self.retries - left), 4))
        raise AssertionError("unreachable")

    def _follow(self, url, headers):
        """Through redirections. A name and password go to the host of the address that has them, and to no other."""
        origin = urllib.parse.urlsplit(url)
        for _ in range(MAX_REDIRECTS):
            parts = urllib.parse.urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise PipError(f"{_plain(url)}: only http and https can be fetched")
            own = parts if parts.username else origin
            sent = {"User-Agent": "pip (cloche)", **headers}
            if own.username and (own.scheme, own.hostname, own.port) == (parts.scheme, parts.hostname, parts.port):
                words = f"{urllib.parse.unquote(own.username)}:{urllib.parse.unquote(own.password or '')}"
                sent["Authorization"] = "Basic " + base64.b64encode(words.encode()).decode()
            self._at = url
            reply = self._ask(parts, sent)
            reply.url = url
            place = reply.headers.get("Location")
            if reply.status not in (301, 302, 303, 307, 308) or not place:
                return reply
            reply.read(CHUNK_BYTES)
            url = urllib.parse.urljoin(url, place)
        raise FetchError(f"{_plain(url)}: too many redirections")

    def _ask(self, parts, headers):
        """On the connection to that host that is there, or on a new one. An idle one that the server has closed meanwhile is no error."""
        key = (parts.scheme, parts.hostname, parts.port)
        target = urllib.parse.quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe="/%?&=+:@!$'()*,;~-._")
        for fresh in (False, True):
            connection = None if fresh else self._connections.pop(key, None)
            if connection is None:
                connection, fresh = _connect(parts, self.timeout_s), True
            try:
                connection.request("GET", target, headers=headers)
                descriptor = connection.sock.fileno()
                reply = connection.getresponse()
                reply.descriptor = descriptor  # open as long as the reply is
            except (http.client.RemoteDisconnected, ConnectionError):
                connection.close()
                if fresh:
                    raise
                continue
            if len(self._connections) < MAX_CONNECTIONS:
                self._connections[key] = connection
            return reply
        raise AssertionError("unreachable")

    def _drop(self):
        """After a failure no connection is trusted."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def _place(self, kind, name):
        return os.path.join(self.cache, "cloche", kind, name[:2], name) if self.cache else None

    def _read(self, place):
        try:
            with open(place, "rb") as file:
                return file.read()
        except (OSError, TypeError):
            return None

    def _read_page(self, place):
        try:
            known = json.loads(self._read(place) or b"null")
            return known if known and {"url", "kind", "text", "tag", "at", "fresh_s"} <= known.keys() else None
        except (ValueError, AttributeError):
            return None

    def _keep(self, place, content):
        """A cache that cannot be written to is no error."""
        if place is None:
            return
        try:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(f"{place}.{os.getpid()}", "wb") as file:
                file.write(content)
            os.replace(file.name, place)
        except OSError:
            pass


def _connect(parts, timeout_s):
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return kind(parts.hostname, parts.port, timeout=timeout_s)


def _length(reply):
    """What it says of its length; 0: nothing."""
    text = reply.headers.get("Content-Length", "")
    return int(text) if text.isdigit() and not reply.headers.get("Content-Encoding") else 0


def _is_sha256(text):
    return bool(text) and len(text) == 64 and all(letter in "0123456789abcdef" for letter in text.lower())


def _rewound(file):
    file.seek(0)
    return file


def _plain(url):
    """Without the name and password that it may have."""
    parts = urllib.parse.urlsplit(url)
    return urllib.parse.urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment=""))


def _fresh_s(headers):
    for word in headers.get("Cache-Control", "").lower().replace(" ", "").split(","):
        if word in ("no-store", "no-cache"):
            return 0
        if word.startswith("max-age=") and word[8:].isdigit():
            return min(int(word[8:]), FRESH_S)
    return 0


def _body(reply, limit, url):
    """What the server sent, unpacked; never more than `limit` bytes."""
    unpack = zlib.decompressobj(31) if reply.headers.get("Content-Encoding", "").lower() == "gzip" else None
    parts, size = [], 0
    try:
        while chunk := reply.read(CHUNK_BYTES):
            while chunk:
                part = unpack.decompress(chunk, CHUNK_BYTES) if unpack else chunk
                chunk = unpack.unconsumed_tail if unpack else b""
                size += len(part)
                if size > limit:
                    raise FetchError(f"{_plain(url)} is larger than {limit >> 20} MiB")
                parts.append(part)
    except (OSError, http.client.HTTPException, zlib.error) as error:
        raise _explained(error, urllib.parse.urlsplit(url)) from None
    return b"".join(parts)


def _copy(reply, out, url, also):
    while True:
        try:
            chunk = reply.read(CHUNK_BYTES)
        except (OSError, http.client.HTTPException) as error:
            raise _explained(error, urllib.parse.urlsplit(url)) from None
        if not chunk:
            break
        out.write(chunk)
        also(chunk)
    wanted = reply.headers.get("Content-Length", "")
    if wanted.isdigit() and out.tell() != int(wanted):
        raise FetchError(f"{_plain(url)}: {out.tell()} of {wanted} bytes came")


def _explained(error, parts):
    """One sentence of why a host cannot be reached."""
    text = str(error) or type(error).__name__
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if "this sandbox has no network" in text:  # the words of our own resolver (_cloche/names.py)
        return FetchError(f"this sandbox has no network, so {parts.hostname} was not asked", refused=True)
    if getattr(error, "errno", None) == errno.EACCES or "network policy" in text:
        return FetchError(f"the network policy of this sandbox does not allow {parts.hostname}:{port}", refused=True)
    if isinstance(error, TimeoutError):
        text = "it did not answer in time"
    elif isinstance(error, ssl.SSLError):
        text = f"TLS: {text}"
    return FetchError(f"{parts.hostname}:{port} cannot be reached: {text}")
