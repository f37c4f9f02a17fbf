"""Arrays of indices in files of joblib and MATLAB: they have 64 bits there, as in a pickle, or would be read as `int32`."""
import functools

from . import imports


def _whole(numpy, value):
    return value.astype("int64") if isinstance(value, numpy.ndarray) and value.dtype.num == numpy.dtype("p").num else value


def _joblib_files(files):
    own = files.NumpyPickler.save

    @functools.wraps(own)
    def save(self, obj):
        return own(self, obj if self.np is None else _whole(self.np, obj))

    files.NumpyPickler.save = save


def _matlab_files(files):
    own = files.to_writeable
    files.to_writeable = functools.wraps(own)(lambda source: _whole(files.np, own(source)))


def install():
    imports.after("joblib.numpy_pickle", _joblib_files)
    imports.after("scipy.io.matlab._mio5", _matlab_files)
