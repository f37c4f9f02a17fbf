"""What a session of Cloche gives its code: functions of the host, and their errors.

    await invoke("name", a=1)      await name(a=1)      await name.space(a=1)

`invoke` and `list_callbacks` are there without an import; `invoke_sync` is for code that is no coroutine.
"""
from _cloche.sessions.callbacks import (Callback, CallbackArgumentError, CallbackCancelled, CallbackError, CallbackLimitExceeded,
                                        CallbackNotFound, CallbackTimeout, invoke, invoke_sync, list_callbacks)
from _cloche.sessions.interrupts import (BudgetExceeded, ExecutionCancelled, ExecutionStopped, MemoryLimitExceeded, OutputLimitExceeded,
                                         TimeLimitExceeded)

__all__ = ["invoke", "invoke_sync", "list_callbacks", "Callback", "CallbackError", "CallbackTimeout", "CallbackCancelled",
           "CallbackLimitExceeded", "CallbackNotFound", "CallbackArgumentError", "ExecutionStopped", "ExecutionCancelled",
           "TimeLimitExceeded", "BudgetExceeded", "MemoryLimitExceeded", "OutputLimitExceeded"]
