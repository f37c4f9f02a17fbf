"""Libraries that would start threads of C++, which there are none of: they work in the one that asks."""
from . import imports


def _matrix_market(module):
    module.PARALLELISM = 1


def _discrepancy(module):
    checked = module._validate_workers

    def _validate_workers(workers=1):
        checked(workers)
        return 1

    module._validate_workers = _validate_workers


def install():
    imports.after("scipy.io._fast_matrix_market", _matrix_market)
    imports.after("scipy.stats._qmc", _discrepancy)
