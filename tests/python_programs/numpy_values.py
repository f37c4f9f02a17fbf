# packages: numpy
"""Values of numpy that are to be found again: by their hash, and by conversions that may not change them."""
import warnings

import numpy as np

warnings.simplefilter("error")

# A number hashes as Python's of the same value, whatever its size, so dictionaries and sets find it.
for kind in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
    ends = np.iinfo(kind)
    tried = {ends.min, ends.min + 1, ends.max - 1, ends.max, 0, 1, -1, -2, 2**31 - 1, 2**31, 3 * 10**9, -2**31, 1 - 2**31, 2**32 - 1}
    missed = [value for value in sorted(tried) if ends.min <= value <= ends.max and {value: 0}.get(np.array([value], kind)[0]) is None]
    print(kind, "misses", missed)
print(np.uint32(3_000_000_000) in {3_000_000_000}, len({np.uint32(4294967295), 4294967295, np.int64(4294967295)}))

# casting="same_value" converts what stays as it is, and nothing else.
VALUES = (0.0, -0.0, 1.0, -1.0, 1.5, 127.0, 128.0, 255.0, 256.0, -128.0, 300.0, 65504.0, 65536.0, 2.0**31 - 1, 2.0**31, -2.0**31, 2.0**32 - 1,
          2.0**32, 2.0**53, 2.0**63, -2.0**63, 2.0**64, 1e300, 0.1, np.inf, -np.inf, np.nan)
TARGETS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, np.float32)


def converted(array, target):
    try:
        return array.astype(target, casting="same_value")
    except ValueError as error:
        return error


for source in (np.float16, np.float32, np.float64, np.complex64, np.complex128):
    for target in TARGETS:
        taken = []
        for value in VALUES:
            with np.errstate(all="ignore"):
                one = np.array([value], source)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = converted(one, target)
                # In the midst of many, side by side or not.
                many = np.concatenate((np.zeros(600, source), one, np.zeros(9, source)))
                assert all(isinstance(converted(array, target), ValueError) == isinstance(made, ValueError)
                           for array in (many, many[::-1], np.repeat(many, 2)[::2])), (source, target, value)
            if isinstance(made, ValueError):
                message = made
            else:
                taken.append(float(made[0]))
        print(source.__name__, target.__name__, taken, message)

for source, target in ((complex, int), (complex, np.float32), (np.complex64, np.uint8), (complex, np.complex64)):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print([converted(np.array([value], source), target) for value in (1 + 0j, 1 + 1j, 1.5 + 0.1j)])
print(np.array([-1.0]).astype(np.uint8), np.array([1.5]).astype(int))

# Long doubles, which have more than the 53 bits of a double.
LONG = [np.longdouble(text) for text in ("300", "-1.5", "40000", "70000.9", "-40000", "2147483647.5", "2147483648", "-2147483648.75", "-2147483649",
        "4294967295", "5e9", "9007199254740993", "9223372036854775807", "9.3e18", "18446744073709551615", "18446744073709551616", "-9.3e18",
        "1e30", "1e4000", "nan", "inf", "-inf", "-0.0", "0.25")]
for target in TARGETS[:-1]:
    made, words, kept = [], [], []
    for value in LONG:
        array = np.array([value, 1, 2])
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            number = array.astype(target)
            assert number[0] == value.astype(target) == array[::2].astype(target)[0], (value, target)
            made.append(int(number[0]))
            words.append(len(told))
        kept.append(int(not isinstance(converted(array, target), ValueError)))
    print(target.__name__, made, words, kept, converted(np.array(LONG), target))
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    print(np.array([np.clongdouble(3.5)]).astype(np.uint8), converted(np.array([np.clongdouble(1 + 1j)]), int))

# A time that is none is no invalid number.
spans = np.array([90, "NaT", 30], "timedelta64[s]")
print(spans / np.timedelta64(1, "m"), spans / np.timedelta64("NaT", "s"), np.timedelta64("NaT", "s") / np.timedelta64(3, "s"))
warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as told:
    print(spans / np.timedelta64(0, "s"), np.float16(2) % 0, np.float16(0) % 0)
print([str(warning.message) for warning in told])
