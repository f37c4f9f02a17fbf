"""What the host stops an execution with: a signal for each reason, and the exception that it raises in the code."""
import _signal

from ..host import state
from ..processes import trip
from . import port


class ExecutionStopped(KeyboardInterrupt):
    """The host has stopped this execution. It is over soon, whoever catches this."""


class ExecutionCancelled(ExecutionStopped):
    """Somebody has called it off."""


class TimeLimitExceeded(ExecutionStopped):
    """It has run longer than it may."""


class BudgetExceeded(ExecutionStopped):
    """It has computed more than it may."""


class OutputLimitExceeded(ExecutionStopped):
    """It has written more than it may."""


class MemoryLimitExceeded(ExecutionStopped, MemoryError):
    """It has used more memory than it may."""


for _kind in (ExecutionStopped, ExecutionCancelled, TimeLimitExceeded, BudgetExceeded, OutputLimitExceeded, MemoryLimitExceeded):
    _kind.__module__ = "cloche"

_REASONS = {
    60: (ExecutionCancelled, "the execution was cancelled"),
    61: (TimeLimitExceeded, "the execution was stopped at its time limit"),
    62: (BudgetExceeded, "the execution was stopped at the limit of its computing time"),
    63: (OutputLimitExceeded, "the execution was stopped at the limit of its output"),
}
armed = False  # while code of the user runs, and it has not been stopped
_missed = False  # a signal came while it was not


def arm():
    """Code of the user begins. A stop that came before it was perhaps meant for it: the host knows, and says it again."""
    global armed, _missed
    armed = True
    if _missed:
        _missed = False
        port.send(b"L")


def _stop(signal, frame):
    """The host says it once: before the code has begun, nothing is to be stopped yet."""
    global armed, _missed, _stopped_turn
    if not armed:
        _missed = True
    else:
        armed = False
        _stopped_turn = state.turns
        port.send(b"K")
        kind, message = _REASONS[signal]
        raise kind(message)


_stopped_turn = None  # as long as state.turns is this, the turn in progress has been stopped


class _Patience:
    """How long a wait for a child goes on after a KeyboardInterrupt, for the child to end of the same: not when the host stops."""

    def __get__(self, process, kind=None):
        return 0 if _stopped_turn == state.turns else process.__dict__.get("_sigint_wait_secs", 0)

    def __set__(self, process, seconds):
        process.__dict__["_sigint_wait_secs"] = seconds


def install():
    for signal in _REASONS:
        _signal.signal(signal, _stop)
    from subprocess import Popen
    Popen._sigint_wait_secs = _Patience()


def register():
    """For each process that is a session."""
    for signal in _REASONS:
        trip.set_action(signal, _stop)
