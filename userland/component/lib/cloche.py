"""What a session gives its code: functions of the host, and their errors.

    await invoke("name", a=1)      await name(a=1)      await name.space(a=1)

`invoke` and `list_callbacks` are there without an import. `set_tracing(True)` has the executions after this one traced.
"""
from _cloche.callbacks import CallbackError, invoke, list_callbacks
from _cloche.tracing_switch import set_tracing

__all__ = ["invoke", "list_callbacks", "CallbackError", "set_tracing"]
