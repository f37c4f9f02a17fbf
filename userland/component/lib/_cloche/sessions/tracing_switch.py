"""The world has no word for tracing: executions are traced as its hosts expect it, until the session's code says otherwise."""

on = True
options = None  # of the tracer that says more


def set_tracing(on_, *, files=(), values=True, rate=100_000):
    """Whether executions from the next one on are traced, and in full: lines after an `await` too, arguments and values."""
    global on, options
    on = bool(on_)
    options = {"files": list(files), "values": bool(values), "rate": int(rate)} if on else None
