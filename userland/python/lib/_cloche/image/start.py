"""The entry of the interpreter, called by the host with one frame of bytes.

The first byte says what for: `P` starts a process (and is its only call), `I` runs code while a boot image is made, `S` makes
this instance a session, `X` runs code in it, `Q` asks for the status of its last sys.exit, `F` tells a fork of a session who it is,
and `G` a session that starts from an image of the user's.
`E`, `N`, `R`, `C` and `Z` are turns of a session with a port: execution.py and snapshot.py.
A process frame holds strings that end in a null: numbers, current directory, host name, program, then argv and the environment.
"""
import gc
import os
import posix
import sys

from ..host import state, time_zone
from ..libraries import figures
from ..processes import signal_calls, trip
from ..programs import options, program
from ..sessions import execution, port, session, snapshot
from ..threads import scheduler

_chdir = posix.chdir
_SESSION_TURNS = {b"N": snapshot.take, b"R": snapshot.restore, b"C": snapshot.clear, b"Z": lambda _: execution.settle()}


def enter(frame):
    """The result is an exit status for `P`."""
    kind = frame[:1]
    if kind == b"P":
        return process(frame)
    if scheduler.busy():
        scheduler.begin_turn()
    if kind == b"X":
        return session.execute(frame[1:])
    if kind == b"Q":
        return session.exit_status()
    if kind == b"E":
        return execution.evaluate(frame[1:])
    if kind in b"NRCZ":
        return _SESSION_TURNS[kind](frame[1:])
    if kind == b"S":
        _adopt(frame)
        return session.open()
    if kind == b"F":
        return resume(frame)
    if kind == b"G":
        return join(frame)
    exec(compile(frame[1:], "<image>", "exec"), {"__name__": "_cloche.image_code", "__builtins__": __builtins__})
    return 0


def _place(frame):
    """The process's numbers, names and directory; (fields, argc, envc)."""
    fields = frame[1:-1].split(b"\0")
    numbers = fields[0].split()
    state.pid, state.ppid, state.uid, state.gid = int(numbers[0]), int(numbers[1]), int(numbers[2]), int(numbers[3])
    cwd, state.host_name, state.executable = (os.fsdecode(field) for field in fields[1:4])
    try:
        _chdir(cwd)
    except OSError:
        pass  # a folder that was removed: relative paths fail, as they do elsewhere
    return fields, int(numbers[4]), int(numbers[5])


def _adopt(frame):
    """Makes the interpreter, as it came out of the boot image, this process. Returns argv."""
    fields, argc, envc = _place(frame)
    argv = [os.fsdecode(field) for field in fields[4:4 + argc]]
    os.environ._data.clear()
    _set_environment(fields[4 + argc:4 + argc + envc])
    time_zone.adopt()
    trip.register()
    signal_calls.start_process()
    sys.orig_argv = argv
    sys.executable = sys._base_executable = state.executable
    if argv and ("/" in argv[0] or "VIRTUAL_ENV" in os.environ):
        _find_prefix(argv[0])
    figures.adopt()
    reseed()
    return argv


def _set_environment(entries):
    data = os.environ._data
    for entry in entries:
        name, equals, value = entry.partition(b"=")
        if equals and name:
            data[name] = value
            posix.putenv(name, value)


def _find_prefix(name):
    """Started by a link in a virtual environment, the interpreter belongs to that."""
    if "/" not in name:
        name = next((path for folder in os.get_exec_path() if os.access(path := os.path.join(folder, name), os.X_OK)), "")
    folder = os.path.dirname(os.path.abspath(name)) if name else ""
    if folder and folder != "/usr/bin" and os.path.exists(os.path.join(os.path.dirname(folder), "pyvenv.cfg")):
        sys.executable = os.path.join(folder, os.path.basename(name))
        sys.prefix = sys.exec_prefix = os.path.dirname(folder)


def reseed():
    """Draws anew what took entropy before the image was made: two processes of one image, or two forks, never share it."""
    modules = sys.modules
    if (module := modules.get("random")) is not None:
        module.seed()
    if (module := modules.get("numpy.random")) is not None:
        module.seed()
    if (module := modules.get("uuid")) is not None:
        module._node = None
        module._last_timestamp = None
    if (module := modules.get("tempfile")) is not None:
        module._name_sequence = None
        module.tempdir = None
    if (module := modules.get("logging")) is not None:
        import time
        module._startTime = time.time_ns()


def resume(frame):
    """A live session, now in another process: all that it was stays, but who it is and what it draws."""
    _place(frame)
    scheduler.forget_others()
    trip.register()
    signal_calls.start_process()
    port.start_over()
    session.attach()
    gc.freeze()  # a collection would write to every object that this process shares with the one it comes from
    reseed()
    return 0


def join(frame):
    """The same in another sandbox: its environment comes to what the image has set."""
    fields, argc, envc = _place(frame)
    entries = fields[4 + argc:4 + argc + envc]
    before = os.environ._data.get(b"TZ")
    _set_environment(entries)
    if os.environ._data.get(b"TZ") != before:
        time_zone.tzset()
    return resume(frame)


def process(frame):
    argv = _adopt(frame)
    if scheduler.busy():
        scheduler.forget_others()  # those of a user's image
    try:
        chosen = options.parse(argv)
    except options.UsageError as error:
        name = argv[0] if argv else "python3"
        program.open_streams(False)
        sys.stderr.write(f"{error}\nusage: {name} [option] ... [-c cmd | -m mod | file | -] [arg] ...\n"
                         f"Try `{name} -h' for more information.\n")
        sys.stderr.flush()
        return 2
    return program.run(chosen)
