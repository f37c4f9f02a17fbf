# packages: numpy
"""What numpy warns of in products of arrays, determinants, Fourier transforms, `ufunc.at`, long doubles, complex numbers that are endless and
times, as Linux's flags tell."""
import warnings

import numpy as np

inf, nan = np.inf, np.nan
big, small = np.full((2, 2), 1e200), np.full((2, 2), 1e30, "f")
wide = np.linspace(1, 2, 300 * 40).reshape(300, 40)
spoilt = wide.copy()
spoilt[17, 3] = 1e308
EXPRESSIONS = """
big @ big
small @ small
np.array([inf, 0.0]) @ np.array([0.0, 1.0])
np.array([inf, 1.0]) @ np.array([-1.0, inf])
np.array([nan, 1.0]) @ np.array([-1.0, inf])
np.array([[inf, 0.0]]) @ np.array([[0.0], [1.0]])
np.array([[inf, 1.0]]) @ np.array([[1.0], [1.0]])
big @ np.array([1e200, 1.0])
np.array([1e200, 1.0]) @ big
(big * (1 + 1j)) @ (big * (1 + 1j))
np.matmul(np.ones((2, 2, 2)) * 1e200, np.ones((2, 2)) * 1e200)
np.matmul(np.ones((3, 2, 2)) * 1e200, np.ones((3, 2, 2)))
np.array([1e308] * 3)[:, None] @ np.array([[10.0, 1.0]])
np.array([1e308] * 3)[:, None] @ np.array([[1.0, 1.0]])
np.isinf(spoilt @ wide.T).sum()
np.isinf(wide @ spoilt.T[:, ::-1]).sum()
np.isinf(np.dot(wide.T, np.asfortranarray(spoilt))).sum()
np.dot(big, big)
np.dot(big, big[0])
np.dot(big[0], big)
np.dot(big[0], big[0])
np.dot(small[0], small[0])
np.dot(np.array([inf, 0.0]), np.array([0.0, 1.0]))
np.dot(2.0, big)
np.dot(1e200, big)
np.dot(big[:, :, None], big[:, None, :]).shape
np.inner(big, big)
np.inner(big[0], big[0])
np.vdot(big, big)
np.vecdot(big, big)
np.vecdot(np.ones((5, 3)), np.ones(3))
np.matvec(big, big[0])
np.vecmat(big[0], big)
np.tensordot(big, big)
np.einsum("ij,jk", big, big)
np.convolve(big[0], big[0])
np.linalg.norm(big)
np.linalg.matrix_power(big, 3)
np.linalg.det(np.diag([1e200, 1e200]))
np.linalg.det(np.diag([inf, 0.0]))
np.linalg.det(np.ones((3, 2, 2)))
np.linalg.inv(np.diag([1e-320, 1.0]))
np.linalg.eigvalsh(np.diag([inf, 1.0]))
np.linalg.slogdet(np.diag([0.0, 1.0]))[1]
np.fft.fft([inf, 1.0])
np.fft.fft([nan, 1.0])
np.fft.fft([1e308, 1e308, 1e308])
np.fft.ifft([1e308, 1e308])
np.fft.rfft([1e308, 1e308, 1.0])
np.fft.irfft([1e308, 1e308])
np.fft.fft2(np.full((2, 2), 1e308))
np.fft.fft(np.full((2, 3), 1.0), axis=0)
np.add.at(np.array([1e308]), [0], 1e308)
np.add.at(np.array([1e308]), [0, 0], [1e308, 1.0])
np.add.at(np.array([inf, nan]), [0, -1], [1.0, inf])
np.multiply.at(np.array([1e308]), [0], 1e308)
np.divide.at(np.array([1.0]), [0], 0.0)
np.divide.at(np.array([0.0]), [0], 0.0)
np.divide.at(np.array([1e308]), [0], 1e-10)
np.subtract.at(np.array([inf]), [0], inf)
np.add.at(np.array([1e38], "f"), [0], np.float32(3e38))
np.power.at(np.array([1e308]), [0], 2.0)
np.add.at(np.array([[1e308, 1e308]]), (0, [0, 1]), 1e308)
np.longdouble("1e4932") * np.longdouble("1e4932")
np.longdouble(1) / np.longdouble(0)
np.longdouble(0) / np.longdouble(0)
np.longdouble(inf) - np.longdouble(inf)
np.longdouble(inf) + 1
np.longdouble(2) ** np.longdouble(100000)
np.array([1], "g") / 0 == inf
np.isnan(np.array([0], "g") / 0)
np.array([1], "g") // 0 == inf
np.isnan(np.array([1], "g") % 0)
np.log(np.array([0], "g")) == -inf
np.isnan(np.sqrt(np.array([-1], "g")))
np.exp(np.array([1e5], "g")) == inf
np.isinf(np.array([1, 2, 0] * 2000, "g") / np.array([1, 0, 1] * 2000, "g")).sum()
np.isnan(np.array([1], "G") / 0)
np.array(["1e4000", "1"], "g").astype("d")
np.array(["1e4000", "1"], "g").astype("f")
np.array(["1e4000", "1"], "g").astype("e")
np.array([inf, nan], "g").astype("d")
np.divmod(np.array([1e308]), 1e-308)[0]
np.array([1e308]) // 1e-308
np.float64(1e308) // 1e-308
divmod(np.float64(1e308), 1e-308)[0]
np.array([1e38], "f") // np.float32(1e-38)
np.floor_divide(np.array([60000.0], "e"), np.float16(1e-4))
np.float16(60000) // np.float16(1e-4)
np.array([1.0]) // 0
np.array([complex(inf, 0)]) * 1j
np.array([complex(inf, 0)]) * 0
np.array([complex(inf, 0)]) - complex(inf, 0)
np.array([complex(inf, 0)]) + complex(inf, 0)
np.array([complex(inf, 0)]) / complex(inf, 0)
np.complex128(complex(inf, 0)) * 1j
np.complex128(complex(inf, 0)) - complex(inf, 0)
np.complex128(complex(inf, 0)) + 1
np.array([1, 2], "m8[s]") * 1e300
np.array([1, 2], "m8[s]") * nan
np.array([1, 2], "m8[s]") / 0.0
np.array([1, 2], "m8[s]") * 1.5
""".strip().splitlines()

np.set_printoptions(precision=6)
for expression in EXPRESSIONS:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result = eval(expression)
    print(expression, "->", result if np.size(result) < 9 else np.shape(result))
    print(*(f"  [{warning.category.__name__}: {warning.message}]" for warning in told))

# What lies in an array beside what an operation takes is not looked at.
table = np.full((6, 6), 1e308)
table[1::2, ::3] = 2
with np.errstate(all="raise"):
    print(table[1::2, ::3] @ table[1::2, ::3][:2], table[1::2, ::3].sum())
    for function in (np.matmul, np.dot, np.inner):
        try:
            print(function(table, table))
        except FloatingPointError as error:
            print(error)
    sums = np.zeros(3)
    np.add.at(sums, [0, 2, -1, 0], [1, 2, 3, 4])
    print(sums)
