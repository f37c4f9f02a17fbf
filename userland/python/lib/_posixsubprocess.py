"""fork_exec over the kernel's vfork: what `subprocess` starts its children with."""
import os
import signal
import sys

import _signal

from _cloche.host import door, posix_calls, state
from _cloche.host.door import call, raw
from _cloche.processes import posix_processes

_F_SETFD = 2


def fork_exec(args, executables, close_fds, pass_fds, cwd, env, p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite,
              errpipe_read, errpipe_write, restore_signals, start_new_session, process_group, gid, extra_groups, uid, umask,
              preexec_fn, /):
    if any(b"\0" in os.fsencode(word) for words in (args, executables, env or ()) for word in words):
        raise ValueError("embedded null byte")
    stage = ["noexec"]

    def prepare():
        wanted = [p2cread, c2pwrite, errwrite]
        # A descriptor that the child will have below its own place is moved up first, so that no dup closes it.
        for i in range(3):
            if 0 <= wanted[i] < i:
                wanted[i] = call("fcntl", wanted[i], 0, 3)
        for i, fd in enumerate(wanted):
            if fd == i:
                call("fcntl", fd, _F_SETFD, 0)
            elif fd >= 0:
                call("dup3", fd, i, 0)
        if cwd is not None:
            stage[0] = "noexec:chdir"
            frame = door.Frame()
            call("chdir", frame.text(cwd), frame=frame)
            stage[0] = "noexec"
        if umask >= 0:
            call("umask", umask)
        if restore_signals:
            for name in ("SIGPIPE", "SIGXFSZ"):
                posix_processes.default_action(getattr(signal, name))
        if start_new_session:
            call("setsid")
        if process_group >= 0:
            call("setpgid", 0, process_group)
        if extra_groups is not None:
            frame = door.Frame()
            words = frame.data(b"".join(int(g).to_bytes(4, "little") for g in extra_groups))
            call("setgroups", len(extra_groups), words, frame=frame)
        if gid is not None:
            call("setgid", gid)
        if uid is not None:
            call("setuid", uid)
        if preexec_fn is not None:
            _in_child(preexec_fn)
        if close_fds:
            low = 3
            for fd in sorted(fd for fd in pass_fds if fd >= 3):
                if low < fd:
                    raw("close_range", low, fd - 1, 0)
                if fd != errpipe_write:  # which is to close at the exec: that tells the parent of its success
                    raw("fcntl", fd, _F_SETFD, 0)
                low = fd + 1
            raw("close_range", low, 0xFFFFFFFF, 0)
        stage[0] = ""

    if env is None:
        env = [key + b"=" + value for key, value in os.environb.items()]
    try:
        pid, failed = posix_processes.start_child(executables, args, env, prepare)
    except _PreexecError:
        os.write(errpipe_write, b"SubprocessError:0:Exception occurred in preexec_fn.")
        return _ended_child()
    if failed:
        # As the child would have told it: subprocess makes the exception of this.
        os.write(errpipe_write, f"OSError:{failed:X}:{stage[0]}".encode())
        return _ended_child()
    return pid


class _PreexecError(Exception):
    """preexec_fn has failed."""


def _in_child(function):
    """Calls preexec_fn. What it asks of the kernel happens to the child; memory is the parent's, as after vfork. What this
    interpreter knows of the process it runs in is put back afterwards."""
    handlers = {number: _signal.getsignal(number) for number in signal.valid_signals()}
    folder, own = posix_calls.libc_cwd(), state.pid
    state.pid, state.in_child = call("getpid"), True
    try:
        function()
    except BaseException as error:
        raise _PreexecError from error
    finally:
        state.pid, state.in_child = own, False
        posix_calls.set_libc_cwd(folder)
        for number, handler in handlers.items():
            if handler is not None and _signal.getsignal(number) is not handler:
                posix_processes.own_set_handler(number, handler)


def _ended_child():
    """The number of a child that has ended with 127, for subprocess to wait for."""
    call("vfork_begin")
    child, _ = raw("exit_group", 127)
    sys.audit("os.fork")
    return child
