# SPDX-License-Identifier: Apache-2.0
"""`python -m cloche` is the program `cloche`."""
from ._scripts import cloche

cloche()
