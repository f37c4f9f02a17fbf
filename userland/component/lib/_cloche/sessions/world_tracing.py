"""What an execution does, as hosts of the world expect it told of each: line, call, return and exception of the session's own code, the
call of an execution itself at line 0, callbacks at line 0. It ends where an execution waits for the first time, but for callbacks.
`tracing`, which the session's code may choose instead, goes on there and tells more.
"""
import json
import sys

import wit_world

from . import tracing

_TOOL = 3
_LINE = '{"type": "line"}'
_MESSAGE_MAX = 200
_SESSION = "<session-"
_mon = sys.monitoring
_E = _mon.events
_LOCAL = _E.LINE | _E.PY_START | _E.PY_RETURN | _E.PY_YIELD | _E.PY_RESUME
_on = False
_raised = None


class _Callbacks:
    """What `tracing` asks for callbacks."""

    def wants(self, code):
        return False  # so their line is 0

    def tell(self, line, event, context=None):
        if "duration_ms" in event:
            event["duration_ms"] = round(event["duration_ms"])
        wit_world.report_trace(line, json.dumps(event), "")


def start():
    global _on
    _on = True
    _mon.use_tool_id(_TOOL, "cloche")
    for event, handler in {_E.LINE: _on_line, _E.PY_START: _on_start, _E.PY_RETURN: _on_return, _E.PY_YIELD: _on_yield,
                           _E.PY_RESUME: _on_resume, _E.RAISE: _on_raise, _E.PY_UNWIND: _on_unwind}.items():
        _mon.register_callback(_TOOL, event, handler)
    for code in tracing._session_codes:
        _mon.set_local_events(_TOOL, code, _LOCAL)
    _mon.set_events(_TOOL, _E.RAISE | _E.PY_UNWIND)
    tracing._tracer = _Callbacks()


def stop():
    _stop_code()
    if isinstance(tracing._tracer, _Callbacks):
        tracing._tracer = None


def _stop_code():
    global _on, _raised
    if not _on:
        return
    _on, _raised = False, None
    _mon.set_events(_TOOL, 0)
    for code in tracing._session_codes:
        _mon.set_local_events(_TOOL, code, 0)
    _mon.free_tool_id(_TOOL)


def _tell(line, kind, code, **more):
    wit_world.report_trace(line, json.dumps({"type": kind, "function": code.co_name, **more}), "")


def _is_execution(code):
    return code.co_name == "<module>"


def _on_line(code, line):
    wit_world.report_trace(line, _LINE, "")


def _on_start(code, offset):
    _tell(0 if _is_execution(code) else code.co_firstlineno, "call", code)


def _on_return(code, offset, value):
    _tell(_line_now(code), "return", code)


def _on_yield(code, offset, value):
    _tell(_line_now(code), "return", code)
    if _is_execution(code):
        _stop_code()


def _on_resume(code, offset):
    _tell(_line_now(code), "call", code)


def _on_raise(code, offset, error):
    global _raised
    if error is _raised or not code.co_filename.startswith(_SESSION):
        return
    _raised = error
    try:
        message = str(error)[:_MESSAGE_MAX]
    except Exception:
        message = ""
    _tell(_line_now(code), "exception", code, message=message)


def _on_unwind(code, offset, error):
    if code.co_filename.startswith(_SESSION):
        _tell(_line_now(code), "return", code)


def _line_now(code):
    """The line at which the frame that an event is about stands."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return (frame.f_lineno if frame is not None else None) or code.co_firstlineno
