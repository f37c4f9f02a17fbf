"""Flat indices of shapes with more elements than an index counts, which sparse arrays have: numpy's C code refuses such shapes."""
import functools
import math
import operator

from . import imports

_MOST, _MOST_OF_64_BITS = 2**31 - 1, 2**63 - 1


def _large(shape):
    """The shape as a tuple, where its elements are counted by 64 bits alone; else None."""
    try:
        shape = tuple(map(operator.index, shape if hasattr(shape, "__iter__") else (shape,)))
    except TypeError:
        return None
    return shape if min(shape, default=-1) > 0 and _MOST < math.prod(shape) <= _MOST_OF_64_BITS else None


def _places(numpy, values):
    """An array of places in an axis, or in all of an array, with 64 bits."""
    values = numpy.asarray(values)
    if values.dtype.kind not in "iu":
        raise TypeError("only int indices permitted")
    return values.astype("int64")


def _numpy_indices(tricks):
    numpy = tricks.np
    own_unravel, own_ravel = tricks.unravel_index, tricks.ravel_multi_index

    @functools.wraps(own_unravel)
    def unravel_index(indices, shape, order="C"):
        large = _large(shape)
        if large is None or order not in ("C", "F"):
            return own_unravel(indices, shape, order)
        flat, count, places = _places(numpy, indices), math.prod(large), []
        outside = flat[(flat < 0) | (flat >= count)]
        if outside.size:
            raise ValueError(f"index {outside.flat[0]} is out of bounds for array with size {count}")
        for length in reversed(large) if order == "C" else large:
            flat, place = numpy.divmod(flat, length)
            places.append(place)
        return tuple(reversed(places) if order == "C" else places)

    @functools.wraps(own_ravel)
    def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
        large = _large(dims)
        if large is None or order not in ("C", "F"):
            return own_ravel(multi_index, dims, mode, order)
        modes = (mode,) * len(large) if isinstance(mode, str) else tuple(mode)
        if len(multi_index) != len(large) or len(modes) != len(large):
            return own_ravel(multi_index, (1,) * len(large), mode, order)  # which says what is wrong
        places = [_place(numpy, *which) for which in zip(multi_index, large, modes)]
        flat = 0
        for place, length in zip(*(map(reversed, (places, large)) if order == "F" else (places, large))):
            flat = flat * length + place
        return flat

    tricks.unravel_index, tricks.ravel_multi_index = unravel_index, ravel_multi_index


def _place(numpy, values, length, mode):
    values = _places(numpy, values)
    if mode == "wrap":
        return values % length
    if mode == "clip":
        return numpy.minimum(numpy.maximum(values, 0), length - 1)
    if ((values < 0) | (values >= length)).any():
        raise ValueError("invalid entry in coordinates array")
    return values


def install():
    imports.after("numpy.lib._index_tricks_impl", _numpy_indices)
