"""Modules that a program has its own of. CPython looks into the program's folders before it looks into the library, so a `calendar.py`
beside the script is what `import calendar` means; here the image has the library's already."""
import os
import sys

from ..host import state

_LIBRARY, _LIBRARIES = "/usr/lib/python3.15/", "/usr/lib/python"
# What CPython has imported before it looks at a path, or has compiled in.
_EVER = frozenset("_collections_abc _sitebuiltins abc codecs encodings genericpath importlib io ntpath os posixpath runpy site stat".split())


def learn():
    """While the image is made."""
    names = set()
    for name, module in sys.modules.items():
        file = getattr(module, "__file__", None) or ""
        if "." not in name and file.startswith(_LIBRARY) and name not in _EVER and name != "_cloche":
            names.add(name)
    state.hidden_modules = frozenset(names)


def uncover(folders):
    """The program's folders come first on its path: what they have is imported from there."""
    for folder in folders:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        found = [name for name in names if name.removesuffix(".py") in state.hidden_modules]
        if found and not os.path.realpath(folder or ".").startswith(_LIBRARIES):
            for name in found:
                if name.endswith(".py") or os.path.isfile(f"{folder or '.'}/{name}/__init__.py"):
                    _forget(name.removesuffix(".py"))


def _forget(module):
    for name in [name for name in sys.modules if name == module or name.startswith(module + ".")]:
        del sys.modules[name]
