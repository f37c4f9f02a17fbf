"""What pip is told beside its command line: PIP_* of the environment, and pip.conf (the system's, the user's, the virtual
environment's, $PIP_CONFIG_FILE's), in pip's own order. A word on the command line wins over all of them.
"""
import configparser
import json
import os
import sys

from ._errors import PipError

_TEXTS = ("index_url", "cache_dir", "timeout", "retries", "target")
_LISTS = ("extra_index_url", "find_links", "constraint", "requirement")
_SWITCHES = ("no_index", "no_cache_dir", "pre", "require_hashes", "no_deps", "user")
_DEFAULTS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "_cloche", "index.json")


def files():
    """Those that there may be, the last one wins."""
    home = os.path.expanduser("~")
    own = os.path.join(os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "pip", "pip.conf")
    found = ["/etc/pip.conf", os.path.join(home, ".pip", "pip.conf"), own]
    if sys.prefix != sys.base_prefix:
        found.append(os.path.join(sys.prefix, "pip.conf"))
    if chosen := os.environ.get("PIP_CONFIG_FILE"):
        found = [] if chosen == os.devnull else [*found, chosen]
    return found


def usual_index():
    """The index that pip asks when nobody names one; None where the build was told of none."""
    try:
        with open(_DEFAULTS, encoding="utf-8") as file:
            return json.load(file)["url"]
    except (OSError, ValueError, KeyError):
        return None


def defaults(command):
    """Option -> value, of what is set somewhere."""
    values = {}
    for path in files():
        parser = configparser.RawConfigParser()
        try:
            with open(path, encoding="utf-8") as file:
                parser.read_file(file)
        except OSError:
            continue
        except (configparser.Error, UnicodeDecodeError) as error:
            raise PipError(f"{path} is no configuration file: {str(error).splitlines()[0]}") from None
        for section in ("global", command):
            if parser.has_section(section):
                values.update({name.replace("-", "_"): text for name, text in parser.items(section)})
    for name, text in os.environ.items():
        if name.startswith("PIP_") and text:
            values[name[4:].lower()] = text
    if "default_timeout" in values:
        values.setdefault("timeout", values["default_timeout"])
    found = {name: values[name] for name in _TEXTS if values.get(name)}
    found.update({name: values[name].split() for name in _LISTS if values.get(name)})
    found.update({name: _truth(name, values[name]) for name in _SWITCHES if name in values})
    return found


def _truth(name, text):
    word = text.strip().lower()
    if word in ("1", "y", "yes", "t", "true", "on"):
        return True
    if word in ("", "0", "n", "no", "f", "false", "off"):
        return False
    raise PipError(f"{text} is not a valid value for {name.replace('_', '-')} option, please specify a boolean value like yes/no, true/false or 1/0.")


def number(name, text, least):
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not least <= value <= 100000:
        raise PipError(f"--{name}: {text!r} is not a number of at least {least:g}")
    return value


def fetcher(options):
    """What brings pages and files, as the options say."""
    from ._fetch import Fetcher
    cache = None
    if not options.no_cache_dir and options.cache_dir != "false":
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        cache = os.path.abspath(os.path.expanduser(options.cache_dir or os.path.join(home, "pip")))
    return Fetcher(cache, number("timeout", options.timeout, 0.001), int(number("retries", options.retries, 0)),
                   None if options.quiet else print)


def indexes(options, fetch, of_files=()):
    """The indexes to ask, in order; `of_files`: addresses that requirements files set, the first one in place of the usual."""
    from ._index import Index
    first = options.index_url or usual_index()
    urls = [(of_files[0] if of_files and of_files[0] else first), *options.extra_index_url, *of_files[1:]]
    found = []
    for url in dict.fromkeys(url for url in urls if url):
        if not url.startswith(("http://", "https://")):
            raise PipError(f"{url!r} is not the address of an index: it begins with http:// or https://")
        found.append(Index(url, fetch))
    return found


def places(options):
    """Where distributions are sought, as words of a command line."""
    words = [word for url in options.extra_index_url for word in ("--extra-index-url", url)]
    words += [word for place in options.find_links for word in ("--find-links", os.path.abspath(place) if os.path.exists(place) else place)]
    if options.index_url:
        words += ["--index-url", options.index_url]
    if options.no_index:
        words.append("--no-index")
    if options.no_cache_dir:
        words.append("--no-cache-dir")
    elif options.cache_dir:
        words += ["--cache-dir", os.path.abspath(os.path.expanduser(options.cache_dir))]
    return [*words, "--timeout", str(options.timeout), "--retries", str(options.retries)]
