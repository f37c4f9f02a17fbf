# packages: numpy
"""Integers of numpy: types and values of Linux x86-64, where the default integer has 64 bits."""
import copy
import io
import pickle

import numpy as np

a = np.array([100000, -3, 7])
b = np.arange(1, 13).reshape(3, 4)
idx = np.array([0, 40000, 70000])[np.array([0, 1, 2])]
mask = np.array([True, False, True])
i8, u8, i16, u16 = (np.array([100, 3, 7], t) for t in ("int8", "uint8", "int16", "uint16"))
i32, u32, i64, u64 = (np.array([100000, 3, 7], t) for t in ("int32", "uint32", "int64", "uint64"))
f32, f64 = np.array([1.5, 2.5, -3.5], "float32"), np.array([1.5, 2.5, -3.5])
ts = np.array([1700000000, 1700000001])
where = np.nonzero(np.ones(70000, bool))[0]
order = np.argsort(-np.arange(70000))
rs = np.random.RandomState
rng = np.random.default_rng
buffers = []


def loaded(save, array):
    file = io.BytesIO()
    save(file, array)
    file.seek(0)
    return np.load(file, allow_pickle=True)


EXPRESSIONS = """
np.array([100000])**2
np.array([1, 2, 3])
np.array([[1, 2], [3, 4]])
np.array(5)
np.array([-1])
np.array([2**31])
np.array([2**40, 1])
np.array([2**63])
np.array([True, 2])
np.array([1, 2.5])
np.array(range(5))
np.array((1, 2), dtype=int)
np.array([1.9, -1.9]).astype(int)
np.array(["12", "3000000000"]).astype(int)
np.array([1, 2], dtype="int")
np.array([1, 2], dtype=np.int_)
np.array([1, 2], dtype=np.uint)
np.array([1, 2], dtype="uint")
np.array([1, 2], dtype="i4")
np.array([1, 2], dtype="<i8")
np.array([1, 2], dtype="int32")
np.array([1, 2], dtype="uint32")
np.asarray([7, 8])
np.asanyarray(3)
np.arange(5)
np.arange(100000).sum()
np.arange(3, 10, 2)
np.arange(3_000_000_000, 3_000_000_003)
np.arange(0, 10_000_000_000, 3_000_000_000)
np.arange(5, dtype=np.int32)
np.arange(3) * 3_000_000_000
np.arange(70000)[-1] ** 2
np.full(3, 7)
np.full(2, 3_000_000_000)
np.full((2, 2), -1)
np.full_like(a, 5)
np.zeros(3, int)
np.ones(3, dtype=int)
np.empty(0, int)
np.zeros_like(a)
np.ones_like([1, 2])
np.eye(2, dtype=int)
np.identity(2, int)
np.indices((2, 2))
np.mgrid[0:3]
np.ogrid[0:3]
np.meshgrid([1, 2], [3, 4])[0]
np.r_[1:4]
np.r_[1, 2, 3]
np.c_[[1, 2], [3, 4]]
np.linspace(0, 10, 3, dtype=int)
np.linspace(0, 10, 3).astype(int)
np.logspace(0, 3, 4, dtype=int)
np.geomspace(1, 1000, 4).round().astype(int)
np.fromiter(range(3), int)
np.fromfunction(lambda i, j: i * j, (2, 3), dtype=int)
np.fromstring("1 2 3", int, sep=" ")
np.frombuffer(bytes(8), np.int64)
np.vander([1, 2, 3], 3)
np.tri(2, dtype=int)
np.diag([1, 2])
np.dtype(int)
np.dtype("int")
np.dtype("uint")
np.dtype(np.int_)
np.dtype(np.uint)
np.dtype("i4").name
np.dtype("int32").name
np.dtype("uint32").name
np.dtype("int64")
np.dtype("q").name
np.dtype(bool)
np.int_(5)
np.int32(5)
np.int64(5)
np.uint(5)
np.int_(2**40)
np.int_(100000) * np.int_(100000)
np.int64(3_000_000_000) + 1
np.int32(5) + 1
np.iinfo(int).max
np.iinfo(np.int_).bits
np.iinfo(np.uint).max
np.result_type(int)
np.result_type(1)
np.result_type(1, 2.0)
np.result_type(np.int8, 1)
np.result_type(np.int32, int)
np.result_type(bool, 1)
np.promote_types("i4", int)
np.promote_types("u4", "i4")
np.min_scalar_type(10)
np.can_cast(int, np.int64)
np.can_cast(int, np.int32)
np.can_cast("i4", int)
np.issubdtype(np.int_, np.int64)
np.issubdtype(int, np.signedinteger)
np.int_ is np.int64
isinstance(a[0], np.int64)
isinstance(where[5], np.int64)
isinstance(i32[0], np.int32)
repr(a[0])
repr(i32[0])
repr(u32[0])
repr(where[3])
repr(np.argmax(f64))
repr(a)
repr(i32)
type(a.sum()).__name__
type(i32.sum()).__name__
type(i32.max()).__name__
a ** 2
a * a
a * 100000
a + 3_000_000_000
a - 2**40
a // 7
a % 7
-a
abs(a)
a << 20
1 << np.arange(40)[-3:]
a >> 1
a & 0xFFFF
a | 2**40
a ^ 2**40
~a
2 ** np.arange(30, 36)
10 ** np.arange(9, 13)
np.power(10, np.arange(12))
np.power(2, 40)
np.multiply(100000, 100000)
np.add(2**31, 2**31)
np.subtract(-2**31, 1)
np.square(100000)
np.negative(2**31)
np.left_shift(1, 40)
np.maximum(1, 2**33)
np.add(3, 4)
np.sqrt(16)
np.true_divide(7, 2)
np.floor_divide(7, 2)
np.divmod(a, 7)[1]
np.gcd(a, 10)
np.lcm(100000, 70001)
np.lcm(np.argsort([3, 1, 2]) + 65535, 65536)
np.lcm(np.argsort([3, 1, 2]), 2**40)
np.sign(a)
np.absolute(-2**31)
np.ldexp(1.0, np.arange(4))
np.ldexp(1.5, 3)
np.frexp(f64)[1]
np.float_power(a, 2)
ts * 1000
ts * 1_000_000_000
ts[0] * 1000
(ts * 1000).astype("datetime64[ms]")
np.timedelta64(5, "s") * 3
np.arange("2024-01-01", "2024-01-04", dtype="datetime64[D]").astype(int)
i8 * i8
i8 + 1
u8 + u8
i16 * 300
i32 * i32
i32 * 100000
i32 + 1
i32 ** 2
u32 * u32
i32 * i64
i32 + u32
i64 * u64
i32 * 2.0
i32 / 2
i32 * f32
i8 * i32
i32 * a
i32 @ i32
i32.dot(i32)
u32 << 20
mask * 3
mask + mask
mask + 1
mask.sum()
mask * a
mask.astype(int)
i8.sum()
u8.sum()
i16.sum()
u16.sum()
i32.sum()
u32.sum()
i64.sum()
u64.sum()
i32.sum(dtype=np.int32)
i8.prod()
i16.prod()
i32.prod()
u8.prod()
i32.cumsum()
u8.cumsum()
mask.cumsum()
i16.cumprod()
np.cumprod(np.arange(1, 20))
np.prod(np.arange(1, 20))
np.sum([2**31, 2**31])
np.sum([[1, 2], [3, 4]], axis=0)
np.sum(mask)
np.nansum(i32)
np.add.reduce(i32)
np.add.accumulate(i16)
np.add.reduceat(np.arange(8), [0, 4])
np.add.reduceat(np.arange(8), np.array([0, 4]))
np.multiply.reduce(i16)
np.multiply.outer(a, a)
np.add.outer(i8, i8)
np.maximum.reduce(i32)
np.bitwise_or.reduce(i8)
i32.max()
i32.min()
i32.ptp() if hasattr(i32, "ptp") else np.ptp(i32)
i32.mean()
i32.std()
np.mean(a)
np.median([1, 2, 3])
np.average([1, 2, 3], weights=[1, 1, 2])
i8.trace() if i8.ndim > 1 else np.trace(b[:3, :3])
np.cumsum([1, 2, 3])
np.diff(np.array([1, 2**33]))
np.ediff1d([1, 5, 9])
np.gradient([1, 4, 9])
np.cross([1, 2, 3], [100000, 5, 60000])
np.dot([100000, 1], [100000, 1])
np.dot(a, a)
a @ a
b @ b.T
np.matmul(b.T, b)
np.inner(a, a)
np.outer(a, [100000])
np.vdot(a, a)
np.tensordot(b, b.T, 1)
np.einsum("i,i", a, a)
np.einsum("ij,kj->ik", b * 50000, b * 50000)
np.kron([1, 2], [100000, 1])
np.convolve([100000, 1], [100000, 1])
np.correlate([100000, 1, 2], [100000, 1])
np.polyval([1, 0, 0], 100000)
np.polymul([100000, 1], [100000, 1])
np.linalg.matrix_power(np.array([[1, 1], [1, 0]]), 60)
np.linalg.det([[1, 2], [3, 4]]).round(6)
np.where(a > 0, a, 0)
np.where(mask, 1, 2)
np.where(mask, i8, 1)
np.select([a > 10, a < 0], [1, -1], 0)
np.select([np.argsort([3, 1, 2]) > 0], [np.argsort([3, 1, 2])], 2**40)
np.select([mask], [2**40], np.argsort([3, 1, 2]))
np.choose([0, 1, 0], [[1, 2, 3], [4, 5, 6]])
np.choose(np.array([0, 1, 0]), [1, 2])
np.clip(a, 0, 50)
np.clip(i32, 0, 50)
a.clip(0, 2**40)
np.piecewise(a, [a > 0], [1, 2])
np.repeat([1, 2], 2)
np.repeat([1, 2, 3], np.array([1, 0, 2]))
np.tile([1, 2], 2)
np.concatenate([[1, 2], [3]])
np.concatenate([i8, a])
np.stack([[1, 2], [3, 4]])
np.append([1, 2], 3)
np.insert([1, 2, 3], 1, 9)
np.insert(a, np.array([0, 2]), 5)
np.delete([1, 2, 3], np.array([0]))
np.pad([1, 2], 1)
np.roll(a, 1)
np.sort(a)
np.unique([3, 1, 3])
np.unique(np.array([3, 1, 3]), return_counts=True)[0]
np.union1d([1, 2], [2, 3])
np.intersect1d([1, 2], [2, 3])
np.setdiff1d([1, 2, 3], [2])
np.isin([1, 2], [2])
np.take([10, 20, 30], np.array([0, 2]))
np.take_along_axis(b, np.argsort(b, axis=1), axis=1)
a[np.array([0, 2])]
a[np.array([True, False, True])]
np.put_along_axis(z := np.zeros((1, 2), int), np.array([[1]]), 5, 1) or z
np.interp([1, 2], [0, 3], [0, 30])
np.bincount([1, 1, 2]) * 1_000_000_000_000
np.bincount([0, 1, 1], weights=[1, 2, 3])
np.bincount(a[a > 0] % 3).sum()
np.digitize([1, 5], [0, 3]) * 2**40
np.searchsorted([1, 5, 9], [4, 10]) * 2**40
np.histogram([1, 2, 2, 3], 3)[0].sum()
np.histogram([1, 2, 2, 3], 3)[0] * 2**40
np.argsort([3, 1, 2]) * 2**40
np.argmax([3, 9, 1]) * 2**40
np.argmax([3, 9, 1]) + 2**40
np.count_nonzero(a) * 2**40
where[-1] * where[-1]
(where * where)[-1]
(5 * where)[-1]
np.multiply(where[:3], 2, dtype='i4')
np.add(where[:3], where[:3]).tolist()
(100000 * where)[-1]
(where * np.int8(100))[-1]
(where * True)[-1]
(np.ones(70000, "i4") * where * where)[-1]
(where * 1.5)[-1]
(where * np.float32(2))[-1]
(where * np.uint64(3))[-1]
(where * np.uint8(200) * np.uint32(100000))[-1]
(where * where.astype("u4"))[-1]
np.power(where, 3)[-1]
np.power(2, where[:41])[-1]
(2 ** where[:41])[-1]
where[-1] * 100000
where[-1] ** 3
where[40000] << 20
where[-2:].prod()
where.max() * where.max()
np.multiply.reduce(where[-3:])
np.multiply.outer(where[-1:], where[-1:])
np.kron(where[-1:], where[-1:])
np.cross([0, 0, 70000], where[-3:])
where.mean()
where.std().round(3)
np.tensordot(where, where, 1)
where.reshape(2, -1) @ where.reshape(-1, 2)
[*where[:3]]
repr(np.where(a > 0))
repr(np.argsort([3, 1, 2]))
repr(i32[:2])
repr(np.unique([1, 1, 2], return_counts=True))
np.unique([1, 1, 2], return_counts=True)[1] * 3_000_000_000
np.unique([1, 1, 2], return_inverse=True)[1] * 3_000_000_000
(where * 100000)[-1]
(where ** 2)[-1]
np.square(where)[-1]
(1 << where[:41])[-1]
where.sum()
(order * order).max()
where @ where
np.dot(where, where)
np.inner(where, where)
np.vdot(where, where)
np.einsum("i,i", where, where)
np.convolve(where[-2:], where[-2:])
np.correlate(where[-3:], where[-2:])
np.outer(where[-1:], where[-1:])
np.ravel_multi_index((1, 2), (3, 4))
np.ravel_multi_index((np.array([1, 2]), np.array([0, 3])), (3, 4)) * 2**40
np.unravel_index(5, (2, 3))[0] * 2**40
np.unravel_index(np.array([5, 3]), (2, 3))[1] * 2**40
np.nonzero(a)[0] * 2**40
np.flatnonzero(a) * 2**40
np.argwhere(a) * 2**40
np.lexsort(([1, 2], [2, 1])) * 2**40
np.argpartition([3, 1, 2], 1)[1] * 2**40
np.partition(a, 1)
np.packbits([1, 0, 1])
np.bitwise_count(a)
np.around(a, -2)
np.round(i32)
np.floor(f64).astype(int)
np.rint(f64).astype(int)
np.trunc(f64).astype("int")
np.real(a)
np.ma.array([1, 2], mask=[0, 1]).sum()
np.ma.array([100000, 2]) ** 2
np.array([1, 2], object).sum()
np.array([(1, 2.5)], dtype=[("n", int), ("v", float)])["n"]
np.rec.fromarrays([[1, 2], [3.0, 4.0]], names="n,v").n
np.loadtxt(["1 2", "3 3000000000"], dtype=int)
np.genfromtxt(["1 2", "3 4"], dtype=int)
np.genfromtxt(["1,2.5", "3,4"], delimiter=",", dtype=None)["f0"]
np.array_split(np.arange(5), np.array([2]))[1]
np.nditer(a)[0]
next(np.ndenumerate(a))[1]
[*map(int, a)]
a.tolist()
a.item(0)
a.view("i4").size
a.nbytes
np.zeros(3, int).itemsize
np.asarray(memoryview(a))
np.array(a, np.int32)
a.astype("i4").sum()
np.vectorize(lambda x: x * 100000)(a)
np.apply_along_axis(sum, 0, b)
np.frompyfunc(lambda x: x + 1, 1, 1)(a).astype(int)
np.triu_indices(3)[0] * 2**40
np.tril(b[:3, :3])
np.random.seed(1) or np.random.randint(0, 100, 4)
rs(0).randint(0, 2**40, 3)
rs(0).randint(10)
rs(0).randint(0, 10, 3, dtype=np.int32)
rs(0).permutation(5) * 2**40
rs(0).choice(5, 3) * 2**40
rs(0).choice([10, 20, 30], 2)
rs(0).poisson(3, 4) * 2**40
rs(0).binomial(10, 0.5, 4) * 2**40
rs(0).binomial(np.array([10, 20]), 0.5) * 2**40
rs(0).geometric(0.3, 3) * 2**40
rs(0).multinomial(10, [0.5, 0.5]) * 2**40
rng(0).integers(0, 10, 4)
rng(0).integers(0, 2**40, 3)
rng(0).integers(10)
rng(0).integers(0, 10, 3, dtype=np.int32)
rng(0).permutation(5)
rng(0).choice(5, 3)
rng(0).choice(5, 3, replace=False)
rng(0).poisson(3, 4)
rng(0).binomial(10, 0.5, 3)
rng(0).binomial(np.array([10, 20]), 0.5)
rng(0).geometric(0.3, 3)
rng(0).multinomial(10, [0.5, 0.5])
rng(0).hypergeometric(5, 5, 3, 3)
rng(0).zipf(2, 3)
rng(0).permuted(np.arange(4))
rng(0).shuffle(z := np.arange(5)) or z
np.int64(5) << np.int64(2**40)
np.int64(-5) >> np.int64(2**40)
np.uint64(5) << np.uint64(2**32)
np.left_shift(a, 2**33)
np.left_shift(a, [2**32, 2**33 + 1, 1])
np.right_shift(a, [2**32, 2**33 + 1, 1])
np.right_shift(np.arange(-40, 40), 2**32 + 1).sum()
np.left_shift(np.arange(40), np.full(40, 2**32 + 1)).sum()
np.left_shift(np.uint64(9), np.array([2**40, 2], "uint64"))
np.left_shift(3, np.array([-1, 64, 63, 2**62]))
np.left_shift.reduce(np.array([1, 2**35]))
type(np.dtype("int32")).__name__
type(np.dtype("uint32")).__name__
isinstance(np.dtype("int32"), np.dtypes.Int32DType)
isinstance(np.dtype(int), np.dtypes.LongDType)
isinstance(np.dtype("uint64"), np.dtypes.UInt64DType)
np.dtypes.Int32DType() == np.dtype("i4")
np.dtypes.Int32DType is np.dtypes.IntDType
np.arccos(np.array([0, 1, -1], "float32"))
np.frexp(np.array([np.nan, np.inf, 3], "longdouble"))[1]
pickle.loads(pickle.dumps(order))[:2] * 70000
pickle.loads(pickle.dumps(order, 2))[-2:].astype(int) * 70000
pickle.loads(pickle.dumps(order.reshape(700, 100).T, 5))[0, :2] * 70000
pickle.loads(pickle.dumps(order, 5, buffer_callback=buffers.append), buffers=buffers)[:1] * 70000
pickle.loads(pickle.dumps([i32, u32]))[0]
pickle.loads(pickle.dumps(np.argsort(np.ones((2, 0)))))
copy.deepcopy(order)[:1] * 70000
loaded(np.save, order)[:1] * 70000
loaded(np.savez, order)["arr_0"][:1] * 70000
loaded(np.save, i32)
loaded(np.save, np.array([1, "a"], object))
(where // 1)[-1:] * 70000
(where % 70000)[-1:] * 70000
(where & 0xFFFFFF)[-1:] * 70000
(where | 1)[-1:] * 70000
(where ^ 0)[-1:] * 70000
(where >> 0)[-1:] * 70000
divmod(where, 1)[0][-1:] * 70000
divmod(where, 70000)[1][-1:] * 70000
np.fmod(where, 70000)[-1:] * 70000
(where[-1:] // np.int8(1)) * 70000
(where[-3:] // np.ones(3, "int32")) * 70000
(where[-3:] % np.full(3, 70000, "uint32")) * 70000
(where[-3:] // np.ones(3, "uint16")) * 70000
(where[-3:] & mask) * 2**33
(np.full(3, 70000, "int32") % where[-3:]) * 2**33
(70000 // where[-3:]) * 2**33
(where[-3:] // 1.0) * 70000
(where[-1:] // i64[1:2]) * 70000
(lambda whole: (whole.__ifloordiv__(1), whole)[1])(where[-1:].copy()) * 70000
np.floor_divide(where[-1:], 1, dtype="int32")
np.floor_divide(where[-3:], 1, out=np.zeros(3, "int64")) * 70000
np.bitwise_or.reduce(where) * 70000
np.floor_divide.outer(where[-2:], [1, 2]) * 70000
np.remainder.accumulate(where[-2:][::-1]) * 2**33
(where[-4:].reshape(2, 2) // 1).ravel()[::-1] * 70000
"""


def described(value):
    if isinstance(value, (np.ndarray, np.generic)):
        return f"{value.dtype.name} {value.tolist()}"
    return f"{type(value).__name__} {value}"


for expression in EXPRESSIONS.strip().splitlines():
    try:
        result = described(eval(expression, globals()))
    except Exception as error:
        result = f"{type(error).__name__}"
    print(expression, "=", result)
