"""Children for `os`: spawn, exec, wait and signals. There is no fork that returns twice; a child is made by the kernel's vfork: the
calls between `vfork_begin` and `execve` (or `exit_group`) act on it.
"""
import os
import struct
import sys

import _signal
import posix
import resource

from ..host import door, state
from ..host.door import Frame, call, call_data, raw
from ..host.posix_calls import AT_FDCWD, linux_open_flags, publish
from ..threads import scheduler
from . import trip

_F_SETFD = 2
_SIG_SETMASK = 2
_SIGINFO = struct.Struct("<iiiiii")  # signo, errno, code, pid, uid, status
P_ALL, P_PID, P_PGID = 0, 1, 2
WNOHANG, WUNTRACED, WEXITED, WCONTINUED, WNOWAIT = 1, 2, 4, 8, 0x01000000
CLD_EXITED, CLD_KILLED, CLD_DUMPED, CLD_TRAPPED, CLD_STOPPED, CLD_CONTINUED = range(1, 7)


def kill(pid, signal, /):
    if pid == state.pid and callable(_signal.getsignal(signal) if signal else None) and not _is_blocked(signal) \
            and scheduler.is_main():
        own_raise_signal(signal)  # the handler has run when this returns
    else:
        call("kill", pid, signal)


def _is_blocked(signal):
    frame = Frame()
    room = frame.space(8)
    _, data = call_data("rt_sigprocmask", 0, 0, room, 8, frame=frame)
    return int.from_bytes(data[int(room):int(room) + 8], "little") >> signal - 1 & 1


own_raise_signal = _signal.raise_signal
own_set_handler = _set_handler = _signal.signal  # the interpreter's own, of which the kernel hears nothing


def set_signal(signal, handler, /):
    """signal.signal: the interpreter's own, and what the kernel can know of it."""
    if not scheduler.is_main():
        raise ValueError("signal only works in main thread of the main interpreter")
    before = _set_handler(signal, handler)
    trip.set_action(signal, handler)
    return before


def killpg(pgid, signal, /):
    call("kill", -pgid, signal)


def _status(code, status):
    """The word that wait(2) gives for what waitid reports."""
    if code == CLD_EXITED:
        return (status & 0xFF) << 8
    if code == CLD_STOPPED or code == CLD_TRAPPED:
        return (status & 0xFF) << 8 | 0x7F
    if code == CLD_CONTINUED:
        return 0xFFFF
    return status & 0x7F


def _wait(id_type, id_number, options, usage=False):
    """What waitid tells, and with `usage` what the child has used."""
    if scheduler.busy() and not options & WNOHANG:
        found = ()

        def look():
            nonlocal found
            found = _wait(id_type, id_number, options | WNOHANG, usage)
            return found[3]

        scheduler.look_until(look)
        return found
    frame = Frame()
    room = frame.space(128)
    used = frame.space(resource.USAGE_SIZE) if usage else 0
    _, data = call_data("waitid", id_type, id_number, room, options, used, frame=frame)
    told = _SIGINFO.unpack_from(data)
    return (*told, resource.usage_of(data, used)) if usage else told


def waitpid(pid, options, /):
    return _wait_for(pid, options)[:2]


def _wait_for(pid, options, usage=False):
    """(process, status, what it has used)."""
    kind, number = (P_PID, pid) if pid > 0 else (P_ALL, 0) if pid == -1 else (P_PGID, -pid if pid else call("getpgid", 0))
    options = (options & (WNOHANG | WUNTRACED | WCONTINUED)) | WEXITED
    _, _, code, child, _, status, *used = _wait(kind, number, options, usage)
    return (child, _status(code, status) if child else 0, *used)


def wait():
    return waitpid(-1, 0)


def wait4(pid, options):
    return _wait_for(pid, options, usage=True)


def wait3(options):
    return wait4(-1, options)


def waitid(idtype, id, options, /):
    signo, _, code, child, uid, status = _wait(idtype, id, options)
    return waitid_result((child, uid, signo, status, code)) if child else None


class waitid_result(tuple):
    si_pid = property(lambda self: self[0])
    si_uid = property(lambda self: self[1])
    si_signo = property(lambda self: self[2])
    si_status = property(lambda self: self[3])
    si_code = property(lambda self: self[4])


def WIFEXITED(status): return status & 0x7F == 0
def WEXITSTATUS(status): return status >> 8 & 0xFF
def WIFSIGNALED(status): return 0 < status & 0x7F < 0x7F
def WTERMSIG(status): return status & 0x7F
def WIFSTOPPED(status): return status & 0xFF == 0x7F
def WSTOPSIG(status): return status >> 8 & 0xFF
def WIFCONTINUED(status): return status == 0xFFFF
def WCOREDUMP(status): return False


def waitstatus_to_exitcode(status):
    if WIFEXITED(status):
        return WEXITSTATUS(status)
    if WIFSIGNALED(status):
        return -WTERMSIG(status)
    raise ValueError(f"invalid wait status: {status!r}")


def _environment(env):
    entries = [(os.fsencode(key), os.fsencode(value)) for key, value in list(env.items())]
    if any(not key or b"=" in key[1:] for key, _ in entries):
        raise ValueError("illegal environment variable name")
    return [key + b"=" + value for key, value in entries]


def _arguments(argv, function):
    if not isinstance(argv, (list, tuple)):
        raise TypeError(f"{function}: argv must be a tuple or list")
    argv = list(argv)
    if not argv:
        raise ValueError(f"{function}: argv must not be empty")
    if not argv[0]:
        raise ValueError(f"{function}: argv first element cannot be empty")
    return argv


def execve(path, argv, env):
    frame = Frame()
    arguments = frame.strings(_arguments(argv, "execve"))
    result, _ = raw("execve", frame.text(os.fspath(path)), arguments, frame.strings(_environment(env)), frame=frame)
    raise door.error(-result, path)


def execv(path, argv):
    execve(path, _arguments(argv, "execv"), os.environ)


def start_child(paths, argv, env, prepare=None):
    """A child: (pid, 0), or (0, Linux errno). `prepare` runs for the child between its making and its exec, with calls of this module
    only. Several `paths` are tried in order, as execvp does. No other thread runs meanwhile."""
    with scheduler.alone():
        child, failed = _start_child(paths, argv, env, prepare)
        if child and failed:
            waitpid(child, 0)
            child = 0
        return child, failed


def _start_child(paths, argv, env, prepare):
    call("vfork_begin")
    failed = 2
    try:
        if prepare is not None:
            prepare()
        frame = Frame()
        args = frame.strings(argv)
        environment = frame.strings(env)
        for path in paths:
            head = frame.text(path)
            result, _ = raw("execve", head, args, environment, frame=frame)
            if result > 0:
                return result, 0
            if -result not in (2, 20):
                failed = -result
                if failed != 13:
                    break
    except OSError as problem:
        if not _is_child():
            raise
        failed = problem.errno
    except BaseException:
        if _is_child():
            waitpid(raw("exit_group", 127)[0], 0)
        raise
    return raw("exit_group", 127)[0], failed


def _is_child():
    """Whether this is the child still. A signal's handler may raise when the exec has happened, and this is the parent again."""
    return call("getpid") != state.pid


def find_program(file, env=None):
    """Where `file` is looked for: itself when it names a folder, else in each folder of PATH."""
    file = os.fsencode(file)
    if b"/" in file:
        return [file]
    return [os.path.join(os.fsencode(folder), file) for folder in os.get_exec_path(env)]


def posix_spawn(path, argv, env, /, *, file_actions=(), setpgroup=None, resetids=False, setsid=False, setsigmask=(),
                setsigdef=(), scheduler=None):
    return _posix_spawn([path], path, argv, env, file_actions, setpgroup, setsid, setsigmask, setsigdef, scheduler)


def posix_spawnp(path, argv, env, /, *, file_actions=(), setpgroup=None, resetids=False, setsid=False, setsigmask=(),
                 setsigdef=(), scheduler=None):
    return _posix_spawn(find_program(path), path, argv, env, file_actions, setpgroup, setsid, setsigmask, setsigdef, scheduler)


POSIX_SPAWN_OPEN, POSIX_SPAWN_CLOSE, POSIX_SPAWN_DUP2 = 0, 1, 2


def default_action(number):
    """The child dies of the signal as usual, whatever its parent does with it."""
    frame = Frame()
    raw("rt_sigaction", number, frame.data(bytes(16)), 0, 8, frame=frame)


def _signals(numbers):
    numbers = [int(number) for number in numbers]
    if any(not 0 < number < _signal.NSIG for number in numbers):
        raise ValueError(f"signal number out of range [1; {_signal.NSIG - 1}]")
    return numbers


def _posix_spawn(paths, name, argv, env, file_actions, setpgroup, new_session, mask, defaults, policy):
    argv = _arguments(argv, "posix_spawn")
    mask, defaults = _signals(mask), _signals(defaults)
    if policy is not None and not isinstance(policy, tuple):
        raise TypeError("scheduler must be a tuple or None")

    def prepare():
        if new_session:
            call("setsid")
        for number in defaults:
            default_action(number)
        if mask:
            frame = Frame()
            bits = sum(1 << number - 1 for number in set(mask))
            call("rt_sigprocmask", _SIG_SETMASK, frame.data(bits.to_bytes(8, "little")), 0, 8, frame=frame)
        if policy is not None:
            frame = Frame()
            call("sched_setscheduler", 0, policy[0] or 0, frame.data(struct.pack("<i", policy[1].sched_priority)), frame=frame)
        if setpgroup is not None:
            call("setpgid", 0, setpgroup)
        for kind, fd, *rest in file_actions or ():
            if kind == POSIX_SPAWN_CLOSE:
                raw("close", fd)
            elif kind == POSIX_SPAWN_DUP2:
                call("dup3", fd, rest[0], 0) if fd != rest[0] else call("fcntl", fd, _F_SETFD, 0)
            else:
                frame = Frame()
                opened = call("openat", AT_FDCWD, frame.text(rest[0]), linux_open_flags(rest[1]), rest[2], frame=frame)
                if opened != fd:
                    call("dup3", opened, fd, 0)
                    call("close", opened)

    pid, failed = start_child(paths, argv, _environment(os.environ if env is None else env), prepare)
    if failed:
        raise door.error(failed, name)
    return pid


P_WAIT, P_NOWAIT, P_NOWAITO = 0, 1, 1


def _spawn_and_wait(mode, paths, name, argv, env):
    try:
        pid, failed = start_child(paths, _arguments(argv, "spawnv"), _environment(env))
    except ValueError:
        if mode != P_WAIT or not argv or not argv[0]:
            raise
        return 127  # as natively, where the child finds it out
    if failed:
        if mode == P_WAIT:
            return 127
        raise door.error(failed, name)
    return waitstatus_to_exitcode(waitpid(pid, 0)[1]) if mode == P_WAIT else pid


def spawnv(mode, file, args): return _spawn_and_wait(mode, [file], file, args, os.environ)
def spawnve(mode, file, args, env): return _spawn_and_wait(mode, [file], file, args, env)
def spawnvp(mode, file, args): return _spawn_and_wait(mode, find_program(file), file, args, os.environ)
def spawnvpe(mode, file, args, env): return _spawn_and_wait(mode, find_program(file, env), file, args, env)
def spawnl(mode, file, *args): return spawnv(mode, file, args)
def spawnle(mode, file, *args): return spawnve(mode, file, args[:-1], args[-1])
def spawnlp(mode, file, *args): return spawnvp(mode, file, args)
def spawnlpe(mode, file, *args): return spawnvpe(mode, file, args[:-1], args[-1])


def system(command):
    pid, failed = start_child(["/bin/sh"], ["sh", "-c", os.fsencode(command)], _environment(os.environ))
    if failed:
        return 127 << 8
    while True:
        try:
            return waitpid(pid, 0)[1]
        except InterruptedError:
            continue


_CONSTANTS = {
    "P_ALL", "P_PID", "P_PGID", "WNOHANG", "WUNTRACED", "WEXITED", "WCONTINUED", "WNOWAIT", "CLD_EXITED", "CLD_KILLED",
    "CLD_DUMPED", "CLD_TRAPPED", "CLD_STOPPED", "CLD_CONTINUED", "POSIX_SPAWN_OPEN", "POSIX_SPAWN_CLOSE", "POSIX_SPAWN_DUP2",
    "P_WAIT", "P_NOWAIT", "P_NOWAITO",
}


def install():
    publish(sys.modules[__name__], _CONSTANTS)
    os.waitid_result = waitid_result
    _signal.signal = set_signal
