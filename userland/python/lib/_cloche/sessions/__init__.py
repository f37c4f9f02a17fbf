"""Code that runs in one __main__, call after call, and the host that it speaks with."""
