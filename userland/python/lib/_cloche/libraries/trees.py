"""Trees of points, whose C code keeps indices.

Counts of pairs are such indices, too: 50,000 points have more pairs than 31 bits count. And what is read from a pickle has 64 bits, in
one of this machine (userland/python/extensions/indices.c) as in one of another.
"""
import functools
import struct

from . import imports

_INDEX_COUNTS = 2**31 - 1


def _indices(numpy, value):
    """An array of indices, or with such fields, as C code has them; what is none of these as it is."""
    if not isinstance(value, numpy.ndarray):
        return value
    if value.dtype.names:
        return value.astype(numpy.dtype([(name, numpy.intp if value.dtype[name] == numpy.int64 else value.dtype[name])
                                         for name in value.dtype.names], align=True))
    return value.astype(numpy.intp) if value.dtype == numpy.int64 else value


def _scipy_trees(trees):
    """The class itself takes no attributes."""
    import numpy
    own = trees.cKDTree

    class cKDTree(own):
        __slots__ = ()

        @functools.wraps(own.count_neighbors)
        def count_neighbors(self, other, r, p=2., weights=None, cumulative=True):
            if weights is not None or not isinstance(other, own):
                return super().count_neighbors(other, r, p, weights, cumulative)
            if self.n * other.n > _INDEX_COUNTS:  # a sum of weights is a float, so one of ones is exact to 2^53
                weights = numpy.ones(self.n), numpy.ones(other.n)
            found = super().count_neighbors(other, r, p, weights, cumulative)
            return found.astype("int64") if isinstance(found, numpy.ndarray) else int(found)

        def __setstate__(self, state):
            nodes, data, count, _, leaf_size, *_, box, _ = state
            if count and struct.unpack_from("<i", nodes, 4)[0] != count:  # nodes of a machine whose indices have 64 bits
                self.__init__(data, leaf_size, boxsize=box)
            else:
                super().__setstate__(tuple(_indices(numpy, value) for value in state))

    cKDTree.__module__, cKDTree.__qualname__, cKDTree.__doc__ = own.__module__, own.__qualname__, own.__doc__
    trees.cKDTree = cKDTree


def _sklearn_trees(kind):
    import numpy
    own, set_state = kind.two_point_correlation, kind.__setstate__

    @functools.wraps(own)
    def two_point_correlation(self, X, r, dualtree=False):
        """So many points at a time that their pairs are counted whole."""
        X = numpy.asarray(X)
        step = max(_INDEX_COUNTS // len(self.data), 1)
        if X.ndim != 2 or len(X) <= step:
            return own(self, X, r, dualtree).astype("int64")
        return sum(own(self, X[start:start + step], r, dualtree).astype("int64") for start in range(0, len(X), step))

    def __setstate__(self, state):
        set_state(self, tuple(_indices(numpy, value) for value in state))

    kind.two_point_correlation, kind.__setstate__ = two_point_correlation, __setstate__


def install():
    imports.after("scipy.spatial._ckdtree", _scipy_trees)
    imports.after("sklearn.neighbors._kd_tree", lambda module: _sklearn_trees(module.KDTree))
    imports.after("sklearn.neighbors._ball_tree", lambda module: _sklearn_trees(module.BallTree))
