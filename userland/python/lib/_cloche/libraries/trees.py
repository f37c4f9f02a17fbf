"""Trees of points, whose C code keeps indices.

Counts of pairs are such indices, too: 50,000 points have more pairs than 31 bits count. And a tree leaves in a pickle as a machine of 64
bits writes it, so that each can read what the other has written; what comes out of one is narrowed for C code.
"""
import functools

from . import imports

_INDEX_COUNTS = 2**31 - 1
# A node of scipy's trees: the axis that it splits, how many points it has, where it splits, its first and last point; its two children as
# pointers, which C code finds anew, and as numbers.
_NODE = ("axis", "count", "place", "first", "end", "less", "greater", "less_number", "greater_number")


def _widened(numpy, value, wide):
    """An array of indices, or with such fields, of 64 bits or as C code has them; what is none of these as it is."""
    if not isinstance(value, numpy.ndarray):
        return value
    index, other = ("int64", numpy.intp) if wide else (numpy.intp, "int64")
    if value.dtype.names:
        return value.astype(numpy.dtype([(name, index if value.dtype[name] == other else value.dtype[name])
                                         for name in value.dtype.names], align=True))
    return value.astype(index) if value.dtype == other else value


def _scipy_trees(trees):
    """The class itself takes no attributes."""
    import numpy
    own = trees.cKDTree
    narrow, wide = (numpy.dtype([(name, "f8" if name == "place" else index) for name in _NODE]) for index in ("i4", "i8"))

    def is_wide(nodes, count):
        root = nodes.view(wide)[0] if nodes.nbytes % wide.itemsize == 0 else None
        return root is not None and root["count"] == root["end"] == count

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

        def __getstate__(self):
            nodes, *others = super().__getstate__()
            return nodes.view(narrow).astype(wide).view(nodes.dtype), *(_widened(numpy, value, True) for value in others)

        def __setstate__(self, state):
            nodes, *others = state
            if is_wide(nodes, state[2]):
                nodes = nodes.view(wide).astype(narrow).view(nodes.dtype)
            super().__setstate__((nodes, *(_widened(numpy, value, False) for value in others)))

    cKDTree.__module__, cKDTree.__qualname__, cKDTree.__doc__ = own.__module__, own.__qualname__, own.__doc__
    trees.cKDTree = cKDTree


def _sklearn_trees(kind):
    import numpy
    own, get_state, set_state = kind.two_point_correlation, kind.__getstate__, kind.__setstate__

    @functools.wraps(own)
    def two_point_correlation(self, X, r, dualtree=False):
        """So many points at a time that their pairs are counted whole."""
        X = numpy.asarray(X)
        step = max(_INDEX_COUNTS // len(self.data), 1)
        if X.ndim != 2 or len(X) <= step:
            return own(self, X, r, dualtree).astype("int64")
        return sum(own(self, X[start:start + step], r, dualtree).astype("int64") for start in range(0, len(X), step))

    def __getstate__(self):
        return tuple(_widened(numpy, value, True) for value in get_state(self))

    def __setstate__(self, state):
        set_state(self, tuple(_widened(numpy, value, False) for value in state))

    kind.two_point_correlation, kind.__getstate__, kind.__setstate__ = two_point_correlation, __getstate__, __setstate__


def install():
    imports.after("scipy.spatial._ckdtree", _scipy_trees)
    imports.after("sklearn.neighbors._kd_tree", lambda module: _sklearn_trees(module.KDTree))
    imports.after("sklearn.neighbors._ball_tree", lambda module: _sklearn_trees(module.BallTree))
