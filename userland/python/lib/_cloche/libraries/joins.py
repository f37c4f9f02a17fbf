"""Joins of tables with more rows than an index counts: the C code of pandas counts them around, and writes behind its arrays."""
import functools

from . import imports

_INDEX_COUNTS = 2**31 - 1


def _refuse(rows):
    if rows > _INDEX_COUNTS:  # in numpy's words for what does not fit into the memory
        raise MemoryError(f"Unable to allocate {rows / 2**27:#.3g} GiB for an array with shape ({rows},) and data type int64")


def _pandas_joins(join):
    import numpy

    def of_groups(own):
        """Rows by the numbers of their groups; -1 is none."""
        @functools.wraps(own)
        def joined(left, right, max_groups, *others, **options):
            if len(left) * len(right) > _INDEX_COUNTS:
                counts = [numpy.bincount(numpy.asarray(side) + 1, minlength=max_groups + 1)[1:].astype("int64") for side in (left, right)]
                _refuse(int(counts[0] @ counts[1]) + len(left) + len(right))
            return own(left, right, max_groups, *others, **options)

        return joined

    def longest_run(values):
        changes = numpy.flatnonzero(numpy.asarray(values[1:] != values[:-1], bool))
        return int(numpy.diff(numpy.concatenate(([-1], changes, [len(values) - 1]))).max())

    def of_sorted(own):
        @functools.wraps(own)
        def joined(left, right):
            if len(left) * len(right) > _INDEX_COUNTS and len(left) * longest_run(right) > _INDEX_COUNTS:
                first, end = (numpy.searchsorted(right, left, side).astype("int64") for side in ("left", "right"))
                _refuse(int((end - first).sum()) + len(left) + len(right))
            return own(left, right)

        return joined

    for name in ("inner_join", "left_outer_join", "full_outer_join"):
        setattr(join, name, of_groups(getattr(join, name)))
    for name in ("inner_join_indexer", "left_join_indexer", "outer_join_indexer"):
        setattr(join, name, of_sorted(getattr(join, name)))


def install():
    imports.after("pandas._libs.join", _pandas_joins)
