"""Ranges of more than 2^31 numbers in `random`: `len` counts no further here, where it does on Linux."""
import random
import types


def length(values):
    try:
        return len(values)
    except OverflowError:
        if type(values) is not range:
            raise
        return -((values.start - values.stop) // values.step)


def choice(self, seq):
    """Choose a random element from a non-empty sequence."""
    try:
        count = len(seq)
    except OverflowError:
        count = length(seq)
    if not count:
        raise IndexError("Cannot choose from an empty sequence")
    return seq[self._randbelow(count)]


def _by_length(function):
    """The library's own function, with our `length` for what it calls `len`."""
    made = types.FunctionType(function.__code__, function.__globals__ | {"len": length}, function.__name__, function.__defaults__)
    made.__kwdefaults__, made.__doc__, made.__qualname__ = function.__kwdefaults__, function.__doc__, function.__qualname__
    return made


def install():
    import secrets
    choice.__qualname__, choice.__module__ = "Random.choice", "random"
    random.Random.choice = choice
    for name in ("sample", "choices"):
        setattr(random.Random, name, _by_length(getattr(random.Random, name)))
    for name in ("choice", "sample", "choices"):
        setattr(random, name, getattr(random._inst, name))
    secrets.choice = secrets._sysrand.choice
