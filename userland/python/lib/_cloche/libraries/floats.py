"""Which of numpy's functions warn of divisions by zero, overflow and invalid values in floats, and which conversions are as on x86-64.

`_floats` (userland/python/extensions/floats.c) sees them by results that are no finite numbers. An infinite one is a division by zero
or an overflow: that differs. `_casts` (casts.c beside it) has the conversions.
"""
from . import imports

PLAIN, POLES, BY_ZERO, POWERS = 1, 2, 3, 4
RULES = {
    # An infinite result of finite numbers is an overflow,
    PLAIN: """add subtract multiply square exp exp2 expm1 sinh cosh sin cos tan sqrt arcsin arccos arccosh hypot logaddexp logaddexp2
              ldexp degrees rad2deg""",
    # a division by zero,
    POLES: "log log2 log10 log1p arctanh",
    # one where the last operand is zero,
    BY_ZERO: "divide floor_divide remainder fmod divmod reciprocal",
    # and one where the first is.
    POWERS: "power float_power",
}
# What `_floats` computes itself where it can, in the order of its numbers.
ARITHMETIC = "add subtract multiply divide".split()

FLOATS, INTEGERS = "efdgFDG", "bBhHiIlLqQ"


def _replace_casts():
    import _casts
    from numpy._core._multiarray_umath import _get_castingimpl, dtype
    for source, target in [*((source, target) for source in FLOATS for target in INTEGERS),
                           *((source, target) for source in "dD" for target in "fF")]:
        source, target = dtype(source), dtype(target)
        _casts.replace(_get_castingimpl(type(source), type(target)), source.num, target.num)


def _watch(umath):
    import _floats
    _replace_casts()
    from numpy._core._multiarray_umath import dtype, generic, inexact
    for rule, names in RULES.items():
        for name in names.split():
            _floats.watch(getattr(umath, name), rule, ARITHMETIC.index(name) + 1 if name in ARITHMETIC else 0)
    _floats.watch_numbers(inexact, generic, *(dtype(kind).type for kind in "dfeDF"))


def install():
    imports.after("numpy._core.umath", _watch)
