"""numpy's integers by their names, as on Linux x86-64, and the libraries that count on indices being the default integer.

What numpy's C code does of it is in userland/python/numpy_patch.py: the default integer has 64 bits, and indices (`intp`, what
`argsort` and `nonzero` give) have 32 in memory, since C code addresses with them. Natively both are one type, so a few libraries make
an array of default integers and give it to C code that wants indices; these get indices here.
"""
import functools

from . import imports

# `intp`, `uintp` and the attributes `long` and `ulong` keep the size that C code of this machine has for them.
_NAMES = {"int_": "longlong", "uint": "ulonglong", "int": "longlong", "int32": "intc", "uint32": "uintc"}
_LETTER = "q"  # of the default integer, which has "l" natively
_NAMES_OF_DTYPES = {"long": "longlong", "ulong": "ulonglong"}


def _numpy_names(aliases):
    classes = {"longlong": "NPY_LONGLONG", "ulonglong": "NPY_ULONGLONG", "intc": "NPY_INT", "uintc": "NPY_UINT"}
    for name, target in (_NAMES | _NAMES_OF_DTYPES).items():
        new = aliases.typeinfo[classes[target]].type
        aliases.sctypeDict[name] = new
        if name in _NAMES and name in aliases.allTypes:
            aliases.allTypes[name] = new
    from numpy import dtypes
    dtypes.LongDType, dtypes.ULongDType = dtypes.Int64DType, dtypes.UInt64DType


def _numpy_repr(arrayprint):
    """`array([2, 3])` without its type, for indices too."""
    from numpy._core.multiarray import dtype
    arrayprint._typelessdata.append(dtype("p").type)


def _numpy_select(functions):
    """A choice that is a number joins those that are indices without a look at how large it is."""
    numpy = functions.np
    inner = functions.select

    def whole(choice):
        return choice.astype("int64") if isinstance(choice, numpy.ndarray) and choice.dtype.num == numpy.dtype("p").num else choice

    @functools.wraps(inner)
    def select(condlist, choicelist, default=0):
        return inner(condlist, [whole(choice) for choice in choicelist], whole(default))

    functions.select = select


def _numpy_cross(numeric):
    """A product of vectors is put together in an array of the type that they have."""
    inner = numeric.cross

    @functools.wraps(inner)
    def cross(a, b, *axes, **options):
        return inner(_wide(a), _wide(b), *axes, **options)

    numeric.cross = cross


def _numpy_masked(core):
    """The pickle of a masked array has indices with 64 bits, as one of others has."""
    inner = core.MaskedArray.__reduce__

    @functools.wraps(inner)
    def __reduce__(self):
        return inner(self if self.dtype.num != core.np.dtype("p").num else self.astype("int64"))

    core.MaskedArray.__reduce__ = __reduce__


def _numpy_files(files):
    """A file of numpy's has indices with 64 bits, as a pickle has (extensions/indices.c)."""
    from numpy._core.multiarray import dtype
    wide = {dtype("p").num: "int64", dtype("P").num: "uint64"}
    inner = files.write_array

    @functools.wraps(inner)
    def write_array(fp, array, *others, **options):
        return inner(fp, array.astype(wide[array.dtype.num]) if array.dtype.num in wide else array, *others, **options)

    files.write_array = write_array


def _pandas_blocks(managers):
    """A column that is put in: its number and place join arrays of indices, of which C code makes slices."""
    import numpy
    inner = managers.BlockManager._insert_update_blklocs_and_blknos

    def _insert_update_blklocs_and_blknos(self, loc):
        inner(self, loc)
        self._blklocs = self._blklocs.astype(numpy.intp, copy=False)
        self._blknos = self._blknos.astype(numpy.intp, copy=False)

    managers.BlockManager._insert_update_blklocs_and_blknos = _insert_update_blklocs_and_blknos


def _wide(values):
    """An array of indices as one of int64: whoever prints it sees the type that Linux shows."""
    import numpy
    return values.astype("int64") if isinstance(values, numpy.ndarray) and values.dtype.num == numpy.dtype("p").num else values


def _in_place_of(inner, function):
    """`function` as pandas' own: its warnings are told of the first caller whose file is none of pandas'."""
    function.__code__ = function.__code__.replace(co_filename=inner.__code__.co_filename)
    return functools.wraps(inner)(function)


def _pandas_columns(construction):
    """Indices become int64 where a column, a series or an array is made of them."""
    sanitize, make = construction.sanitize_array, construction.array

    def sanitize_array(data, index, dtype=None, copy=False, *, allow_2d=False):
        return _wide(sanitize(data, index, dtype, copy, allow_2d=allow_2d))

    def array(data, dtype=None, copy=True):
        return make(_wide(data), dtype, copy)

    construction.sanitize_array, construction.array = _in_place_of(sanitize, sanitize_array), _in_place_of(make, array)


def _pandas_tables(construction):
    """The same where a table is made of them."""
    inner = construction.ndarray_to_mgr
    construction.ndarray_to_mgr = _in_place_of(inner, lambda values, *others, **options: inner(_wide(values), *others, **options))


def _pandas_uniques(algorithms):
    """What is different among indices comes out of a table of `int`: it is indices again, which become int64 as all others do."""
    numpy, inner = algorithms.np, algorithms._reconstruct_data

    def _reconstruct_data(values, dtype, original):
        made = inner(values, dtype, original)
        return made.view(numpy.intp) if isinstance(dtype, numpy.dtype) and dtype.num == numpy.dtype("p").num else made

    algorithms._reconstruct_data = _reconstruct_data


def _pandas_groups(groups):
    """C code of fillings takes a product of indices for indices."""
    numpy = groups.np

    class Indices(numpy.ndarray):
        def __rmul__(self, number):
            return numpy.multiply(number, self, dtype=numpy.intp)

    def ones(shape, dtype=float):
        made = numpy.ones(shape, dtype)
        return made.view(Indices) if dtype is numpy.intp else made

    groups.np = _Numpy(numpy, ones=ones)


def _pandas_hashes(masked):
    """What is not there hashes as on Linux in rows of tables: as 2^61 - 1, where Python's own hashes have 32 bits here."""
    from pandas._libs.missing import NA
    masked.hash = lambda value: 2**61 - 1 if value is NA else hash(value)


def _indices(value):
    import numpy
    if value is None:
        return None  # which C code refuses
    value = numpy.asarray(value)
    return value.astype(numpy.intp) if value.dtype == numpy.int64 else value


def _scipy_filters(support):
    """What a filter makes of indices can outgrow them."""
    inner = support._get_output

    @functools.wraps(inner)
    def _get_output(output, input, *others, complex_output=False, **options):
        if output is None and not complex_output and input.dtype.num == support.np.dtype("p").num:
            output = support.np.int64
        return inner(output, input, *others, complex_output=complex_output, **options)

    support._get_output = _get_output


def _scipy_sparse_types(sparse):
    inner = sparse.getdtype

    @functools.wraps(inner)
    def getdtype(*what, **how):
        found = inner(*what, **how)
        return sparse.np.dtype("int64") if found.num == sparse.np.dtype("p").num else found

    sparse.getdtype = getdtype


def _scipy_sparse(kind):
    """A sparse array of indices: products of such are computed by C code in the type that it has."""
    inner = kind.__init__

    @functools.wraps(inner)
    def __init__(self, *what, **how):
        inner(self, *what, **how)
        self.data = _wide(self.data)

    kind.__init__ = __init__


def _scipy_peaks(finding):
    as_expected, widths = finding._arg_peaks_as_expected, finding._peak_widths
    finding._arg_peaks_as_expected = lambda value: as_expected(_indices(value))
    finding._peak_widths = lambda x, peaks, height, prominences, left, right: widths(x, peaks, height, prominences, _indices(left), _indices(right))


def _scipy_sequences(sequences):
    inner = sequences._max_len_seq_inner
    sequences._max_len_seq_inner = lambda taps, *others: inner(_indices(taps), *others)


class _Numpy:
    """numpy as a module of a library sees it, with functions of ours."""

    def __init__(self, numpy, **functions):
        self.__dict__.update(functions)
        self._numpy = numpy

    def __getattr__(self, name):
        return getattr(self._numpy, name)


def _scipy_trust_regions(regions):
    """The numbers that its steps keep are C's, of `long`."""
    numpy = regions.np
    regions.np = _Numpy(numpy, zeros=lambda shape, dtype=float: numpy.zeros(shape, numpy.intp if numpy.dtype(dtype) == numpy.int64 else dtype))


def _scipy_regions_of_spheres(voronoi):
    """The corners of a region, a list of numbers, are indices in C."""
    numpy = voronoi.np
    voronoi.np = _Numpy(numpy, asarray=lambda *what, **how: _indices(numpy.asarray(*what, **how)))


def _scipy_precisions(decomposition):
    """Arrays by the letters of their types: one that is in no table is computed with in single precision, or is a KeyError."""
    for table in map(vars(decomposition).get, ("_array_kind", "_array_precision")):
        if table:
            table[_LETTER] = table["l"]
    if "_double_precision" in vars(decomposition):
        decomposition._double_precision.append(_LETTER)


def _sklearn_searches(searching):
    """A grid of parameters may have more points than an index counts; some of them are then drawn as natively from such a number."""
    numpy, own = searching.np, searching.sample_without_replacement
    most = numpy.iinfo(numpy.intp).max

    def length(value):
        return value.__len__() if isinstance(value, searching.ParameterGrid) else len(value)

    def sample_without_replacement(n_population, n_samples, *, method="auto", random_state=None):
        if n_population <= most:
            return own(n_population, n_samples, method=method, random_state=random_state)
        random, drawn = searching.check_random_state(random_state), {}
        while len(drawn) < n_samples:
            drawn[random.randint(n_population)] = None
        return numpy.array(list(drawn), dtype="int64")

    searching.len, searching.sample_without_replacement = length, sample_without_replacement


def _sklearn_samples(random):
    """Its arrays of `int` are indices in C."""
    numpy = random.np
    random.np = _Numpy(numpy, empty=lambda shape, dtype=float: numpy.empty(shape, numpy.intp if dtype is int else dtype))


def install():
    imports.after("numpy._core._type_aliases", _numpy_names)
    imports.after("numpy._core.arrayprint", _numpy_repr)
    imports.after("numpy.lib._function_base_impl", _numpy_select)
    imports.after("numpy._core.numeric", _numpy_cross)
    imports.after("numpy.ma.core", _numpy_masked)
    imports.after("numpy.lib._format_impl", _numpy_files)
    imports.after("pandas.core.internals.managers", _pandas_blocks)
    imports.after("pandas.core.internals.construction", _pandas_tables)
    imports.after("pandas.core.algorithms", _pandas_uniques)
    imports.after("pandas.core.construction", _pandas_columns)
    imports.after("pandas._libs.groupby", _pandas_groups)
    imports.after("pandas.core.arrays.masked", _pandas_hashes)
    imports.after("scipy.ndimage._ni_support", _scipy_filters)
    imports.after("scipy.sparse._sputils", _scipy_sparse_types)
    for name, kind in (("_compressed", "_cs_matrix"), ("_bsr", "_bsr_base"), ("_coo", "_coo_base"), ("_dia", "_dia_base")):
        imports.after(f"scipy.sparse.{name}", lambda module, kind=kind: _scipy_sparse(getattr(module, kind)))
    imports.after("scipy.signal._max_len_seq", _scipy_sequences)
    imports.after("scipy.optimize._trlib._trlib", _scipy_trust_regions)
    imports.after("scipy.signal._peak_finding", _scipy_peaks)
    imports.after("scipy.spatial._voronoi", _scipy_regions_of_spheres)
    for name in ("_decomp_qz", "_decomp_schur", "_matfuncs"):
        imports.after(f"scipy.linalg.{name}", _scipy_precisions)
    imports.after("sklearn.utils._random", _sklearn_samples)
    imports.after("sklearn.model_selection._search", _sklearn_searches)
