"""__main__: made anew, cleared as CPython clears it, and what an exit that its code asks for means."""
import builtins
import sys
from _frozen_importlib import BuiltinImporter


def fresh_main():
    main = type(sys)("__main__")
    main.__dict__.update(__annotations__={}, __builtins__=builtins, __loader__=BuiltinImporter)
    sys.modules["__main__"] = main
    return main


def exit_status(exit_request):
    code = exit_request.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF if -1 << 63 <= code < 1 << 63 else 0xFF
    try:
        sys.stdout.flush()
    except Exception:
        pass
    print(code, file=sys.stderr)
    return 1


def clear(module):
    """As the interpreter clears a module at its end, so that open files are flushed and __del__ methods run."""
    if module is None:
        return
    names = module.__dict__
    for name in [n for n in names if n[:1] == "_" and n[1:2] != "_"]:
        names[name] = None
    for name in [n for n in names if n[:2] != "__"]:
        names[name] = None
