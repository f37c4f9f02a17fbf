"""`random.seed` of a float begins with its hash, which has 64 bits on Linux x86-64, and 32 here."""
import random
from math import isfinite

_MODULUS = 2**61 - 1
_INFINITE = 314159
_own = random.Random.seed


def hash_of_64_bits(number):
    """Of a float that is no NaN, as the unsigned number that it is taken for."""
    if isfinite(number):
        above, below = abs(number).as_integer_ratio()
        made = above * pow(below, -1, _MODULUS) % _MODULUS
    else:
        made = _INFINITE
    made = -made if number < 0 else made
    return (-2 if made == -1 else made) & 2**64 - 1


def seed(self, a=None, version=2):
    _own(self, hash_of_64_bits(a) if isinstance(a, float) and a == a else a, version)


def install():
    seed.__qualname__, seed.__module__, seed.__doc__ = "Random.seed", "random", _own.__doc__
    random.Random.seed = seed
    random.seed = random._inst.seed
