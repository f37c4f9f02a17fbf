# packages: numpy
"""Floats become integers as on x86-64, also those that do not fit, and numpy warns of these."""
import warnings

import numpy as np

ODD = [0.0, -0.0, 1.9, -1.9, -1.0, 127.0, 128.0, -128.9, -129.0, 255.0, 256.0, 300.7, 32767.5, 32768.0, 65535.9, 65536.0, -32769.0,
       2.0**31 - 1, 2.0**31, -(2.0**31), -(2.0**31) - 0.5, -(2.0**31) - 1, 2.0**32 - 1, 2.0**32, 2.0**32 + 300, -(2.0**32), 2.0**53 + 2, 2.0**62,
       2.0**63, 2.0**63 + 2048, -(2.0**63), -(2.0**63) - 2048, 2.0**64 - 2048, 2.0**64, 1e30, -1e30, np.inf, -np.inf, np.nan]
INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


def told(make):
    """What is made, and what was warned of."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        made = make()
    return made, sorted({f"{warning.category.__name__}: {warning.message}" for warning in found})


for kind in (np.float64, np.float32, np.float16, np.complex128, np.complex64):
    with np.errstate(all="ignore"):
        values = np.array(ODD).astype(kind)
    all_values = values
    for target in INTEGERS:
        # Beyond these x86-64 itself has two answers for uint32, by how the numbers lie.
        values = all_values[(all_values.real >= -(2.0**31)) & (all_values.real < 2.0**32)] if target is np.uint32 else all_values
        made, words = told(lambda: values.astype(target))
        print(kind.__name__, target.__name__, made.tolist(), words)
        # However they lie, one by one, as single numbers, and in parts of many.
        spread = np.zeros(3 * len(values), kind)
        spread[::3] = values
        room = np.zeros(1 + values.nbytes, np.uint8)[1:].view(kind) if values.nbytes else values
        room[:] = values
        into = np.zeros((2, len(values)), target)
        ones = []
        for value in values:
            one, _ = told(lambda: np.array([value]).astype(target))
            ones.append(one[0])
            ordinary, _ = told(lambda: value.astype(target))
            ones[-1] = ones[-1] if ones[-1] == ordinary else None
        told(lambda: into.__setitem__(1, values))
        others = [told(lambda: spread[::3].astype(target))[0], told(lambda: room.astype(target))[0],
                  told(lambda: values[::-1].astype(target))[0][::-1], into[1], np.array(ones, target)]
        large, large_words = told(lambda: np.tile(values, 500).astype(target))
        print(all((made == other).all() for other in others), (large.reshape(500, -1) == made).all(), large_words == words)

for value in (1.0, 300.0, -1.0, 1e10, 2.0**63, np.nan):
    for target in INTEGERS:
        words = told(lambda: np.float64(value).astype(target))[1]
        if words:
            print(value, target.__name__, words)

for source, target in ((np.float64, np.float32), (np.complex128, np.complex64)):
    for value in (1e300, 1.0, np.inf, np.nan, 3.5e38, 1e-300):
        print(source.__name__, value, *told(lambda: np.full(20, value, source).astype(target)[:1]))
    print(told(lambda: np.array([1e300, 1.5] * 50)[::2].astype(target)[:1]))

with np.errstate(invalid="raise", over="raise"):
    for make in (lambda: np.array([np.nan]).astype(int), lambda: np.array([1e300]).astype("f"), lambda: np.array([-1.0]).astype("B")):
        try:
            print(make())
        except FloatingPointError as error:
            print(error)
total = np.zeros(4, np.uint8)
np.add([250.0, -3.0, 1e20, 2.5], 10, out=total, casting="unsafe")
print(total)
total[1:3] = np.array([-1.0, 511.0])
print(total)
