"""`python -m cloche` is the program `cloche`."""
from ._scripts import cloche

cloche()
