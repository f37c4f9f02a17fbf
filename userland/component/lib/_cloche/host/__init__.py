"""As much of a process as the shared modules ask for."""
