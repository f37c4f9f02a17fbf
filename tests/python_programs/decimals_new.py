# What the library of 3.15 has beyond that of older interpreters, with the values that its manual and its own Python code give.
import warnings
import decimal
from decimal import *

for value in (314, True, 0.1, -0.0, Decimal("3.140"), Decimal("NaN"), 10**30):
    print(repr(Decimal.from_number(value)))
for value in ("1", (0, (1,), 0), [1], None, 1j):
    try:
        print(Decimal.from_number(value))
    except TypeError as error:
        print(error)


class Own(Decimal):
    pass


print(type(Own.from_number(1)), type(Own.from_number(Decimal(1))), type(Own.from_number(0.5)), type(Decimal.from_number(Own(2))), Own.from_number(0.5))
for bits in (32, 64, 128, 256):
    print(IEEEContext(bits))
for bits in (0, -32, 33, 544, 2**40, "32"):
    try:
        print(IEEEContext(bits))
    except (ValueError, TypeError, OverflowError) as error:
        print(type(error).__name__)
print(IEEE_CONTEXT_MAX_BITS, MAX_PREC, MAX_EMAX, MIN_EMIN, MIN_ETINY, HAVE_THREADS, HAVE_CONTEXTVAR, SPEC_VERSION)
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    print(decimal.__version__, [str(one.message) for one in seen])
try:
    decimal.nothing
except AttributeError as error:
    print(error)
