"""Sizes that libraries take in 64 bits, of which C code keeps 32: what is larger is refused."""
import functools

from . import imports

_MOST = 2**31 - 1
# Functions of numpy.strings that make strings longer: the name of the number of characters, or of repetitions.
_LENGTHENING = {"center": "width", "ljust": "width", "rjust": "width", "zfill": "width", "multiply": "i"}


def _numpy_strings(strings):
    numpy = strings.np

    def bounded(inner, name):
        @functools.wraps(inner)
        def function(a, *numbers, **options):
            number = numpy.asanyarray(numbers[0] if numbers else options.get(name, 0))
            if number.dtype.kind in "iu" and number.size and (most := number.max()) > _MOST:
                raise MemoryError(f"Unable to allocate strings of {most} characters")
            return inner(a, *numbers, **options)

        return function

    for name, number in _LENGTHENING.items():
        setattr(strings, name, bounded(getattr(strings, name), number))


def _scipy_distances(distance):
    """Pairs of points, of which C code makes a product before it takes the half."""
    numpy, inner = distance.np, distance.pdist

    @functools.wraps(inner)
    def pdist(X, *others, **options):
        points = numpy.shape(X)[0] if numpy.ndim(X) == 2 else 0
        if points * (points - 1) > _MOST:
            raise MemoryError(f"Unable to allocate the distances of {points} points")
        return inner(X, *others, **options)

    distance.pdist = pdist


def install():
    imports.after("numpy._core.strings", _numpy_strings)
    imports.after("scipy.spatial.distance", _scipy_distances)
