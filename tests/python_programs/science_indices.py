# packages: numpy scipy
"""scipy where C has integers of `long`: functions of an order, which is an integer, and not a float by another method; minimizing within
regions; the corners of regions on a sphere; sequences and peaks."""
import numpy as np
from scipy import optimize, signal, spatial, special, stats

x = np.linspace(0.1, 3, 5)
CALLS = """
special.eval_hermite(4, x)
special.eval_hermite([0, 1, 2, 3, 20], x)
special.eval_hermitenorm(np.arange(5), x)
special.eval_laguerre(25, x * 20)
special.eval_genlaguerre(25, 0.5, x * 20)
special.eval_legendre(40, x / 3)
special.eval_chebyt(np.arange(2, 7), x / 3)
special.eval_chebyu(30, x / 3)
special.eval_jacobi(20, 0.5, 1.5, x / 3)
special.eval_sh_jacobi(20, 2.5, 1.5, x / 3)
special.eval_gegenbauer(20, 0.5, x / 3)
special.expn(3, x)
special.expn(np.arange(5), x)
special.kn(2, x)
special.yn(np.array([-1, 0, 1, 2, 3]), x)
special.nbdtr(3, 5, x / 3)
special.bdtr(2.0, 5, x / 3)
special.pdtri(2, x / 3.5)
special.smirnov(5, x / 3.5)
special.smirnovi(5, x / 3.5)
special.spherical_jn(3, x)
special.spherical_yn(np.arange(5), x, derivative=True)
special.spherical_in(2, x)
special.lambertw(x, 1)
special.roots_hermite(5)[0]
special.roots_laguerre(20)[0][-3:]
special.hermite(5)(x)
special.factorial(np.arange(13), exact=True) * 10**6
special.comb(30, 15, exact=True)
stats.ksone.sf(x / 4, 7)
stats.nbinom.cdf([1, 2, 3], 5, 0.4)
""".strip().splitlines()
np.set_printoptions(precision=10, linewidth=120)
for call in CALLS:
    result = np.asarray(eval(call))
    print(call, "->", result.dtype, result)
# No order, and one that is a float.
print(special.expn(2.0, x), special.eval_legendre(2.5, 0.3), special.kn(np.int32(2), 1.0), special.kn(np.argsort(x), 1.0))

for method in ("trust-krylov", "trust-ncg", "trust-exact"):
    found = optimize.minimize(optimize.rosen, [1.3, 0.7, 0.8, 1.9, 1.2], method=method, jac=optimize.rosen_der, hess=optimize.rosen_hess)
    print(method, found.success, found.nit, found.x.round(5))
corners = np.array([[0, 0, 1], [0, 0, -1], [1, 0, 0], [0, 1, 0], [0, -1, 0], [-1, 0, 0]])
regions = spatial.SphericalVoronoi(corners, 1, np.zeros(3))
regions.sort_vertices_of_regions()
print([[int(corner) for corner in region] for region in regions.regions], regions.calculate_areas().round(6))
print([signal.max_len_seq(bits)[0][-8:].tolist() for bits in (3, 8)], signal.max_len_seq(4, state=[1, 0, 0, 1], length=10, taps=[3, 1]))
wave = np.array([0, 1, 0, 3, 0, 2, 0])
print(signal.peak_widths(wave, [1, 3], prominence_data=(np.array([1.0, 3.0]), np.array([0, 2]), np.array([2, 4]))), signal.find_peaks(wave, height=2)[0])
