# packages: numpy
"""Arrays of indices have 32 bits in the guest: what fits is as natively, and nothing else is cut off in silence."""
import pickle
import warnings

import numpy as np

warnings.simplefilter("ignore")


def arrays():
    """By name: the same numbers as indices, and as the default integers that indices are natively."""
    first = np.nonzero(np.ones(50, bool))[0]
    many = {"idx": first, "big": (first * 40_000_000 + 3).astype(np.intp), "neg": (-40_000_000 * first).astype(np.intp),
            "every": (np.repeat(first, 2) * 40_000_000).astype(np.intp)[::2], "table": (first * 40_000_000).astype(np.intp).reshape(5, 10),
            "one": np.array(70000).astype(np.intp), "long": np.arange(20000).astype(np.intp), "none": first[:0]}
    return many, {name: array.astype(int) for name, array in many.items()}


def outcome(statement, names):
    """The arrays that a statement leaves, or its error."""
    names |= {"np": np, "mask": np.arange(50) % 3 == 0}
    try:
        exec(statement, names)
    except Exception as error:
        return type(error).__name__, str(error)
    return names["r"] if "r" in names else [names[name] for name in ("idx", "big", "neg", "every", "table", "one", "long")]


def is_same(first, second):
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True)) if isinstance(first, list) else np.array_equal(first, second)


def fits(result):
    """Whether all numbers have 32 bits, so that there is nothing to refuse."""
    return all(int(np.min(part, initial=0)) >= -2**31 and int(np.max(part, initial=0)) < 2**31
               for part in (result if isinstance(result, list) else [np.asarray(result)]))


STATEMENTS = [
    *(f"{name} {operator}= {value}" for name in ("idx", "big", "neg", "every", "table", "one", "long", "none")
      for operator in ("+", "-", "*") for value in ("1", "3", "70000", "2**30", "2**31", "-2**31", "2**40", "np.int64(2**33)", f"{name}", f"{name}[::-1]"
                                                    if name != "one" else "5", f"{name}.astype(int) * 2**20", "np.uint32(3000000000)")),
    *(f"{name} {rest}" for name in ("idx", "big") for rest in ("**= 2", "**= 7", "<<= 3", "<<= 40", "//= 7", "%= 1000", "&= 2**40", "|= 2**40")),
    *(f"{name}{place} = {value}" for name in ("idx", "big", "every") for place in ("[:]", "[...]", "[mask]", "[[1, 2]]", "[3]", "[::2]", ".flat")
      for value in ("7", "2**31", "2**40", "np.int64(2**33)", "1e12", "-1.5", "np.uint64(2**33)", "np.uint32(2**31)")),
    *(f"idx[:] = np.full(50, 2**31 + 5, {kind!r})" for kind in "qQIgdfFDO"),
    *(f"idx[:] = np.full(50, 7, {kind!r})" for kind in "bhilqBHILQgdfeFDO?"),
    *(f"np.{function}" for function in (
        "copyto(idx, np.full(50, 2**40))", "copyto(idx, 2**31, where=mask)", "put(idx, [1, 2], 2**40)", "put(idx, [1], np.array([2**40]))",
        "putmask(idx, mask, np.int64(2**40))", "place(idx, mask, [2**40])", "fill_diagonal(table, 2**40)",
        "add(big, 2**30, out=big)", "add(big, big, out=big, where=mask)", "multiply(big, 70000, out=idx)", "subtract(neg, 2**31, out=neg)",
        "square(big, out=big)", "negative(neg, out=neg)", "cumsum(big, out=big)", "cumprod(big[:3], out=idx[:3])", "left_shift(idx, 30, out=idx)",
        "add.at(idx, [3, 3], 2**31 - 1)", "add.at(idx, [3, 3], 2**31)", "add.at(big, [3, 3, 5], np.array([2**40, 1, 1]))",
        "multiply.at(big, [3, 3], 70000)", "subtract.at(neg, np.array([1, 1]), big[1:3])", "take(np.array([2**40]), [0], out=idx[:1], mode='clip')",
        "concatenate([np.array([2**40]), big[1:]], out=big)", "einsum('i,i->i', big, big, out=big)", "rint(big * 1e3, out=big, casting='unsafe')")),
    "idx.fill(2**40)", "idx.fill(np.int64(2**40))",
    *(f"r = {expression}" for expression in (
        "big + big", "big + big + big", "big - neg", "neg - big", "-neg", "abs(neg)", "big + 2**30", "big + 2**31", "2**40 - big", "big - 2**62", "big * 2**31",
        "big + np.int32(2**30)", "big + big.astype('i4')", "np.maximum(big, 2**40)", "np.clip(big, 0, 2**40)", "np.minimum(big, -2**40)", "big % 2**40",
        "big < 2**40", "big == 2**33", "np.add.outer(big, big)", "np.add.accumulate(big)", "np.subtract.accumulate(neg)", "np.subtract.reduce(big)",
        "np.add.reduceat(big, [0, 20])", "np.add(big, big, dtype=np.intp)", "np.multiply(big, big, dtype=np.intp)", "np.power(big, 3, dtype=np.intp)",
        "np.left_shift(big, 9, dtype=np.intp)", "big.sum(dtype=np.intp)", "big.cumsum(dtype=np.intp)", "big.prod(dtype=np.intp)",
        "np.matmul(big, big, dtype=np.intp)", "np.einsum('i,i', big, big, dtype=np.intp)", "np.lcm(big, big + 1)", "np.diff(neg, 2)", "np.trapezoid(big)",
        "np.cross(big[:3], big[3:6])", "np.cross(big[:3], [2**33, 1, 7])", "np.linalg.cross(table[:, :3], table[:, 3:6])",
        "np.array([2**40]).astype(np.intp)", "np.array([2**31], 'u4').astype(np.intp)", "np.array([-1e15]).astype(np.intp)", "np.array([2**33], 'f4').astype(np.intp)",
        "np.array([2**40], 'm8[s]').astype(np.intp)", "np.array([5], 'm8[s]').astype(np.intp)", "np.array(['2001-01-01'], 'M8[ns]').astype(np.intp)",
        "np.array([-1]).astype(np.uintp)", "np.array([-1], 'i1').astype(np.uintp)", "np.array([2**40]).astype(np.uintp)", "np.array([1e12]).astype(np.uintp)",
        "np.arange(0, 2**34, 2**30, dtype=np.intp)", "np.arange(5, dtype=np.intp)", "np.fromstring('3000000000 4', dtype=np.intp, sep=' ')",
        "np.fromstring('30 4', dtype=np.intp, sep=' ')", "np.full_like(idx, 2**40)", "np.ma.array(big, mask=mask) * 70000 + 0", "np.uintp(3) - np.uintp(5)",
        "np.array([2**31, 3]).astype(np.intp, casting='same_kind')", "np.arange(3, dtype=np.uintp) + 2**40", "np.arange(3, dtype=np.uintp) << 40",
        "np.arange(3, dtype=np.uintp) - 1", "np.arange(3, dtype=np.uintp) > -1", "np.arange(3, dtype=np.uintp) * big[:3]",
        "np.maximum.reduce(np.arange(3, dtype=np.uintp))", "np.einsum('i->', np.full(9, 2**31, np.uintp))", "~np.arange(3, dtype=np.uintp)",
        "-np.arange(3, dtype=np.uintp)", "np.arange(3, dtype=np.uintp) ** np.uint8(40)", "big // 2**40", "-2**40 // (big + 1)", "2**40 % big[1:]", "big & 2**40",
        "big | -2**40", "big + np.array([2**40])", "np.array([2**40]) + big", "big + 2**40 + np.int64(2**40)", "idx + np.int64(2**40) - 2**40",
        "np.hypot(big, 2**40).astype(int)", "big > 2**31 + 5", "np.not_equal(big, -2**40)", "np.divmod(big, 2**31)[1]", "np.arange(5)[np.array([2**32])]")),
    *(f"{array} = long.astype({kind!r}); {array}[{place}] = 2**31; {what}" for array in ("a",) for kind in ("i8", "u8", "u4", "f8", "f4") for place in (0, 12345, 19999)
      for what in ("r = a.astype(np.intp)", "r = a[::-1].astype(np.intp)", "long[:] = a", "long += a.astype('i8')")),
    *(f"long[{place}] = 2**31 - 1; {what}" for place in (0, 12345, 19999) for what in ("long += 1", "r = long + long", "r = 1 + long", "long *= 2", "r = -1 - long")),
]

counted = {"as natively": 0, "refused or as natively": 0}
for statement in STATEMENTS:
    indices, integers = arrays()
    result, expected = outcome(statement, indices), outcome(statement.replace("np.intp", "int").replace("np.uintp", "'u8'") if statement.startswith("r =")
                                                            and "np.uintp(" not in statement else statement, integers)
    kind = "refused or as natively"
    if isinstance(expected, tuple):
        good = isinstance(result, tuple)
    elif isinstance(result, tuple):
        good = result[0] == "OverflowError" and ".astype(int)" in result[1] and not fits(expected)
    else:
        good = is_same(result, expected)
        kind = "as natively" if fits(expected) else kind
    counted[kind] += 1
    if not good:
        print("wrong:", statement, result, expected)
print(counted["as natively"] > 150, sum(counted.values()) == len(STATEMENTS))

idx, big = arrays()[0]["idx"], arrays()[0]["big"]
mask = idx % 3 == 0
for expression in """
(idx + 2**40)[-1]
(2**33 - idx)[-1]
(idx - 3_000_000_000)[:2]
(idx + 2_000_000_000)[-1] + 2_000_000_000
np.clip(idx, 2**40, 2**41)[0]
np.maximum(idx, 2**35)[3]
np.cross(big[:3], big[3:6])
np.cross(big[:6].reshape(2, 3), big[6:9])
np.intp(2**31 - 1) + np.intp(1)
np.intp(5) * 2**40
np.intp(2**40)
np.intp(1e12)
np.uintp(2**40)
np.array([np.intp(7)]) * 2**40
(pickle.loads(pickle.dumps(np.ma.array(big, mask=mask))) * 2**20)[1]
np.einsum("i,i", big, big, dtype=np.intp)
np.matmul(idx, idx, dtype=np.intp)
(np.arange(3, dtype=np.uintp) - 1)[0]
""".strip().splitlines():
    print(expression, "=", eval(expression))
for statement in ("idx **= -1", "idx += 1.5", "idx += 2**63", "idx[0] = 2**63", "idx[0] = 'x'", "idx[0] = None", "idx[0] = 10**5000"):
    print(statement, "is", outcome(statement, {"idx": np.nonzero(np.ones(3, bool))[0]})[0])
table = np.zeros((3, 3))
for count in (1, 2, 3, 100, 9000, 20000):
    for place in (0, count - 1):
        for value in (2**31, 2**32, -2**31 - 1, 2**40):
            large = np.zeros(count, int)
            large[place] = value
            for read in (lambda: table[large], lambda: table[large, large], lambda: table[0, large], lambda: table[large.reshape(1, -1)],
                         lambda: table[list(large)], lambda: table.take(large), lambda: table[large.astype("u8" if value > 0 else ">i8")],
                         lambda: table.__setitem__(large, 1), lambda: table.__setitem__((0, large), 1), lambda: np.add.at(table, large, 1),
                         lambda: table[:, large], lambda: np.put(table, large, 1), lambda: np.take_along_axis(table, large[:, None], 0),
                         lambda: table[large[::-1]], lambda: np.ravel_multi_index((large, large), (3, 3)), lambda: np.choose(large, [1, 2])):
                try:
                    print("taken:", count, place, value, read())
                except (IndexError, OverflowError, ValueError) as error:
                    if "index" in str(error) and not any(str(number) in str(error) for number in (value, value + 3)) and "invalid" not in str(error):
                        print("another:", count, place, value, error)
