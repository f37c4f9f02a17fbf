"""Which of numpy's functions warn of divisions by zero, overflow and invalid values in floats, and which conversions are as on x86-64.

`_floats` (userland/python/extensions/floats.c) sees them by results that are no finite numbers. An infinite one is a division by zero
or an overflow: that differs. `_casts` (casts.c beside it) has the conversions.
"""
from . import imports

PLAIN, POLES, BY_ZERO, WHOLE_QUOTIENT, POWERS, NEXT, PRODUCT, TOGETHER = 1, 2, 3, 4, 5, 7, 8, 9
RULES = {
    # An infinite result of finite numbers is an overflow,
    PLAIN: """add subtract multiply square exp exp2 expm1 sinh cosh sin cos tan sqrt arcsin arccos arccosh hypot logaddexp logaddexp2
              ldexp degrees rad2deg""",
    # a division by zero,
    POLES: "log log2 log10 log1p arctanh",
    # one where the last operand is zero,
    BY_ZERO: "divide remainder fmod reciprocal",
    WHOLE_QUOTIENT: "floor_divide divmod",
    # and one where the first is.
    POWERS: "power float_power",
    # An overflow of the first operand alone: what it is next to may well be infinite.
    NEXT: "nextafter spacing",
    # An overflow again: sums of products of lines, and
    PRODUCT: "matmul vecdot matvec vecmat",
}
# what makes each result of all operands.
TOGETHER_IN = {"numpy.linalg._umath_linalg": "det", "numpy.fft._pocketfft_umath": "fft ifft rfft_n_even rfft_n_odd irfft"}
# What `_floats` computes itself where it can, in the order of its numbers.
ARITHMETIC = "add subtract multiply divide".split()

FLOATS, INTEGERS = "efdgFDG", "bBhHiIlLqQ"


def _replace_casts():
    import _casts
    from numpy._core._multiarray_umath import _get_castingimpl, dtype
    for source, target in [*((source, target) for source in FLOATS for target in INTEGERS),
                           *((source, target) for source in "dD" for target in "fF"),
                           *((source, target) for source in "gG" for target in "efdFD"),
                           # Indices, of which none is cut off.
                           *((source, "l") for source in "ILqQmM"), *((source, "L") for source in "bhilqQmM")]:
        source, target = dtype(source), dtype(target)
        _casts.replace(_get_castingimpl(type(source), type(target)), source.num, target.num)


def _watch(umath):
    import _floats
    _replace_casts()
    from numpy._core._multiarray_umath import dtype, generic, inexact
    for rule, names in RULES.items():
        for name in names.split():
            _floats.watch(getattr(umath, name), rule, ARITHMETIC.index(name) + 1 if name in ARITHMETIC else 0)
    _floats.watch_numbers(inexact, generic, *(dtype(kind).type for kind in "dfeDFgG"))


def _watch_together(module):
    import _floats
    for name in TOGETHER_IN[module.__name__].split():
        _floats.watch(getattr(module, name), TOGETHER, 0)


def install():
    imports.after("numpy._core.umath", _watch)
    for name in TOGETHER_IN:
        imports.after(name, _watch_together)
