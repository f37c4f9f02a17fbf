# packages: numpy scipy scikit-learn
"""Counts and places beyond 31 bits: pairs of points of trees, and the flat indices of shapes that only sparse arrays have; and the indices
of what comes out of a pickle or a file."""
import copy
import io
import pickle

import joblib

import numpy as np
from scipy import interpolate, sparse, spatial
from scipy.io import loadmat, savemat, whosmat
from sklearn.neighbors import BallTree, KDTree, KernelDensity, KNeighborsClassifier, KNeighborsRegressor, LocalOutlierFactor

points = np.random.default_rng(1).random((50000, 2))
few = points[:7]
for kind in (spatial.KDTree, spatial.cKDTree):
    tree, small = kind(points), kind(few)
    print(kind.__module__, kind.__name__, isinstance(tree, spatial.cKDTree))
    for radius in (0.01, 5.0, [3.0, 0.01, 5.0]):
        print(radius, repr(tree.count_neighbors(tree, radius)), repr(tree.count_neighbors(small, radius)))
    print(repr(tree.count_neighbors(tree, [0.01, 5.0], cumulative=False)))
    print(repr(small.count_neighbors(tree, 0.1, weights=(None, np.full(50000, 0.5)))))
for kind in (KDTree, BallTree):
    tree = kind(points, leaf_size=500)
    print(kind.__name__, repr(tree.two_point_correlation(points, [0.01, 5.0], dualtree=True)), repr(tree.two_point_correlation(few, 0.1)),
          repr(tree.two_point_correlation(few.tolist(), [0.1, 9.0])))



def dumped(value):
    file = io.BytesIO()
    joblib.dump(value, file)
    file.seek(0)
    return joblib.load(file)


COPIES = {f"pickle {protocol}": lambda value, protocol=protocol: pickle.loads(pickle.dumps(value, protocol)) for protocol in (2, 4, 5)}
COPIES |= {"deepcopy": copy.deepcopy, "joblib": dumped}
some, near = points[:300], points[300:305]
labels = np.arange(300) // 100
USES = {
    "KDTree": (spatial.KDTree(some), lambda made: made.query(near, 3)[1]),
    "KDTree in a box": (spatial.KDTree(some, boxsize=1.0), lambda made: made.query(near, 3)[1]),
    "cKDTree": (spatial.cKDTree(some, leafsize=4), lambda made: made.query_ball_point(near, 0.1, return_length=True)),
    "no points": (spatial.KDTree(np.empty((0, 2))), lambda made: made.n),
    "RBFInterpolator": (interpolate.RBFInterpolator(some, labels, neighbors=20), lambda made: made(near).round(6)),
    "NearestNDInterpolator": (interpolate.NearestNDInterpolator(some, labels), lambda made: made(near)),
    "sklearn's KDTree": (KDTree(some, leaf_size=5), lambda made: made.query(near, 3)[1]),
    "sklearn's BallTree": (BallTree(some, leaf_size=5), lambda made: made.query_radius(near, 0.1, count_only=True)),
    "KNeighborsClassifier": (KNeighborsClassifier().fit(some, labels), lambda made: made.predict(near)),
    "KNeighborsRegressor": (KNeighborsRegressor(algorithm="ball_tree").fit(some, labels), lambda made: made.predict(near)),
    "LocalOutlierFactor": (LocalOutlierFactor(novelty=True).fit(some), lambda made: made.predict(near)),
    "KernelDensity": (KernelDensity().fit(some), lambda made: made.score_samples(near).round(6)),
}
for name, (value, use) in USES.items():
    first = use(value)
    print(name, first.tolist() if isinstance(first, np.ndarray) else first, [how for how, copied in COPIES.items() if not np.array_equal(use(copied(value)), first)])
tree = spatial.KDTree(some[:7], leafsize=3)
nodes, _, _, _, _, _, _, indices, *_ = tree.__getstate__()
print(nodes.dtype, np.delete(nodes.view("i8").reshape(-1, 9), [5, 6], axis=1).tolist(), indices.dtype)  # without pointers
whole = KDTree(some[:7], leaf_size=3).__getstate__()
print(whole[1].dtype.str, whole[2].dtype.itemsize, whole[2].tolist())

order = np.argsort(np.arange(70000))[-3:]
print(dumped(order) * 70000, dumped({"order": [order]})["order"][0] * 70000, dumped(np.bincount([1, 1]).T) * 10**10, dumped(np.nonzero(np.eye(2)))[1] * 10**10)
file = io.BytesIO()
savemat(file, {"order": order, "nested": {"found": order}, "few": np.array([1, 2], "int32")})
read = loadmat(io.BytesIO(file.getvalue()))
print(read["order"] * 70000, read["nested"]["found"][0, 0] * 70000, read["few"].dtype, whosmat(io.BytesIO(file.getvalue())))

SIDE = 100_000
PLACES = [99, 2**31, 9_999_999_999]
CALLS = """
np.unravel_index(PLACES, (SIDE, SIDE))
np.unravel_index(PLACES, (SIDE, SIDE), order="F")
np.unravel_index(np.array([PLACES], "uint64"), shape=(10, SIDE, SIDE))
np.unravel_index(2**31, 2**40)
np.unravel_index(2**31 + 5, (SIDE, SIDE))
np.unravel_index([3, 5], (4, 3))
np.unravel_index(10**10, (SIDE, SIDE))
np.unravel_index([5, -1], (SIDE, SIDE))
np.unravel_index(0.5, (SIDE, SIDE))
np.unravel_index(5, (0, SIDE, SIDE))
np.ravel_multi_index(([3, 99_999], [4, 99_998]), (SIDE, SIDE))
np.ravel_multi_index(([3, 99_999], [4, 99_998]), (SIDE, SIDE), order="F")
np.ravel_multi_index(np.array([[3, 99_999], [4, 99_998]]), dims=(SIDE, SIDE))
np.ravel_multi_index((99_999, [1, 2]), (SIDE, SIDE))
np.ravel_multi_index((99_999, 99_999), (SIDE, SIDE))
np.ravel_multi_index(([-1, 100_003], [-1, 100_003]), (SIDE, SIDE), mode="wrap")
np.ravel_multi_index(([-1, 100_003], [-1, 100_003]), (SIDE, SIDE), mode=("clip", "wrap"))
np.ravel_multi_index(([1], [100_000]), (SIDE, SIDE))
np.ravel_multi_index(([1],), (SIDE, SIDE))
np.ravel_multi_index((1.5, 2), (SIDE, SIDE))
np.ravel_multi_index(([3], [4]), (7, 6))
sparse.random_array((SIDE, SIDE), density=5e-10, rng=np.random.default_rng(1)).coords
sparse.random(SIDE, SIDE, density=5e-10, format="csr", rng=np.random.default_rng(2)).indices
matrix.reshape((-1,)).coords
matrix.reshape((SIDE // 2, 2 * SIDE)).coords
matrix.reshape((-1,)).reshape((10, SIDE, SIDE // 10)).coords
matrix.tocsr().argmax()
matrix.reshape((10, SIDE, SIDE // 10)).argmax()
matrix.reshape((10, SIDE, SIDE // 10)).sum()
""".strip().splitlines()
matrix = sparse.coo_array(([1.0, 5.0, -2.0], ([3, 99_999, 70_000], [4, 99_998, 5])), shape=(SIDE, SIDE))


def told(value):
    if isinstance(value, tuple):
        return tuple(map(told, value))
    return f"{value.tolist()} of int64" if isinstance(value, np.ndarray) and value.dtype.kind == "i" else repr(value)


for call in CALLS:
    try:
        print(call, "=", told(eval(call)))
    except Exception as error:
        print(call, "is", type(error).__name__, error)
