"""System calls of the kernel, and what `os` is over them."""
