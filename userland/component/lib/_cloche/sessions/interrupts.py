"""A host of components stops a guest from outside, with epochs or fuel, and tells it nothing: no code ever raises these here."""


class ExecutionStopped(KeyboardInterrupt):
    """The host has stopped this execution."""


class BudgetExceeded(ExecutionStopped):
    """It has computed more than it may."""


for _kind in (ExecutionStopped, BudgetExceeded):
    _kind.__module__ = "cloche"

armed = False


def arm():
    """Code of the user begins."""
    global armed
    armed = True
