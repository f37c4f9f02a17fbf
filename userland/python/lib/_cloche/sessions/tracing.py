"""What an execution does, told event by event, and how much of it there is: over sys.monitoring, so nothing is slower while both are off.

An event is told as `line TAB event TAB context`, JSON texts. Types: line, call, return, exception, suspend and resume (a coroutine or
generator), callback_start and callback_end. Code of this runtime never appears.
"""
import fnmatch
import json
import sys
import time
from collections import deque

from .. import FOLDER
from . import interrupts, port

_TOOL = 4
_SESSION = "<session-"
_BATCH = 64
_BATCH_TIME = 0.02
_TEXT_MAX = 200
_mon = getattr(sys, "monitoring", None)  # None: before Python 3.12
if _mon is not None:
    _E = _mon.events
    _LOCAL = _E.LINE | _E.PY_START | _E.PY_RETURN | _E.PY_YIELD | _E.PY_RESUME
    _GLOBAL = _E.RAISE | _E.PY_UNWIND
    _STEPS = _E.LINE | _E.JUMP | _E.PY_START | _E.PY_RESUME

_session_codes = deque(maxlen=4096)  # of the latest executions: what the usual filter asks for
_tracer = None
_counter = None
_in_use = False


def remember(code):
    """Code of the session, with all that is defined in it."""
    found = [code]
    while found:
        value = found.pop()
        _session_codes.append(value)
        found += [const for const in value.co_consts if isinstance(const, type(code))]


def start(options, steps):
    global _tracer, _counter, _in_use
    if _mon is None:
        raise RuntimeError("traces and limits of steps need Python 3.12, and this is {}.{}".format(*sys.version_info))
    _mon.use_tool_id(_TOOL, "cloche")
    _in_use = True
    _mon.restart_events()
    if options:
        _tracer = _Tracer(options)
    if steps:
        _counter = _Counter(steps)
    handlers = {
        _E.LINE: _on_line, _E.PY_START: _on_start, _E.PY_RETURN: _on_return, _E.PY_YIELD: _on_yield, _E.PY_RESUME: _on_resume,
        _E.RAISE: _on_raise, _E.PY_UNWIND: _on_unwind, _E.JUMP: _on_jump,
    }
    for event, handler in handlers.items():
        _mon.register_callback(_TOOL, event, handler)
    events = 0
    if _tracer is not None:
        events |= _GLOBAL
        if _tracer.files or _counter is not None:
            events |= _LOCAL
        else:
            for code in _session_codes:
                _mon.set_local_events(_TOOL, code, _LOCAL)
    if _counter is not None:
        events |= _STEPS
    _mon.set_events(_TOOL, events)


def stop():
    """What the host is told of it: the events that were `dropped`, where there are any, and the `steps`, where they were counted."""
    global _tracer, _counter, _in_use
    if not _in_use:
        return {}
    _in_use = False
    tracer, counter = _tracer, _counter
    _tracer = _counter = None
    told = {} if counter is None else {"steps": counter.limit - max(counter.left, 0)}
    _mon.set_events(_TOOL, 0)
    if tracer is not None and not tracer.files:
        for code in _session_codes:
            _mon.set_local_events(_TOOL, code, 0)
    _mon.free_tool_id(_TOOL)
    if tracer is not None:
        tracer.flush()
        if tracer.dropped:
            told["dropped"] = tracer.dropped
    return told


class _Counter:
    def __init__(self, limit):
        self.left = limit
        self.limit = limit

    def count(self):
        self.left -= 1
        if self.left < 0:
            raise interrupts.BudgetExceeded(f"the execution was stopped at its limit of {self.limit} steps")


class _Tracer:
    def __init__(self, options):
        self.files = options.get("files") or []
        self.values = options.get("values", True)
        self.rate = options.get("rate") or 1
        self.window = time.monotonic()
        self.in_window = 0
        self.dropped = 0
        self.batch = []
        self.chosen = {}
        self.raised = None

    def wants(self, code):
        name = code.co_filename
        wanted = self.chosen.get(name)
        if wanted is None:
            if name.startswith(FOLDER) or name.startswith("<frozen"):
                wanted = False
            elif self.files:
                wanted = any(fnmatch.fnmatchcase(name, pattern) for pattern in self.files)
            else:
                wanted = name.startswith(_SESSION)
            self.chosen[name] = wanted
        return wanted

    def tell(self, line, event, context=None):
        now = time.monotonic()
        if now - self.window >= 1:
            self.window, self.in_window = now, 0
        self.in_window += 1
        if self.in_window > self.rate:
            self.dropped += 1
            return
        words = [json.dumps(part, ensure_ascii=False) if part else "" for part in (event, context)]
        self.batch.append("\t".join([str(line), *words]))
        if len(self.batch) >= _BATCH or now - self.window > _BATCH_TIME and event["type"] != "line":
            self.flush()

    def flush(self):
        if self.batch:
            text, self.batch = "\n".join(self.batch), []
            port.send(b"T" + text.encode(errors="replace"))


def _short(value):
    try:
        text = repr(value)
    except Exception as error:
        return f"<{type(value).__name__}: {type(error).__name__} in its repr>"
    return text if len(text) <= _TEXT_MAX else text[:_TEXT_MAX] + "..."


def _is_own(code):
    return code.co_filename.startswith(FOLDER)


def _unwanted(code):
    """What a handler answers for code that nobody asks for."""
    return _mon.DISABLE if _counter is None or _is_own(code) else None


def _count(code):
    if _counter is not None and not _is_own(code):
        _counter.count()


def _on_line(code, line):
    if _tracer is not None and _tracer.wants(code):
        _tracer.tell(line, {"type": "line", "function": code.co_qualname, "file": code.co_filename})
        return _count(code)
    _count(code)
    return _unwanted(code)


def _on_jump(code, offset, destination):
    if _counter is None or _is_own(code):
        return _mon.DISABLE
    _counter.count()


def _on_start(code, offset):
    if _tracer is not None and _tracer.wants(code):
        context = None
        if _tracer.values and code.co_name != "<module>":
            values = sys._getframe(1).f_locals
            count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
            context = {"arguments": {name: _short(values[name]) for name in code.co_varnames[:count] if name in values}}
        _tracer.tell(code.co_firstlineno, {"type": "call", "function": code.co_qualname, "file": code.co_filename}, context)
        return _count(code)
    _count(code)
    return _unwanted(code)


def _on_return(code, offset, value):
    if _tracer is None or not _tracer.wants(code):
        return _mon.DISABLE
    context = {"value": _short(value)} if _tracer.values and code.co_name != "<module>" else None
    _tracer.tell(_line_now(code), {"type": "return", "function": code.co_qualname, "file": code.co_filename}, context)


def _on_yield(code, offset, value):
    if _tracer is None or not _tracer.wants(code):
        return _mon.DISABLE
    _tracer.tell(_line_now(code), {"type": "suspend", "function": code.co_qualname, "file": code.co_filename})


def _on_resume(code, offset):
    if _tracer is not None and _tracer.wants(code):
        _tracer.tell(_line_now(code), {"type": "resume", "function": code.co_qualname, "file": code.co_filename})
        return _count(code)
    _count(code)
    return _unwanted(code)


def _on_raise(code, offset, error):
    if _tracer is None or error is _tracer.raised or not _tracer.wants(code):
        return
    _tracer.raised = error
    try:
        message = str(error)[:_TEXT_MAX]
    except Exception:
        message = ""
    _tracer.tell(_line_now(code), {"type": "exception", "function": code.co_qualname, "file": code.co_filename,
                                   "exception": type(error).__name__, "message": message})


def _on_unwind(code, offset, error):
    if _tracer is None or not _tracer.wants(code):
        return
    _tracer.tell(_line_now(code), {"type": "return", "function": code.co_qualname, "file": code.co_filename, "unwound": True},
                 {"exception": type(error).__name__})


def _line_now(code):
    """The line at which the frame that an event is about stands."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return (frame.f_lineno if frame is not None else None) or code.co_firstlineno


def active():
    return _tracer is not None


def callback_started(name):
    """For callbacks; what callback_ended wants."""
    frame = sys._getframe(1)
    while frame is not None and not _tracer.wants(frame.f_code):
        frame = frame.f_back
    line = frame.f_lineno if frame is not None else 0
    _tracer.tell(line, {"type": "callback_start", "name": name})
    return line, time.monotonic()


def callback_ended(started, name, error):
    if _tracer is None or started is None:
        return
    line, begin = started
    event = {"type": "callback_end", "name": name, "duration_ms": round((time.monotonic() - begin) * 1000, 3), "ok": error is None}
    if error is not None:
        event["error"] = type(error).__name__
    _tracer.tell(line, event)
