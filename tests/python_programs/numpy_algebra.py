# packages: numpy
"""Linear algebra, broadcasting, masks, FFT, structured arrays, files."""
import numpy as np

a = np.arange(12, dtype=float).reshape(3, 4)
print(a.sum(axis=0), a.mean(), a.T.shape, (a * [1, 0, 0, 2]).tolist()[1])
m = np.array([[4.0, 1.0], [2.0, 3.0]])
print(np.linalg.solve(m, [1, 2]).round(6), np.linalg.det(m).round(6), np.sort(np.linalg.eigvals(m).real).round(6))
print(np.allclose(m @ np.linalg.inv(m), np.eye(2)), np.linalg.norm(a).round(4))
print(a[a % 2 == 0].tolist(), np.where(a > 5, a, -1)[2].tolist(), np.clip(a, 2, 7)[0].tolist())
print(np.abs(np.fft.fft([1, 0, 0, 0])).tolist(), np.convolve([1, 2, 3], [0, 1, 0.5]).tolist())
table = np.array([("x", 1, 2.5), ("y", 2, 3.5)], dtype=[("name", "U4"), ("n", "i4"), ("v", "f8")])
print(table["name"].tolist(), table[table["n"] > 1]["v"].tolist(), table.dtype.itemsize)
np.savez("arrays.npz", a=a, m=m)
with np.load("arrays.npz") as data:
    print(sorted(data.files), np.array_equal(data["a"], a))
np.savetxt("a.csv", a, fmt="%.1f", delimiter=",")
print(np.loadtxt("a.csv", delimiter=",").shape, np.unique([3, 1, 2, 3, 1], return_counts=True)[1].tolist())
rng = np.random.default_rng(42)
print(rng.integers(0, 100, 5).tolist(), rng.normal(size=2).round(6).tolist(), np.random.RandomState(7).rand(2).round(6).tolist())
try:
    a @ a
except ValueError as error:
    print("ValueError:", str(error)[:40])
print(np.float32(0.1) + np.float32(0.2), np.array([250], np.uint8) + np.uint8(10), np.iinfo("int64").max)
print(np.einsum("ij,kj->ik", a, a).tolist()[0], np.percentile(a, [25, 50]).tolist())
