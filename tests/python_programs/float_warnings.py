# packages: numpy
"""What numpy warns of: divisions by zero, overflow and invalid values in floats, as Linux's flags tell."""
import warnings

import numpy as np

zero, one, big, inf, nan = np.array([0.0, 1.0, 1e308, np.inf, np.nan]).reshape(5, 1)
single, small = np.float32([0.0, 1.0, 3e38, np.inf, np.nan]), np.float16([0.0, 1.0, 6e4, np.inf, np.nan])
many = np.linspace(1, 2, 5000)
holes = many.copy()
holes[::7] = np.nan
spoilt = many.copy()
spoilt[4321] = 0
turned = np.asfortranarray(np.outer(many[:50], many[:30]))
complexes = np.array([1 + 1j, 0, 1e300 + 1e300j])


def put(array, function, other):
    array = array.copy()
    function(array, other, out=array)
    return array[-1]


EXPRESSIONS = """
one / zero
zero / zero
inf / zero
nan / zero
-one / zero
one // zero
zero // zero
one % zero
inf % one
inf // one
np.divmod(one, zero)
np.fmod(one, zero)
big * big
big + big
-big - big
inf - inf
inf * zero
nan + one
np.sqrt(-one)
np.log(zero)
np.log(-one)
np.log(inf)
np.log2(zero)
np.log10(zero)
np.log1p(-one)
np.exp(big)
np.exp(inf)
np.exp2(big)
np.expm1(big)
np.sinh(big)
np.cosh(big)
np.sin(inf)
np.tan(inf)
np.arcsin(one * 2)
np.arccos(one * 2)
np.arccosh(zero)
np.arctanh(one)
np.arctanh(one * 2)
np.reciprocal(zero)
np.reciprocal(np.array([0, 1, 2]))
np.reciprocal(np.array([3, 0], "int8"))
np.reciprocal(np.array([3, -1], "int16"))
np.reciprocal(np.uint64(0))
zero ** -one
(-one) ** 0.5
big ** 2
big ** 2.5
np.float_power(zero, -1)
np.hypot(big, big)
np.logaddexp(inf, -inf)
np.square(big)
np.ldexp(one, 5000)
np.degrees(big)
np.maximum(nan, one)
np.frexp(np.array([inf[0], nan[0], 6.0]))[1]
nan < one
np.floor(inf)
single / single
single * single
single + single
np.log(single)
small / small
small * small
complexes / complexes
complexes * np.array([2, 3, 1e10])
complexes / 0
np.array([1, 2]) / 0
np.array([0, 2]) / 0
np.arange(3) / np.arange(3)
1 / many
(many / spoilt).max()
(many[::3] / spoilt[::3]).max()
many / holes
holes / spoilt
(holes * spoilt)[1]
(turned / (turned - turned[3])).shape
(turned.T - np.inf).shape
put(many, np.divide, spoilt)
put(spoilt, np.divide, spoilt)
put(many, np.multiply, 1e308)
put(holes, np.add, np.inf)
np.array([1e308, 1e308]).sum()
np.array([np.inf, -np.inf]).sum()
np.array([np.inf, 1]).sum()
np.array([np.nan, 1]).sum()
np.array([1e308, 10]).prod()
np.array([[1e308, 1], [1e308, 1]]).sum(axis=0)
np.array([[1e308, 1], [1e308, 1]]).sum(axis=1)
np.cumsum([1e308, 1e308, 1])
np.cumprod([1e200, 1e200, 0])
np.array([1e308, 1e308]).mean()
np.array([]).mean()
np.array([1.0]).var(ddof=1)
np.corrcoef([1, 1, 1], [1, 2, 3])
np.divide(1.0, many - many, where=many > 3, out=np.zeros(5000)).sum()
np.float64(1) / 0
np.float64(0) / 0
1 / np.float64(0)
1.0 / np.float64(0)
np.float64(inf[0]) / 0
np.float64(nan[0]) / 0
np.float64(1) // 0
np.float64(1) % 0
divmod(np.float64(1), 0)
np.float64(0) ** -1
np.float64(1e308) * 10
np.float64(1e308) + np.float64(1e308)
np.float64("inf") - np.float64("inf")
np.float32(3e38) * 10
np.float32(1) / np.float32(0)
np.float32(1) / 0
np.int64(1) / np.int64(0)
np.int8(0) / np.int8(0)
np.float64(1) / np.int64(0)
np.float64(2) ** 0.5
np.sqrt(np.float64(-1))
np.log(0)
np.array([1, 2]) // 0
np.int64(1) // np.int64(0)
np.int32(2**31 - 1) + np.int32(1)
1.0 / np.int64(0)
np.float32(1) / np.int64(0)
np.float64(1) / np.array(0.0)
np.array(1e308) * np.float64(10)
np.float32(0) / 5
1e300 * np.float32(10)
np.bool_(True) / np.float64(0)
np.divide.reduce([1.0, 2.0, 0.0])
np.divide.at(one.copy(), [0], 0)
np.timedelta64(5, "s") / np.timedelta64(0, "s")
np.array([5, 0], "m8[s]") / np.timedelta64(0, "s")
np.float16(65504) + np.float16(65504)
np.float16(65504) * 2
np.float16(1) / np.float16(0)
np.float16(0) / 0
np.float16("inf") - np.float16("inf")
np.float16(1) // np.float16(0)
divmod(np.float16(1), np.float16(0))
np.float16(0) ** np.float16(-1)
np.float16(-1) ** np.float16(0.5)
np.float16(65504) * np.float32(2)
np.float16(2) * 3.0
np.complex128(1e308) + np.complex128(1e308)
np.complex128(0) / np.complex128(0)
np.complex128(1) / 0
np.complex64(3e38) * 10
np.complex128(1e308) * 10.0
1e10 * np.complex128(1e308)
np.complex128(1 + 1j) / 2
""".strip().splitlines()

np.set_printoptions(precision=6)
for expression in EXPRESSIONS:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result = eval(expression)
    print(expression, "->", result if np.ndim(result) < 2 and np.size(result) < 9 else np.shape(result))
    print(*(f"  [{warning.category.__name__}: {warning.message}]" for warning in told))

# Wherever in an array it is, whatever of the operands is written over, and the results are those of single numbers.
for kind in "fd":
    most = np.finfo(kind).max
    for size in (1, 16, 33, 5000):
        found = set()
        for place in {0, size // 2, size - 1}:
            seen = [*{0, place, size - 1 - place, size - 1}]
            values = np.linspace(1, 2, size, dtype=kind)
            odd = values.copy()
            odd[place] = most
            for function, scalar, endless in ((np.add, most, most), (np.subtract, -most, -most), (np.multiply, 2, 2), (np.divide, 0.5, 0.5),
                                              (np.divide, 0.25, 0.0), (np.add, 1, 1), (np.multiply, 0.5, 0.5)):
                other = np.ones(size, kind)
                other[place] = endless
                single = odd.dtype.type(scalar)
                for first, last, out in ((odd, other, None), (other, odd, None), (odd, single, None), (single, odd, None), (odd, odd, None),
                                         (odd.copy(), other, 0), (odd, other.copy(), 1), (odd[::-1], other[::-1], None)):
                    with warnings.catch_warnings(record=True) as told:
                        warnings.simplefilter("always")
                        expected = [function(first[i] if np.ndim(first) else first, last[i] if np.ndim(last) else last)
                                    for i in seen]
                        wanted = {str(warning.message).replace("scalar ", "") for warning in told}
                        told.clear()
                        made = function(first, last, out=None if out is None else (first, last)[out])
                    found.add(made[seen].tolist() == expected and {str(warning.message) for warning in told} == wanted)
        print(kind, size, found)
with np.errstate(over="ignore"):
    sums = np.add.accumulate(np.full(100, 1e307))
print(np.isinf(sums).sum(), sums[15])
shifted = np.ones(100)
np.add(shifted[:-1], shifted[1:], out=shifted[1:])
np.multiply(shifted[1:], 3, out=shifted[:-1])
print(shifted.min(), shifted.max(), shifted.sum())

for state in ("raise", "ignore"):
    with np.errstate(all=state):
        for expression in EXPRESSIONS[:4] + ["np.float64(1) / 0", "big + big"]:
            try:
                eval(expression)
                print(state, expression, "is done")
            except FloatingPointError as error:
                print(state, expression, error)
with np.errstate(divide="raise", under="ignore"):
    print(one * 1e-300 * 1e-300)
print(np.geterr())
told = []
with np.errstate(divide="call", call=lambda *what: told.append(what)):
    one / zero
print(told)

# What a number is next to may be infinite.
for kind in "edfg":
    most = np.finfo(kind).max
    for count in (1, 3, 40):
        first = np.full(count, most, kind)
        for last in (np.inf, -np.inf, np.nan, most, 0):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                made = [np.isinf(np.nextafter(first, np.array(last, kind))).any(), np.isinf(np.nextafter(-first, np.array(last, kind))).any(),
                        np.isinf(np.nextafter(np.full(count, np.inf, kind), np.array(last, kind))).any()]
            print(kind, count, last == most or last, made, [str(warning.message) for warning in told])
for kind in "df":
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        print(kind, np.isfinite(np.spacing(np.array([np.finfo(kind).max, 1, 0], kind))), np.spacing(np.array([np.inf, np.nan, -np.inf], kind)))
        np.spacing(np.finfo(kind).max)
    print([str(warning.message) for warning in told])
