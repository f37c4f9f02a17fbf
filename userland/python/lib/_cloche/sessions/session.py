"""A kept interpreter: code runs in one __main__, call after call."""
import linecache
import os
import sys

from ..host import state
from ..processes import trip
from ..programs import main_module, program, streams
from . import callbacks, interrupts, port, source

_count = 0
_exit_status = 0


def open():
    """Makes this process a session."""
    streams.open_streams(False)
    main_module.fresh_main()
    sys.argv = [""]
    sys.path[:] = [os.getcwd(), program.LIBRARY, program.SITE]
    attach()
    return 0


def attach():
    """The process has a new host to speak with."""
    if port.open():
        callbacks.install()
        interrupts.register()
        streams.line_by_line()


def exit_status():
    """What the last sys.exit said."""
    return _exit_status


def execute(given):
    """Runs source text; 0, 1 for an exception (reported on stderr), or 2 for sys.exit, whose status `exit_status` tells."""
    global _count, _exit_status
    _count += 1
    name = f"<session-{_count}>"
    main = sys.modules["__main__"]
    try:
        try:
            text = given.decode()
            linecache._interactive_cache[name] = (len(text), None, text.splitlines(keepends=True), name)
            body, last = source.compile_source(text, name)
            if body is not None:
                exec(body, main.__dict__)
            if last is not None:
                value = eval(last, main.__dict__)
                if value is not None:
                    sys.displayhook(value)
            return 0
        except SystemExit as request:
            _exit_status = main_module.exit_status(request)
            return 2
        except BaseException as error:
            program.report(error)
            return 1
    finally:
        streams.flush()
        state.turns = _count
