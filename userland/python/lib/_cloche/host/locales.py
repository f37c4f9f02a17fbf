"""Names of locales. The system has C, POSIX and C.UTF-8, which differ in nothing but the category of characters; the C library takes any
name."""
import os
import sys

import _locale

_KNOWN = {"C": "C", "POSIX": "C", "C.UTF-8": "C.UTF-8", "C.utf8": "C.utf8"}
# In the order of glibc's names of several; those without a number here change with all of them only.
_CATEGORIES = {"LC_CTYPE": 0, "LC_NUMERIC": 1, "LC_TIME": 2, "LC_COLLATE": 3, "LC_MONETARY": 4, "LC_MESSAGES": 5, "LC_PAPER": None,
               "LC_NAME": None, "LC_ADDRESS": None, "LC_TELEPHONE": None, "LC_MEASUREMENT": None, "LC_IDENTIFICATION": None}
_ALL = 6
_names = dict.fromkeys(_CATEGORIES, "C") | {"LC_CTYPE": "C.UTF-8"}
_real = _locale.setlocale


def setlocale(category, locale=None, /):
    """_locale.setlocale, for the names that the system has."""
    wanted = [name for name, number in _CATEGORIES.items() if category in (_ALL, number)]
    if locale is None or not wanted:
        _real(category, locale)  # what it says of a number that is none
        return _told(wanted)
    if not isinstance(locale, str) or "\0" in locale:
        return _real(category, locale)
    found = _parsed(locale) if ";" in locale and category == _ALL else dict.fromkeys(wanted, locale)
    try:
        chosen = {name: _KNOWN[found[name] or _of_environment(name)] for name in wanted}
    except KeyError:
        raise _locale.Error("unsupported locale setting") from None
    if "LC_CTYPE" in chosen:
        _real(_CATEGORIES["LC_CTYPE"], "C.UTF-8" if chosen["LC_CTYPE"] != "C" else "C")
    _names.update(chosen)
    return _told(wanted)


def _parsed(locale):
    return dict(part.split("=", 1) for part in locale.split(";") if "=" in part)


def _of_environment(category):
    return next((value for name in ("LC_ALL", category, "LANG") if (value := os.environ.get(name))), "C")


def _told(categories):
    names = [_names[name] for name in categories]
    return names[0] if len(set(names)) == 1 else ";".join(map("=".join, zip(categories, names)))


def install():
    _locale.setlocale = setlocale
    if "locale" in sys.modules:
        sys.modules["locale"]._setlocale = setlocale
