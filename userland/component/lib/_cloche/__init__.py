"""The library of Python sessions (userland/python/lib/_cloche), over the imports of the world `eryx:sandbox` instead of our kernel.

What runs code, pickles names, traces and calls back is shared; port, loop, interrupts, state and streams are this folder's.
"""
FOLDER = __file__.rpartition("/")[0] + "/"
