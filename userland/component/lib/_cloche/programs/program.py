"""The user's namespace."""
import builtins
import sys


def fresh_main():
    main = type(sys)("__main__")
    main.__dict__.update(__annotations__={}, __builtins__=builtins)
    sys.modules["__main__"] = main
    return main


def _clear(module):
    for name in [name for name in module.__dict__ if not name.startswith("__")]:
        module.__dict__[name] = None


def exit_status(request):
    if request.code is None:
        return 0
    if isinstance(request.code, int):
        return request.code & 0xFF
    print(request.code, file=sys.stderr)
    return 1
