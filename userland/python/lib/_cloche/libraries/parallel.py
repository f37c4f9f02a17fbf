"""Libraries that would start threads of C++, which there are none of: they work in the one that asks."""
from . import imports


def _matrix_market(module):
    module.PARALLELISM = 1


def install():
    imports.after("scipy.io._fast_matrix_market", _matrix_market)
