# packages: numpy pandas scipy
"""Floats that C code makes integers of where they do not fit: what x86-64 makes of them, in whichever library. What else they were is wrong
in silence, as in the filters of pictures whose pixels have no sign."""
import warnings

import numpy as np
import pandas as pd
from scipy import ndimage

warnings.simplefilter("ignore")
picture = np.arange(25, dtype=np.uint8).reshape(5, 5)[:, ::-1] ** 2
FILTERS = {
    "sobel": ndimage.sobel,
    "laplace": ndimage.laplace,
    "prewitt": ndimage.prewitt,
    "convolve": lambda x: ndimage.convolve(x, [[0, -70, 0], [900, -40, 30], [0, 1, 0]]),
    "correlate1d": lambda x: ndimage.correlate1d(x, [1, -5e9, 3]),
    "gaussian": lambda x: ndimage.gaussian_filter(x, 1),
    "gradient": lambda x: ndimage.gaussian_gradient_magnitude(x, 1),
    "generic": lambda x: ndimage.generic_filter(x, lambda values: -values.sum(), 3),
    "zoom": lambda x: ndimage.zoom(x, 1.5),
    "spline": lambda x: ndimage.spline_filter(x, output=x.dtype),
    "coordinates": lambda x: ndimage.map_coordinates(x * 1.0 - 300, [[0, 1], [2, 3]], output=x.dtype),
    "affine": lambda x: ndimage.affine_transform(x * -1.0, [1, 2], output=x.dtype),
}
for kind in "uint8 int8 uint16 int16 uint32 int32 uint64 int64".split():
    for name, function in FILTERS.items():
        print(kind, name, function(picture.astype(kind)).ravel()[:12].tolist())

odd = np.array([np.inf, -np.inf, 1e300, -1e300, 1e19, 2.0**63, 2.0**64, -1.5, 1.5])
print(odd.astype("m8[s]").astype("i8").tolist())
print(odd.astype("M8[s]").astype("i8").tolist())
for value in odd[:6].tolist():
    print(value, (np.array([1, 3], "m8[s]") * value).astype("i8").tolist(), (np.array([1, 3], "m8[s]") / value).astype("i8").tolist())
for call in ("pd.Timedelta(1, 's') * 1e300", "pd.to_timedelta([1e300], unit='s')", "pd.to_datetime([1e300], unit='s')",
             "pd.Series([1e300]).astype('Int64')", "pd.Series([-1.0]).astype('uint8')", "pd.Timedelta(1e300, 's')",
             "pd.Series(pd.to_timedelta([1, 2], unit='s')) * 1e300", "pd.array([1.0, np.inf]).astype('Int8')"):
    try:
        print(call, "->", repr(eval(call)))
    except Exception as error:
        print(call, "->", type(error).__name__)
