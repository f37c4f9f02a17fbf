"""As much of a session's state as the shared modules ask for."""

turns = 0  # executions so far
