import copy, decimal, io, math, pickle, sys
from decimal import *
from fractions import Fraction

print(decimal.__libmpdec_version__ != "", "_decimal" in sys.modules, Decimal.__module__)
values = [Decimal(text) for text in ("0", "-0", "1", "-1.50", "3.14159265358979323846", "1E+20", "9.99E-30", "123456789012345678901234567890.5",
                                     "Infinity", "-Infinity", "NaN", "sNaN123")]
context = Context(prec=20, traps=[])
setcontext(context)
unary = ("abs", "minus", "plus", "sqrt", "ln", "log10", "exp", "logb", "next_plus", "next_minus", "normalize", "to_integral_value", "to_integral_exact",
         "number_class", "is_signed", "is_subnormal", "is_canonical", "to_eng_string", "to_sci_string", "logical_invert", "canonical")
binary = ("add", "subtract", "multiply", "divide", "divide_int", "remainder", "remainder_near", "power", "compare", "compare_signal", "compare_total",
          "compare_total_mag", "max", "min", "max_mag", "min_mag", "quantize", "scaleb", "shift", "rotate", "same_quantum", "copy_sign",
          "next_toward", "logical_and", "divmod")


def told(function, *arguments):
    context.clear_flags()
    try:
        result = function(*arguments)
    except Exception as error:
        result = f"{type(error).__name__}: {error}"
    return f"{result} {','.join(sorted(flag.__name__ for flag, is_set in context.flags.items() if is_set))}"


for name in unary:
    print(name, *(told(getattr(context, name), value) for value in values), sep=" | ")
for name in binary:
    print(name, *(told(getattr(context, name), x, y) for x in values[1:9] for y in (values[2], values[3], values[5], values[10])), sep=" | ")
print(context.fma(2, 3, 4), context.power(7, 20, 1000), pow(Decimal(7), 20, 1000))

setcontext(Context(prec=28))
for text in ("1", "1.", ".5", "1e5", "1_000.5", " 2 ", "+3", "inf", "nan12", "", "e5", "1__0", "0x1", "\u0663.\u0661"):
    try:
        print(repr(text), Decimal(text), Decimal(text).as_tuple())
    except InvalidOperation as error:
        print(repr(text), repr(error))
for value in (10**40, -10**9, 2**30, 2**30 - 1, 2**60 + 1, 0.1, -0.0, float("inf"), 5e-324, True, (1, (1, 2, 3), -2), (0, (0,), "F"), [0, [7], 3]):
    print(value, Decimal(value))
print([int(Decimal(text)) for text in ("1e30", "-7.9", "0", "1073741824", "1152921504606846976", "-1152921504606846977.5")])
print(Decimal("0.75").as_integer_ratio(), Decimal("-1e3").as_integer_ratio(), Fraction(Decimal("0.1")), float(Decimal("0.1")))
print(hash(Decimal(7)) == hash(7), hash(Decimal("0.5")) == hash(0.5) == hash(Fraction(1, 2)), Decimal("1.50") == 1.5, Decimal(3) < 3.5, {Decimal(1): "a"}[1])
print(sorted(map(Decimal, "3 1 2 -1 1.5".split())), max(Decimal(1), Decimal("2.5")), sum(map(Decimal, range(10))))
for pattern in ("", ".2f", ",.3f", "+.1e", "010.2f", ">12", "^12.1f", "%", ".0%", "_<9", "n", "E", "g", " .3", "=+9", "\u20ac>8"):
    print(pattern, [format(Decimal(text), pattern) for text in ("1234567.891", "-0.005", "NaN", "0E+3")])
for value, digits in (("2.675", 2), ("2.5", 0), ("-2.5", 0), ("1234", -2)):
    print(round(Decimal(value), digits), round(Decimal(value)), math.floor(Decimal(value)), math.ceil(Decimal(value)), math.trunc(Decimal(value)))
for rounding in (ROUND_UP, ROUND_DOWN, ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, ROUND_HALF_DOWN, ROUND_HALF_EVEN, ROUND_05UP):
    print(rounding, [str(Decimal(text).quantize(Decimal("0.1"), rounding=rounding)) for text in ("1.25", "-1.25", "1.35", "1.01", "-1.09")])
for value in (Decimal("3.14"), Decimal("sNaN"), Decimal("-0E-5"), getcontext(), decimal.ExtendedContext):
    again = pickle.loads(pickle.dumps(value))
    print(repr(again)[:60], repr(copy.deepcopy(value)) == repr(value))
with localcontext() as inner:
    inner.prec = 5
    print(Decimal(1) / 3, getcontext().prec)
with localcontext(prec=60, rounding=ROUND_UP) as inner:
    print(Decimal(2).sqrt(), Decimal(2).ln(), Decimal(1).exp())
print(Decimal(1) / 3, getcontext().prec)


class Money(Decimal):
    def __new__(cls, value, unit="EUR"):
        self = super().__new__(cls, value)
        self.unit = unit
        return self

    def __str__(self):
        return f"{super().__str__()} {self.unit}"


print(Money("1.5"), type(Money("1.5") + 1), Money.from_float(0.5), isinstance(Money("2"), Decimal), Money("2", "USD").unit)
for function in (lambda: Decimal(1) / 0, lambda: Decimal(0) / 0, lambda: Decimal("x"), lambda: Decimal(1) + 1.5,
                 lambda: Decimal(1).quantize(Decimal("1e-60")), lambda: Decimal(-1).sqrt(), lambda: int(Decimal("nan")), lambda: int(Decimal("inf")),
                 lambda: Decimal("1e500000") ** 3, lambda: Decimal([1]), lambda: Decimal(None), lambda: getcontext().foo, lambda: Context(prec=0),
                 lambda: Decimal.from_float("1"), lambda: Decimal(1) // "a", lambda: format(Decimal(1), "q"), lambda: Context(rounding="up")):
    try:
        print(function())
    except Exception as error:
        print(type(error).__name__, error)
# Beyond what is kept on the stack, and beyond the schoolbook's products.
with localcontext(prec=5000):
    root = Decimal(2).sqrt()
    text = str(root * root)
    print(len(str(root)), str(root)[:50], str(root)[-20:], text[:5], set(text[2:]))
with localcontext(prec=100000, Emax=999999, Emin=-999999):
    big = Decimal(3) ** 100000
    print(big.adjusted(), str(big)[:30], str(big)[-30:])
    print(str(big * big)[-30:], (big * big / big == big), (big * big) // big - big)
