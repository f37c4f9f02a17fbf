# packages: numpy pandas scipy
"""What has more elements than any memory here is refused, whatever its size is by 32 bits: nothing is made shorter or written behind its end."""
import numpy as np
import pandas as pd
import scipy.ndimage as images
import scipy.sparse as sparse
import scipy.spatial.distance as distances

ones, wide = np.ones(65536, "i1"), 2**31 - 1
line = np.broadcast_to(np.int8(1), wide)


def outcome(make):
    try:
        made = make()
    except (MemoryError, ValueError, OverflowError, IndexError, TypeError):
        return "does not fit"
    return f"made {type(made).__name__}"


for times in (2**29, 2**29 + 1, 2**30, 2**30 + 1, wide, 65536, 65537):
    print("repeat", times, outcome(lambda: np.repeat(ones, times)), outcome(lambda: ones.repeat([times] * len(ones))),
          outcome(lambda: np.repeat(ones.reshape(256, 256), times, 1)), outcome(lambda: np.tile(ones, times)))
print("repeats", outcome(lambda: np.repeat(np.ones(3, "i1"), [wide, wide, 4])), outcome(lambda: np.repeat(np.ones(2, "i1"), [wide, 1])),
      outcome(lambda: np.repeat([1, 2], -2**31)), outcome(lambda: np.repeat([1, 2], [-1, 2])), np.repeat([1, 2], [3, 0]), np.repeat([1, 2], 2))
for more in (1, 2, 3, 70000):
    parts = [line, line, np.ones(more, "i1")]
    print("concatenate", more, outcome(lambda: np.concatenate(parts)), outcome(lambda: np.concatenate(parts, None)), outcome(lambda: np.hstack(parts)),
          outcome(lambda: np.append(np.append(line, line), 1)), outcome(lambda: np.block([parts])), outcome(lambda: np.concatenate(parts[1:])),
          outcome(lambda: np.vstack([part[:, None] for part in parts])))
print(np.concatenate([[1], [2, 3]]), np.concatenate([np.ones((0, 2)), np.ones((1, 2))]).shape)
for largest in (wide, wide - 1, 2**30):
    print("bincount", largest, outcome(lambda: np.bincount([largest])), outcome(lambda: np.bincount([0, largest], [1., 2.])),
          outcome(lambda: np.bincount([1], minlength=largest)))
print(np.bincount([1, 3]), np.bincount([], minlength=2))
for count in (2**28, 2**28 + 1, 2**29, 2**29 + 1, 2**30, wide):
    data = np.broadcast_to(np.uint8(1), count)
    print("unpackbits", count, outcome(lambda: np.unpackbits(data)), outcome(lambda: np.unpackbits(data[None], axis=1)),
          outcome(lambda: np.unpackbits(data[:, None], axis=0)))
print(np.unpackbits(np.array([5], "u1")), np.unpackbits(np.array([5], "u1"), count=-3), np.unpackbits(np.array([5], "u1"), count=10))
for seconds in (2**31, 2**32, 2**32 + 1, 2**33, 2**62):
    print("moments", seconds, outcome(lambda: np.arange(np.datetime64(0, "s"), np.datetime64(seconds, "s"))),
          outcome(lambda: np.arange(np.timedelta64(seconds, "s"))), outcome(lambda: pd.date_range("2000", periods=seconds, freq="ns")))
print(np.arange(np.datetime64(0, "D"), np.datetime64(3, "D")), np.arange(np.datetime64(5, "s"), np.datetime64(3, "s")))
for size in (2**23, 2**24, 2**24 + 1, 2**25):
    print("conversions", size, outcome(lambda: np.array([1.]).astype(f"U{size}")), outcome(lambda: np.array([1]).astype(f"S{4 * size}")),
          outcome(lambda: np.array(["1"], f"U{size}").astype(float)), outcome(lambda: np.array([b"a"]).astype(f"U{size}")))
print(np.array([1.]).astype("U5"), np.array(["1"], "U70000").astype(float))
for width in (2**31, 2**32, 2**32 + 3, 2**62):
    for strings in (["ab"], np.array(["ab"], "T")):
        print("strings", width, *(outcome(lambda: change(strings, width)) for change in (
            np.strings.center, np.strings.ljust, np.strings.rjust, np.strings.zfill, np.strings.multiply)))
    print("product", width, outcome(lambda: np.array(["ab"], "T") * width))
print(np.strings.center(["ab"], 4), np.strings.zfill(np.array(["1"], "T"), [3]), np.strings.multiply(["a"], i=3), np.array(["ab", "", "c" * 40], "T") * [2, 3, 1])
for rows in (65536, 65537):
    print("pandas", rows, outcome(lambda: pd.Series(range(65536)).repeat(rows)), outcome(lambda: pd.MultiIndex.from_product([range(65536), range(rows)])),
          outcome(lambda: pd.concat([pd.Series(line), pd.Series(line), pd.Series(ones)])))
print("cubes", outcome(lambda: pd.MultiIndex.from_product([range(2048)] * 3)))
for points in (46342, 65536, 65537, 92683, 131073):
    print("pdist", points, *(outcome(lambda: distances.pdist(np.ones((points, 1)), metric)) for metric in ("euclidean", "hamming", "cityblock")))
print(distances.pdist([[1.], [2.], [4.]]))
print("kron", outcome(lambda: sparse.kron(sparse.eye(65536, format="coo"), sparse.eye(65536))))
for size in (2**28, 2**29, 2**30):
    print("filters", size, *(outcome(lambda: change(np.ones(3), size)) for change in (
        images.uniform_filter1d, images.minimum_filter1d, images.maximum_filter1d)))
print(images.uniform_filter1d([1., 2, 6], 3), images.maximum_filter1d([1, 2, 6], 2))
for mode in ("reflect", "grid-mirror", "wrap", "grid-wrap", "mirror", "nearest", "constant", "grid-constant"):
    far = [] if mode == "nearest" else [2.**31, 2.**32 + 1, -2.**33 - 1, 2.**40, -2.**40 + .5]
    places = [*far, 1e9, 7, -7.25, 2.5, -.25, 3, 6, 4.5, -1, -3, -2.75]
    print(mode, *(images.map_coordinates(np.arange(length) + 1., [places], order=order, mode=mode, prefilter=False).round(6).tolist()
                  for length, order in ((1, 0), (2, 1), (3, 0), (5, 1), (4, 3))))
