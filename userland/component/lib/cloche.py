"""What a session gives its code: functions of the host, and their errors.

    await invoke("name", a=1)      await name(a=1)      await name.space(a=1)

`invoke` and `list_callbacks` are there without an import. `set_tracing(True)` has the executions after this one traced.
"""
from _cloche.sessions.callbacks import Callback, CallbackError, invoke, list_callbacks
from _cloche.sessions.tracing_switch import set_tracing

__all__ = ["invoke", "list_callbacks", "Callback", "CallbackError", "set_tracing"]
