"""Prepares the interpreter for its boot image. Run once, by the first turn of a fresh instance; the memory after it is the image."""
import builtins
import gc
import sys

LIBRARY = "/usr/lib/python3.15"
_BUILT_AS = "/usr/local/lib/python315.zip"

# What most programs import, or what this runtime needs: imported here it costs a start nothing.
COMMON = """
    abc argparse array ast asyncio base64 bisect calendar cmath codecs collections collections.abc concurrent.futures
    contextlib contextvars copy csv dataclasses datetime decimal difflib email.message enum errno fnmatch fractions functools
    getopt getpass glob gzip hashlib heapq hmac html html.parser importlib importlib.metadata importlib.resources
    importlib.util inspect io ipaddress itertools json keyword linecache locale logging math mimetypes numbers operator os
    os.path pathlib pickle pip._cli pip._install pip._show pkgutil platform posixpath pprint queue random re reprlib runpy sched secrets select selectors
    shlex shutil signal site socket sqlite3 statistics stat string struct subprocess sysconfig tempfile textwrap threading
    time timeit token tokenize tomllib traceback types typing unicodedata unittest urllib.error urllib.parse
    urllib.request uuid warnings weakref xml.etree.ElementTree zipfile zlib zoneinfo
""".split()


def build(modules=""):
    """`modules`: of packages, to import beside the common ones."""
    _identity()
    _relocate()
    import _waits
    _waits.measure_stack()
    from ..host import cpu_time, linux_calls, linux_errors, locales, posix_calls, state, time_formats, time_zone
    from ..processes import posix_processes
    linux_errors.install()
    posix_calls.install()
    cpu_time.install()
    locales.install()
    time_formats.install()
    time_zone.install()
    posix_processes.install()
    linux_calls.install()
    _replace_sockets()
    from ..libraries import databases, figures, flat_indices, floats, former_names, imports, integers, joins, keys, parallel, ranges, saved_indices, seeds, sizes, trees
    from ..pictures import install as pictures
    from ..processes import fault_dumps, pseudo_terminals, shared_values, signal_calls, trip
    from ..programs import outer_frames, shadows, streams
    from ..sockets import loop, loop_signals, polling
    from ..threads import library as threads
    trip.learn()
    from ..sessions import interrupts
    from . import start
    interrupts.install()
    signal_calls.install()
    import site
    site.ENABLE_USER_SITE = True
    site.PREFIXES = ["/usr"]
    site.setquit()
    site.setcopyright()
    site.sethelper()
    streams.open_streams(False)
    imports.install()
    threads.install()
    for name in COMMON:
        __import__(name)
    outer_frames.install()
    figures.install()
    pseudo_terminals.install()
    fault_dumps.install()
    shared_values.install()
    integers.install()
    trees.install()
    saved_indices.install()
    joins.install()
    sizes.install()
    flat_indices.install()
    floats.install()
    parallel.install()
    ranges.install()
    seeds.install()
    former_names.install()
    keys.install()
    databases.install()
    pictures.install()
    polling.install()  # packages start programs, and wait for them
    _import_packages(modules.split())
    pictures.prepare()
    loop.install()
    loop_signals.install()
    _adapt()
    shadows.learn()
    _quiet()
    state.image_modules = frozenset(sys.modules)
    _without_ends(_rehearse, start)
    state.image_modules = frozenset(sys.modules)
    state.modules_at_start = len(sys.modules)
    _take_turns(start)
    sys.last_exc = None
    sys.stdin = sys.stdout = sys.stderr = sys.__stdin__ = sys.__stdout__ = sys.__stderr__ = None
    for _ in range(3):
        gc.collect()
    _make_immortal()
    gc.collect()
    gc.freeze()
    _fill_gaps()


def _fill_gaps():
    """Programs then take their memory from its end, side by side, and not from gaps between what the image holds, each in a page that
    every start would have to write."""
    from ..host import state
    blocks = state.gaps = [None] * 65536
    large = bytes(4 << 20)
    end = id(large)  # of all that there is
    del large
    count = 0
    # The largest first, since what is left of a gap is one too. Below a size of 2 there are no bytes of their own, but objects.
    for size in [*(1 << power for power in range(20, 10, -1)), *range(1008, 1, -8), 0]:
        while count < len(blocks):
            blocks[count] = bytes(size) if size else object()
            if id(blocks[count]) >= end:
                blocks[count] = None
                break
            count += 1
    del blocks[count:]


def _replace_sockets():
    """The interpreter has a module `_socket` of its own, which knows WASI's sockets only."""
    from importlib.machinery import SourceFileLoader
    from importlib.util import module_from_spec, spec_from_loader
    loader = SourceFileLoader("_socket", LIBRARY + "/_socket.py")
    module = module_from_spec(spec_from_loader("_socket", loader))
    loader.exec_module(module)
    sys.modules["_socket"] = module
    if (old := sys.modules.get("socket")) is not None:
        # In place, for those who have it already.
        import importlib
        for name in [name for name in vars(old) if not name.startswith("__")]:
            delattr(old, name)
        importlib.reload(old)


def _import_packages(modules):
    """One that cannot be imported is left to the program that wants it."""
    if modules:
        from ..programs import program
        sys.path.append(program.SITE)
        for name in modules:
            try:
                __import__(name)
            except Exception as error:
                print(f"{name} is not in the image: {error!r}", file=sys.stderr)
        from ..libraries import figures
        figures.forget()


def _without_ends(function, *args):
    """Calls a function that ends programs: what modules of the image do at the end of a program is left to the programs that come."""
    import atexit
    import threading
    ends, run = threading._threading_atexits, atexit._run_exitfuncs
    threading._threading_atexits, atexit._run_exitfuncs = [], lambda: None
    function(*args)
    threading._threading_atexits, atexit._run_exitfuncs = ends, run


def _rehearse(start):
    """Starts and ends some programs, so that the code on the way is specialised already: what a process need not write it shares."""
    import os
    programs = ("print(1)", "import json, re, os\nprint(json.dumps({'a': [1, 2.5, None]}), re.sub('a', 'b', 'aa'), os.getcwd())",
                "class A:\n    def f(self, x): return [x * i for i in range(10)]\nprint(sum(A().f(2)))")
    environment = [b"HOME=/workspace", b"PATH=/usr/local/bin:/usr/bin:/bin", b"LANG=C.UTF-8", b"TZ=UTC"]

    def begin(kind, *argv):
        numbers = kind + b"1 1 1000 1000 %d %d" % (len(argv), len(environment))
        start.enter(b"\0".join([numbers, b"/", b"cloche", b"/usr/bin/python3", *argv, *environment]) + b"\0")

    for i in range(24):
        begin(b"P", b"python3", b"-c", programs[i % len(programs)].encode())
    _rehearse_sessions(start, begin, programs)
    for name in list(os.environ):
        del os.environ[name]
    for path in list(sys.path_importer_cache):
        if not path.startswith(LIBRARY) or "site-packages" in path:
            del sys.path_importer_cache[path]
    sys.path[:] = [LIBRARY]
    sys.argv = [""]
    import linecache
    linecache.clearcache()


def _rehearse_sessions(start, begin, programs):
    """The same for code that runs call after call, and for forks."""
    import linecache
    from ..host import state
    from ..sessions import session
    for _ in range(8):
        begin(b"S", b"python3")
        for text in (*programs, "x = 1\nx"):
            start.enter(b"X" + text.encode())
        begin(b"F", b"python3")
        gc.unfreeze()
    session._count = state.turns = 0
    linecache._interactive_cache.clear()


def _make_immortal():
    """No process counts references to what the image holds, so pages that hold only such objects stay shared. The host writes
    the counts; where it does not know the request, nothing changes."""
    import _host
    from array import array
    from types import CodeType, FrameType
    found = gc.get_objects()
    seen = set()
    addresses = array("I")
    while found:
        value = found.pop()
        address = id(value)
        if address in seen or type(value) is FrameType or value is found or value is seen or value is addresses:
            continue
        seen.add(address)
        addresses.append(address)
        if type(value) is CodeType:
            found += (value.co_consts, value.co_names, value.co_filename, value.co_name, value.co_qualname, value.co_linetable,
                      value.co_exceptiontable)
        else:
            found += gc.get_referents(value)
    del found, seen
    for at in range(0, len(addresses), 4096):
        frame = bytearray(b"imm0")
        frame += addresses[at:at + 4096].tobytes()
        try:
            _host.call(frame)
        except OSError:
            return


# Modules that userland/python/extensions.py, its extensions.toml and rust/packages.toml have put beside those that the interpreter was built with.
EXTENSIONS = ("_casts", "_curses", "_curses_panel", "_decimal", "_floats", "_scrypt", "_waits", "_zstd",
              "bcrypt._bcrypt", "cryptography.hazmat.bindings._rust", "jiter.jiter", "orjson.orjson", "ormsgpack.ormsgpack",
              "pydantic_core._pydantic_core", "rpds.rpds", "tiktoken._tiktoken", "uuid_utils._uuid_utils", "xxhash._xxhash", "zstandard.backend_c")


def _identity():
    sys.builtin_module_names = tuple(sorted({*sys.builtin_module_names, *EXTENSIONS}))
    sys.platform = "linux"
    sys.prefix = sys.exec_prefix = sys.base_prefix = sys.base_exec_prefix = "/usr"
    sys.executable = sys._base_executable = "/usr/bin/python3"
    sys.path[:] = [LIBRARY]
    sys.platlibdir = "lib"
    sys._stdlib_dir = LIBRARY
    sys.dont_write_bytecode = True
    sys.implementation._multiarch = "wasm32-linux"
    from ..programs.options import Options
    sys.flags = Options().flags()
    import zipimport
    sys.path_importer_cache.clear()
    zipimport._zip_directory_cache.clear()
    sys.modules.pop("_zip_directory", None)


def _moved(name):
    return LIBRARY + name.removeprefix(_BUILT_AS) if isinstance(name, str) and name.startswith(_BUILT_AS) else name


def _relocate():
    """What the interpreter had imported from its own zip is told to come from the library's folder."""
    import _imp
    from _frozen_importlib_external import SourceFileLoader, SourcelessFileLoader, _path_isfile
    gc.unfreeze()
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if not (file or "").startswith(_BUILT_AS):
            continue
        source = _moved(file).removesuffix("c")  # a frozen one has the name of its source
        has_text = _path_isfile(source)
        module.__file__ = source if has_text else source + "c"
        loader = (SourceFileLoader if has_text else SourcelessFileLoader)(module.__name__, module.__file__)
        module.__loader__ = loader
        if hasattr(module, "__path__"):
            module.__path__ = [_moved(folder) for folder in module.__path__]
        spec = module.__spec__
        spec.loader, spec.origin = loader, module.__file__
        spec.has_location = True
        spec._cached = None  # found when it is asked for
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations = list(module.__path__)
    function = type(_moved)
    for value in gc.get_objects():
        if type(value) is function:
            code = value.__code__
            if code.co_filename.startswith(_BUILT_AS):
                _imp._fix_co_filename(code, _moved(code.co_filename).removesuffix("c"))


def _adapt():
    """Where the library asks which platform this is, and the answer here is another than its guess."""
    import asyncio
    import locale
    import os
    import platform
    import subprocess
    import sysconfig
    import tempfile
    # As it would have them had it been imported after os had Linux's.
    tempfile._text_openflags = tempfile._bin_openflags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    platform._uname_cache = None
    # Built without fork: what it finds now exists.
    subprocess._USE_VFORK = False
    subprocess._USE_POSIX_SPAWN = False
    sysconfig._INSTALL_SCHEMES["posix_prefix"].update(
        stdlib=LIBRARY, platstdlib=LIBRARY, purelib=LIBRARY + "/site-packages", platlib=LIBRARY + "/site-packages")
    os.environ._data.clear()
    os.defpath = "/usr/local/bin:/usr/bin:/bin"
    platform.libc_ver = lambda *_, **__: ("musl", "1.2.5")
    locale.setlocale(locale.LC_CTYPE, "C.UTF-8")
    for name, module in list(sys.modules.items()):
        if name.startswith("asyncio."):  # what its modules have since there are Unix sockets
            for public in getattr(module, "__all__", ()):
                vars(asyncio).setdefault(public, getattr(module, public))


def _quiet():
    import warnings
    warnings.resetwarnings()
    for action, category, module in (("default", DeprecationWarning, "__main__"), ("ignore", DeprecationWarning, ""),
                                     ("ignore", PendingDeprecationWarning, ""), ("ignore", ImportWarning, ""),
                                     ("ignore", ResourceWarning, "")):
        warnings.filterwarnings(action, category=category, module=module, append=True)


def _take_turns(start):
    """From here on the interpreter's `turn` export calls start.enter and nothing else."""
    import _reactor

    def turn(source, environ):
        return _cloche_enter(source)  # noqa: F821 (a global of the reactor's module)

    _reactor._cloche_enter = start.enter
    _reactor.turn.__code__ = turn.__code__
    builtins.__dict__.pop("_", None)
