"""The last word of the import system: what could be installed, and how."""
import os
import sys
from importlib.machinery import ModuleSpec

from . import native_packages

CATALOGUE = "/usr/lib/python/.catalogue"  # lines: import name, distribution
_names = None


def catalogue():
    """Import name -> distribution, of everything that `pip install` finds in this build."""
    global _names
    if _names is None:
        try:
            with open(CATALOGUE, encoding="utf-8") as file:
                _names = dict(line.split() for line in file)
        except OSError:
            _names = {}
    return _names


class Hint:
    """Comes last on sys.meta_path: the failure of an import statement names the command that installs the module."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if "." in name:
            return None
        distribution = catalogue().get(name)
        instead = native_packages.BY_IMPORT.get(name)
        if distribution is None and instead is None:
            return None
        caller = sys._getframe(1)
        while caller is not None and caller.f_code.co_name == "_find_spec":
            caller = caller.f_back
        if caller is None or caller.f_code.co_name != "_find_and_load_unlocked":
            return None  # importlib.util.find_spec and the like only ask
        hint = f"it is available: pip install {distribution}" if distribution else native_packages.sentence("it", instead)[:-1]
        raise ModuleNotFoundError(f"No module named {name!r} ({hint})", name=name)


class _Loader:
    """Loads as the module's own loader does, then calls our function with the module."""

    def __init__(self, loader, function):
        self._loader, self._function = loader, function

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def exec_module(self, module):
        self._loader.exec_module(module)
        module.__loader__ = module.__spec__.loader = self._loader
        self._function(module)


class _Maker:
    """Makes a module of ours: our function fills it."""

    def __init__(self, function):
        self._function = function

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        self._function(module)


class AfterImport:
    """Comes first on sys.meta_path, and speaks up for the modules that we change when they are imported, and for those that we make."""

    functions, made = {}, {}

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if (maker := cls.made.get(name)) is not None:
            return ModuleSpec(name, _Maker(maker), origin="built-in")
        function = cls.functions.get(name)
        if function is None:
            return None
        for finder in sys.meta_path:
            if finder is not cls and (spec := finder.find_spec(name, path, target)) is not None:
                break
        else:
            return None
        if spec.loader is not None:
            spec.loader = _Loader(spec.loader, function)
        return spec


def after(name, function):
    """Calls `function` with the module whenever it is imported."""
    AfterImport.functions[name] = function


def supply(name, function):
    """A module of that name is there to import: `function` fills it."""
    AfterImport.made[name] = function


def install():
    sys.meta_path.insert(0, AfterImport)
    # The import system leaves frames of its own out of such an error's traceback.
    function = Hint.__dict__["find_spec"].__func__
    function.__code__ = function.__code__.replace(co_filename="<frozen importlib._bootstrap>")
    sys.meta_path.append(Hint)
