"""The boot image: how it is made, and where a process that comes out of it begins."""
from .boot_image import build  # noqa: F401  the host's word for it
