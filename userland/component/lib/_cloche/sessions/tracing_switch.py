"""The world has no word for turning tracing on: the session's code does it."""

options = None


def set_tracing(on, *, files=(), values=True, rate=100_000):
    """Whether executions from the next one on are traced: lines, calls, returns, exceptions and callbacks."""
    global options
    options = {"files": list(files), "values": bool(values), "rate": int(rate)} if on else None
