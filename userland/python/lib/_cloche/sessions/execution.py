"""Runs source text in the session's __main__, with `await` at the top level, and tells the host how it ended."""
import ast
import asyncio
import contextvars
import json
import linecache
import os
import sys
import traceback
from collections import deque
from types import TracebackType

from .. import FOLDER
from ..host import state
from ..sockets import loop
from ..programs import main_module, streams
from . import callbacks, interrupts, port, source, tracing

_COROUTINE = 0x80  # CO_COROUTINE
_FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_REPR_MAX = 1 << 20
_NAME_MAX = 1000
_RECORD_MAX = (16 << 20) - 1  # and its kind
_TRACEBACK_MAX = 1 << 18
_TEXTS_MAX = 256
_texts = deque()
_context = contextvars.Context()
_count = 0


def evaluate(frame):
    """One execution: 0, or 1 when the host has a record to read the reason from."""
    global _count
    head, _, given = frame.partition(b"\0")
    options = json.loads(head) if head else {}
    if (infos := options.get("callbacks")) is not None:
        callbacks.set_callbacks(infos)
    _count += 1
    name = f"<session-{_count}>"
    try:
        record = _perform(given, name, options)
    except interrupts.ExecutionStopped as error:  # between the code and its record
        record = _failure(error, name)
    finally:
        interrupts.armed = False
        told = options.get("told") or tracing.stop()
        streams.flush()
        state.turns = _count
    if told:
        record = (record or {"status": "none"}) | told
    if record is None:
        return 0
    port.send(b"R" + _data_of(record))
    return 1


def _data_of(record):
    """As the host takes it: one that is too long goes without its JSON, and with the beginning of its message."""
    # Not escaped: half of a character would be one that the host's JSON has not.
    data = json.dumps(record, ensure_ascii=False).encode(errors="replace")
    if len(data) <= _RECORD_MAX:
        return data
    short = {name: item for name, item in record.items() if name != "json"}
    if "message" in short:
        short["message"] = short["message"][:_REPR_MAX] + "..."
    return json.dumps(short, ensure_ascii=False).encode(errors="replace")


def _perform(given, name, options):
    try:
        text = given.decode()
        code, last = source.compile_source(text, name, _FLAGS)
        _remember_text(name, text)
        for part in (code, last):
            if part is not None:
                tracing.remember(part)
        own = loop.session_loop()
        asyncio.set_event_loop(own)
        interrupts.arm()
        if options.get("trace") or options.get("steps"):
            tracing.start(options.get("trace"), options.get("steps"))
        value = run(code, last, sys.modules["__main__"].__dict__, own)
        options["told"] = tracing.stop()
        record = None if value is None else _describe(value)
        interrupts.armed = False
        return record
    except SystemExit as request:
        interrupts.armed = False
        return {"status": "exited", "exit_code": main_module.exit_status(request)}
    except BaseException as error:
        interrupts.armed = False
        options["told"] = tracing.stop()
        if isinstance(error, interrupts.ExecutionStopped):
            _cancel_tasks()
        return _failure(error, name)


def _remember_text(name, text):
    """For tracebacks; of the latest executions."""
    _texts.append(name)
    if len(_texts) > _TEXTS_MAX:
        linecache.cache.pop(_texts.popleft(), None)
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)


def run(body, last, names, own):
    """The value of the last expression; what awaits does so in the loop `own`."""
    if any(code is not None and code.co_flags & _COROUTINE for code in (body, last)):
        task = own.create_task(_await_all(body, last, names), context=_context)
        try:
            return own.run_until_complete(task)
        except interrupts.ExecutionStopped as error:
            if not task.done():
                error.__traceback__ = _where(task.get_coro())
            raise
    return _context.run(_run_all, body, last, names)


def _where(coroutine):
    """A traceback of what waits, for an exception that came while everything did."""
    frames = []
    while (frame := getattr(coroutine, "cr_frame", None)) is not None:
        frames.append(frame)
        coroutine = coroutine.cr_await
    trace = None
    for frame in reversed(frames):
        trace = TracebackType(trace, frame, frame.f_lasti, frame.f_lineno)
    return trace


def _run_all(body, last, names):
    if body is not None:
        exec(body, names)
    return eval(last, names) if last is not None else None


async def _await_all(body, last, names):
    value = None
    for code in (body, last):
        if code is not None:
            value = eval(code, names)
            if code.co_flags & _COROUTINE:
                value = await value
    return value if last is not None else None


def _cancel_tasks():
    """What a stopped execution leaves behind in the loop does not go on in the next one."""
    own = loop.session_loop()
    tasks = asyncio.all_tasks(own)
    for task in tasks:
        task.cancel("the execution was stopped")
    if tasks and not own.is_running():
        try:
            own.run_until_complete(asyncio.wait(tasks, timeout=0.05))
        except BaseException:
            pass  # it is over in any case
    for task in tasks:
        if not task.done():
            _close(task)
        elif not task.cancelled():
            task.exception()  # has been seen


def _close(task):
    """Ends a task that does not hear a cancel: it waits on, or a stop in the loop itself has cost it its turn."""
    try:
        task.get_coro().close()
    except BaseException:
        pass  # it is over in any case
    task._log_destroy_pending = False


def _describe(value):
    try:
        text = repr(value)
    except RecursionError:
        text = f"<{type(value).__name__}: its repr is too deep>"
    record = {"status": "ok", "repr": text[:_REPR_MAX], "type": type(value).__name__[:_NAME_MAX]}
    if len(text) <= _REPR_MAX:
        try:
            record["json"] = json.dumps(value, allow_nan=False, default=callbacks.plain)
        except Exception:
            pass  # no value that JSON has
    return record


def _failure(error, name):
    _foreign_frames_off(error)
    kind = type(error)
    record = {"status": "error", "type": kind.__name__[:_NAME_MAX], "module": str(kind.__module__)[:_NAME_MAX],
              "line": _line_of(error, name)}
    try:
        record["message"] = str(error)
    except Exception:
        record["message"] = "<its message could not be made>"
    try:
        text = "".join(traceback.format_exception(error))
    except Exception:
        text = f"{kind.__name__}: {record['message']}\n"
    record["traceback"] = text if len(text) <= _TRACEBACK_MAX else text[:_TRACEBACK_MAX] + "\n...\n"
    sys.last_exc = error
    sys.last_type, sys.last_value, sys.last_traceback = kind, error, error.__traceback__
    return record


def _foreign_frames_off(error):
    """Tracebacks tell of the user's code and what it has called: not of the loop that ran it, and nothing of this runtime."""
    seen = set()
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        waiting += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]
        one.__traceback__ = _clean(one.__traceback__)


def _clean(trace):
    frames = []
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    names = [frame.tb_frame.f_code.co_filename for frame in frames]
    first = next((i for i, name in enumerate(names) if name.startswith("<session-")), 0)
    result = None
    for frame, name in zip(reversed(frames[first:]), reversed(names[first:])):
        if not name.startswith(FOLDER):
            result = TracebackType(result, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return result


def _line_of(error, name):
    """The line of this execution's text where the error came from."""
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == name:
            line = trace.tb_lineno
        trace = trace.tb_next
    if line is None and isinstance(error, SyntaxError) and error.filename == name:
        line = error.lineno
    return line


def settle():
    """Before the memory becomes an image for other processes: nothing of this one stays open."""
    streams.flush()
    own = loop.session_loop()
    if not own.is_running():
        own.close()
    import gc
    gc.collect()
    os.environ.pop("_", None)
    return 0
