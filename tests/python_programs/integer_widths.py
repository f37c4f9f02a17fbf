# packages: scipy
"""What counts or computes by the width of an integer: drawing from many, orders of functions, decompositions of integers, and a quiet least squares."""
import warnings

import numpy as np
from scipy import linalg, special

random = np.random.default_rng(3)
print(random.choice(10**10, 3, replace=False), random.choice(2**31 + 5, 4, replace=False), random.choice(50, 3, replace=False))
print(random.choice(2**40, (2, 2), replace=False).tolist(), random.choice(2**31 + 5, 3, replace=False, shuffle=False))

whole = [[8, 12, 3], [2, 9, 3], [10, 3, 6]]
triangle, unitary = linalg.schur(whole, "complex")
print(triangle.dtype, unitary.dtype, np.abs(unitary @ triangle @ unitary.conj().T - whole).max() < 1e-12)
first, second, left, right = linalg.qz(np.array(whole), np.array(whole).T, output="complex")
print(first.dtype, second.dtype, np.abs(left @ first @ right.conj().T - whole).max() < 1e-12)
print(linalg.rsf2csf(np.array([[1, 2], [0, 3]]), np.eye(2, dtype=int))[0].dtype, linalg.signm(np.array([[1, 2], [0, 3]])).dtype)

with warnings.catch_warnings():
    warnings.simplefilter("error")
    print(special.kn([1, 2], 1.0).round(6), special.spherical_jn(3, 2.5).round(6), special.eval_hermite(np.arange(4)[::2], 0.5),
          special.nbdtr(3, 5, 0.5).round(6), special.eval_jacobi(3, 1.0, 2.0, 0.5).round(6), special.kn(np.array([], int), 1.0))


def outcome(function, *arguments):
    """What a function gives for an order beyond 32 bits: natively no number, or nothing at all; never that of another order."""
    try:
        return bool(not np.isfinite(function(*arguments)) or function(*arguments) == 0)
    except OverflowError:
        return True


print([outcome(special.kn, 2**32 + 1, 1.0), outcome(special.spherical_jn, 2**32 + 5, 2.5), outcome(special.spherical_yn, 2**33, 2.5)])

flat = np.arange(12, dtype="float32").reshape(4, 3) + np.eye(4, 3, dtype="float32")
for matrix in (flat, flat.T, flat * 0, flat * np.float32(1e30)):
    answer = np.linalg.lstsq(matrix, np.ones(len(matrix), "float32"))[0]
    print(answer.dtype, np.allclose(matrix @ answer, 1, atol=1) or not matrix.any())
