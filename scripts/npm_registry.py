# SPDX-License-Identifier: Apache-2.0
"""An archive of an npm registry, without npm: Debian's brings 350 packages with it, more than half of all that a fresh machine would
install, and a build wants four archives.

The registry is the one that npm's settings name: `registry`, `@scope:registry`, `cafile`, and for its address `_authToken`, `_auth`
or `username` and `_password`, from the environment (npm_config_...), the user's .npmrc (NPM_CONFIG_USERCONFIG) and /etc/npmrc, in
this order; proxies come from the environment. What is read is for the caller to check against a hash of its own.
"""
import base64
import json
import os
import re
import ssl
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

DEFAULT_REGISTRY = "https://registry." + "npmjs." + "org/"
PATIENCE_S = 60
TRIES = 3
ARCHIVE_MAX_BYTES = 256 << 20
DESCRIPTION_MAX_BYTES = 16 << 20


class Unavailable(Exception):
    """The archive cannot be had; its message says why."""


def settings() -> dict[str, str]:
    found = {}
    user = os.environ.get("NPM_CONFIG_USERCONFIG") or os.environ.get("npm_config_userconfig") or os.path.expanduser("~/.npmrc")
    for path in ("/etc/npmrc", user):
        try:
            text = Path(path).read_text(errors="replace")
        except OSError:
            continue
        for line in text.splitlines():
            name, equals, value = line.strip().partition("=")
            if equals and not name.startswith((";", "#")):
                value = re.sub(r"\$\{(\w+)\}", lambda word: os.environ.get(word[1], word[0]), value.strip())
                found[name.strip()] = value.strip("\"'")
    for name, value in os.environ.items():
        if name.lower().startswith("npm_config_") and value:
            found[name[len("npm_config_"):].lower()] = value
    return found


def registry_of(package: str, said: dict[str, str]) -> str:
    scope = package.partition("/")[0] if package.startswith("@") else ""
    address = said.get(f"{scope}:registry") or said.get("registry") or DEFAULT_REGISTRY
    return address if address.endswith("/") else address + "/"


def credentials(address: str, said: dict[str, str]) -> str | None:
    """What the settings name for `address` or a folder above it; npm names them without the scheme."""
    place = "//" + address.partition("://")[2].partition("?")[0]
    while len(place) > 2:
        for name in (place, place.rstrip("/")):
            if token := said.get(f"{name}:_authToken"):
                return f"Bearer {token}"
            if pair := said.get(f"{name}:_auth"):
                return f"Basic {pair}"
            if (user := said.get(f"{name}:username")) and (password := said.get(f"{name}:_password")):
                clear = base64.b64decode(password).decode(errors="replace")
                return "Basic " + base64.b64encode(f"{user}:{clear}".encode()).decode()
        place = place.rstrip("/").rpartition("/")[0] + "/" if place.count("/") > 2 else ""
    return None


def read(address: str, said: dict[str, str], limit: int) -> bytes:
    if not address.startswith(("https://", "http://")):
        raise Unavailable(f"{address} is no address of a registry")
    request = urllib.request.Request(address, headers={"Accept": "*/*"})
    if word := credentials(address, said):
        request.add_unredirected_header("Authorization", word)  # another host is not told
    context = ssl.create_default_context(cafile=said.get("cafile") or None)
    if said.get("cafile"):
        context.load_default_certs()
    opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context))
    for left in reversed(range(TRIES)):
        try:
            with opener.open(request, timeout=PATIENCE_S) as answer:
                data = answer.read(limit + 1)
            if len(data) > limit:
                raise Unavailable(f"{address} is larger than {limit >> 20} MB")
            return data
        except urllib.error.HTTPError as error:
            if error.code < 500 or not left:
                raise Unavailable(f"{address}: {error.code} {error.reason}") from None
        except OSError as error:  # URLError too
            if not left:
                raise Unavailable(f"{address}: {getattr(error, 'reason', error)}") from None
    raise AssertionError("not reached")


def archive(package: str, version: str) -> bytes:
    """The .tgz of one version; raises Unavailable."""
    try:
        said = settings()
        quoted = urllib.parse.quote(package, safe="@")
        described = read(f"{registry_of(package, said)}{quoted}/{version}", said, DESCRIPTION_MAX_BYTES)
        return read(json.loads(described)["dist"]["tarball"], said, ARCHIVE_MAX_BYTES)
    except (KeyError, TypeError, ValueError) as error:
        raise Unavailable(f"the registry's description of {package} {version} names no archive ({error})") from None
