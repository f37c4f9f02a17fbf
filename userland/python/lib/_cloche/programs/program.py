"""Runs what a command line names in a fresh __main__, and ends as CPython ends."""
import atexit
import gc
import importlib
import io
import linecache
import os
import sys
import threading
import warnings
from _frozen_importlib_external import SourceFileLoader, SourcelessFileLoader

from .. import FOLDER
from ..host import door, state
from ..processes import trip
from ..threads import scheduler
from . import interactive, settings, shadows, streams
from .main_module import clear, exit_status, fresh_main
from .options import USAGE

LIBRARY = "/usr/lib/python3.15"
SITE = "/usr/lib/python3.15/site-packages"
_MODULE_TYPE = type(sys)
_ZIP_END, _ZIP_END_BYTES = b"PK\5\6", 22 + 65535  # what an archive ends with, and where that may begin
open_streams = streams.open_streams


def run(options):
    """Runs it; the exit status."""
    environment = {} if options.isolated or options.count("ignore_environment") else os.environ
    try:
        settings.read(options, environment)
    except settings.Refused as error:
        streams.open_streams(False)
        print(f"Fatal Python error: {error}", file=sys.stderr)
        return finish(1)
    if options.changed:
        sys.flags = options.flags()
        sys._xoptions.update(options.x_options)
    streams.open_streams(options.unbuffered or bool(environment.get("PYTHONUNBUFFERED")), environment.get("PYTHONIOENCODING"))
    settings.apply(options)
    if options.kind == "version":
        print("Python " + (sys.version if options.version_count > 1 else sys.version.split()[0]))
        return finish(0)
    if options.kind == "help":
        sys.stdout.write(USAGE.format(name=sys.orig_argv[0]))
        return finish(0)
    sys.argv = list(options.arguments)
    if options.kind == "stdin" and not options.arguments:
        sys.argv = [""]
    _set_path(options, environment)
    _set_warnings(options, environment)
    if environment.get("PYTHONBREAKPOINT"):
        sys.breakpointhook = _chosen_breakpoint
    main = fresh_main()
    status = _guarded(_RUN[options.kind], options, main)
    inspect = options.count("inspect") or environment.get("PYTHONINSPECT")  # which the program may have set
    if inspect and options.kind != "stdin":
        status = _guarded(lambda *_: _interact(options, main), options, main)
    return finish(status)


def _set_path(options, environment):
    path = []
    if not (options.safe_path or options.isolated):
        if options.kind == "script":
            path.append(os.path.dirname(os.path.realpath(options.target)))
        else:
            path.append(os.getcwd() if options.kind == "module" else "")
    own = len(path)
    path += [entry or os.getcwd() for entry in environment.get("PYTHONPATH", "").split(":") if environment.get("PYTHONPATH")]
    shadows.uncover(path)
    path.append(LIBRARY)
    if options.count("no_site"):
        sys.path[:] = path
        return
    own, path = path[:own], path[own:]
    site = sys.modules["site"]
    home = environment.get("HOME") or os.environ.get("HOME")
    site.USER_BASE = os.environ.get("PYTHONUSERBASE") or (home + "/.local" if home else None)
    site.USER_SITE = site.USER_BASE and site.USER_BASE + "/lib/python3.15/site-packages"
    site.ENABLE_USER_SITE = not (options.isolated or options.count("no_user_site"))
    folders = []
    venv = virtual_environment() if sys.prefix != "/usr" else None
    if venv is not None:
        folders.append(sys.prefix + "/lib/python3.15/site-packages")
    if venv is None or venv:
        if site.ENABLE_USER_SITE and site.USER_SITE:
            folders.append(site.USER_SITE)
        folders.append(SITE)
    sys.path[:] = path + [folder for folder in folders if folder == SITE or os.path.isdir(folder)]
    for folder in folders:
        if folder != SITE and folder in sys.path:
            _follow_pth_files(folder)
    _customize(site, [*path[:-1], *folders])
    sys.path[:0] = own


def _customize(site, folders):
    """Imports the user's sitecustomize and usercustomize, as `site` does it. The program's own folder is not on the path yet."""
    if _has_module(folders, "sitecustomize"):
        site.execsitecustomize()
    if site.ENABLE_USER_SITE and _has_module(folders, "usercustomize"):
        site.execusercustomize()


def _has_module(folders, name):
    return any(os.path.exists(f"{folder}/{name}.py") or os.path.exists(f"{folder}/{name}/__init__.py") for folder in folders)


def virtual_environment():
    """Whether the environment that sys.prefix is lets the system's packages in; None when it is none."""
    try:
        with open(sys.prefix + "/pyvenv.cfg", encoding="utf-8") as file:
            lines = [line.partition("=") for line in file]
    except OSError:
        return None
    return any(key.strip() == "include-system-site-packages" and value.strip().lower() == "true" for key, _, value in lines)


def _follow_pth_files(folder):
    for name in sorted(os.listdir(folder)):
        if name.endswith(".pth") and not name.startswith("."):
            import site
            site.addpackage(folder, name, None)


def _set_warnings(options, environment):
    filters = ["default"] * options.dev_mode + [text for text in environment.get("PYTHONWARNINGS", "").split(",") if text] + options.warnings
    if bytes_warning := options.count("bytes_warning"):
        filters.append("error::BytesWarning" if bytes_warning > 1 else "default::BytesWarning")
    if filters:
        sys.warnoptions[:] = filters
        warnings._processoptions(filters)


def _chosen_breakpoint(*arguments, **named):
    """breakpoint() where PYTHONBREAKPOINT says what it does: the interpreter's own does not look there."""
    name = os.environ.get("PYTHONBREAKPOINT", "")
    if name == "0":
        return None
    if not name:
        return sys.__breakpointhook__(*arguments, **named)
    module, _, function = name.rpartition(".")
    try:
        hook = getattr(importlib.import_module(module or "builtins"), function)
    except (AttributeError, ImportError, ValueError):
        warnings.warn(f'Ignoring unimportable $PYTHONBREAKPOINT: "{name}"', RuntimeWarning, stacklevel=2)
        return None
    return hook(*arguments, **named)


def _dedented(source):
    """Without what all its lines begin with, as CPython has taken -c since 3.14."""
    first = next((line for line in source.splitlines() if line.strip()), "")
    if first[:1] not in (" ", "\t"):
        return source
    import textwrap
    return textwrap.dedent(source)


def _run_command(options, main):
    source = _dedented(options.target)
    code = compile(source, "<string>", "exec", dont_inherit=True, optimize=_optimize(options))
    linecache._register_code(code, source, "<string>")
    exec(code, main.__dict__)


def _run_module(options, main):
    import runpy
    sys.argv[0] = "-m"
    runpy._run_module_as_main(options.target, alter_argv=True)


def _run_folder(path, options):
    """A folder or an archive with a __main__."""
    import runpy
    full = os.path.abspath(path)
    if options.safe_path or options.isolated:
        sys.path.insert(0, full)
    else:
        sys.path[0] = full
    runpy._run_module_as_main("__main__", alter_argv=False)


def _run_script(options, main):
    path = options.target
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        return _run_folder(path, options)
    main.__file__ = full = os.path.abspath(path)
    main.__cached__ = None
    try:
        with io.open_code(path) as file:
            source = file.read()
    except OSError as error:
        print(f"{sys.orig_argv[0]}: can't open file {full!r}: [Errno {error.errno}] {error.strerror}",
              file=sys.stderr)
        raise SystemExit(2) from None
    if _ZIP_END in source[-_ZIP_END_BYTES:]:
        import zipfile
        if zipfile.is_zipfile(path):
            return _run_folder(path, options)
    if path.endswith(".pyc"):
        main.__loader__ = SourcelessFileLoader("__main__", full)
        code = main.__loader__.get_code("__main__")
    else:
        if options.skip_first_line:
            source = b"\n" + source.partition(b"\n")[2]
        main.__loader__ = SourceFileLoader("__main__", full)
        code = compile(source, full, "exec", dont_inherit=True, optimize=_optimize(options))
    exec(code, main.__dict__)


def _run_stdin(options, main):
    if os.isatty(0) or options.count("inspect"):
        return _interact(options, main)
    source = sys.stdin.buffer.read()
    code = compile(source, "<stdin>", "exec", dont_inherit=True, optimize=_optimize(options))
    linecache._register_code(code, source.decode("utf-8", "replace"), "<stdin>")
    main.__file__ = "<stdin>"
    exec(code, main.__dict__)


def _interact(options, main):
    interactive.run(main, report, banner=not options.count("quiet") and options.kind == "stdin")


_RUN = {"command": _run_command, "module": _run_module, "script": _run_script, "stdin": _run_stdin}


def _optimize(options):
    return min(options.count("optimize"), 2)


def _guarded(body, options, main):
    """The exit status that CPython would give."""
    try:
        body(options, main)
        return 0
    except SystemExit as exit_request:
        return exit_status(exit_request)
    except BaseException as error:
        report(error)
        if isinstance(error, KeyboardInterrupt):
            streams.flush()
            trip.set_action(2, 0)
            door.raw("kill", state.pid, 2)  # so that the parent sees a death by SIGINT
            return 130
        return 1


def own_frames_off(error):
    """The traceback from the first frame that is not this runtime's."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(FOLDER):
        trace = trace.tb_next
    error.__traceback__ = trace


def report(error):
    """Through sys.excepthook, as at the top level of CPython."""
    own_frames_off(error)
    sys.last_exc = error
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    try:
        sys.stdout.flush()
    except Exception:
        pass
    try:
        sys.excepthook(type(error), error, error.__traceback__)
    except SystemExit:
        raise
    except BaseException as second:
        own_frames_off(second)
        print("Error in sys.excepthook:", file=sys.stderr)
        sys.__excepthook__(type(second), second, second.__traceback__)
        print("\nOriginal exception was:", file=sys.stderr)
        sys.__excepthook__(type(error), error, error.__traceback__)


def finish(status):
    """atexit functions, the end of what __main__ holds, and the last flush. The exit status."""
    if threading._threading_atexits or scheduler.pending():
        try:
            threading._shutdown()
        except BaseException as error:
            report(error)
    atexit._run_exitfuncs()
    if scheduler.pending():
        scheduler.run_pending()  # threads that these have started
    sys.last_exc = sys.last_value = sys.last_traceback = None
    clear(sys.modules.get("__main__"))
    if gc.get_count()[0] or state.modules_at_start != len(sys.modules):
        _clear_user_modules()
        gc.collect()
    return status if streams.flush() else 120


def _clear_user_modules():
    """Modules of the user's own, in the order of their import. Modules of the library and of packages stay as they are."""
    image = state.image_modules
    for name in [name for name in sys.modules if name not in image and name != "__main__"]:
        module = sys.modules[name]
        if type(module) is _MODULE_TYPE:
            file = object.__getattribute__(module, "__dict__").get("__file__")
            if file and not file.startswith("/usr/lib/"):
                clear(module)
