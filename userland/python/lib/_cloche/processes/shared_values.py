"""`Value`, `Array`, `RawValue` and `RawArray` of multiprocessing. The library's are ctypes in a shared map of a file; processes here
share no memory, so these read and write the file itself, by one call each time. Types are given by their letters."""
import operator
import os
import struct

from ..libraries import imports

# As C of x86-64 Linux has them: letter to struct's own, little-endian.
_FORMATS = {"c": "c", "b": "b", "B": "B", "h": "h", "H": "H", "i": "i", "I": "I", "l": "q", "L": "Q", "q": "q", "Q": "Q", "f": "f", "d": "d", "?": "?"}
_FOLDER = "/dev/shm"


def _format_of(letter):
    if not isinstance(letter, str):
        raise TypeError(f"types of multiprocessing's values are given by a letter in this sandbox ({', '.join(_FORMATS)}), not by {letter!r}")
    if letter not in _FORMATS:
        raise TypeError(f"bad typecode {letter!r}: one of {', '.join(_FORMATS)}")
    return "<" + _FORMATS[letter]


def _wrapped(kind, value):
    """An integer as C keeps it: what does not fit loses its upper bits."""
    if kind in "bBhHiIqQ":
        value = operator.index(value)
        bits = 8 * struct.calcsize("<" + kind)
        value &= (1 << bits) - 1
        return value - (1 << bits) if kind.islower() and value >> (bits - 1) else value
    return bool(value) if kind == "?" else value


class _File:
    """Elements in a file that goes with the process that made it."""

    def __init__(self, letter, count):
        from multiprocessing import util
        import tempfile
        self._set(letter, count, *tempfile.mkstemp(prefix="mp-", dir=_FOLDER))
        self._end = util.Finalize(self, _File._remove, (self._fd, self._path), exitpriority=0)
        os.truncate(self._fd, count * self._step)

    def _set(self, letter, count, fd, path):
        self._letter, self._count, self._fd, self._path = letter, count, fd, path
        self._format = _format_of(letter)
        self._step = struct.calcsize(self._format)

    @staticmethod
    def _remove(fd, path):
        os.close(fd)
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass

    def __reduce__(self):
        from multiprocessing import context
        context.assert_spawning(self)
        return _opened, (type(self), self._letter, self._count, self._path)

    def _get(self, start, stop):
        data = os.pread(self._fd, (stop - start) * self._step, start * self._step)
        return [item[0] for item in struct.iter_unpack(self._format, data)]

    def _put(self, start, items):
        kind = self._format[1]
        os.pwrite(self._fd, b"".join(struct.pack(self._format, _wrapped(kind, item)) for item in items), start * self._step)


def _opened(kind, letter, count, path):
    from multiprocessing import util
    self = kind.__new__(kind)
    self._set(letter, count, os.open(path, os.O_RDWR | os.O_CLOEXEC), path)
    self._end = util.Finalize(self, os.close, (self._fd,))
    return self


class RawValue(_File):
    def __init__(self, letter, *initial):
        if len(initial) > 1:
            raise TypeError(f"a value has one initial value, not {len(initial)}")
        super().__init__(letter, 1)
        if initial:
            self.value = initial[0]

    @property
    def value(self):
        return self._get(0, 1)[0]

    @value.setter
    def value(self, value):
        self._put(0, [value])

    def __repr__(self):
        return f"<RawValue {self._letter!r}: {self.value!r}>"


class RawArray(_File):
    def __init__(self, letter, size_or_initial):
        if isinstance(size_or_initial, int):
            if size_or_initial < 0:
                raise ValueError("an array's size is 0 or more")
            super().__init__(letter, size_or_initial)
        else:
            items = [bytes([item]) for item in size_or_initial] if isinstance(size_or_initial, bytes) and letter == "c" else list(size_or_initial)
            super().__init__(letter, len(items))
            self._put(0, items)

    def __len__(self):
        return self._count

    def _index(self, index):
        at = operator.index(index)
        at += self._count if at < 0 else 0
        if not 0 <= at < self._count:
            raise IndexError("invalid index")
        return at

    def __getitem__(self, index):
        if not isinstance(index, slice):
            at = self._index(index)
            return self._get(at, at + 1)[0]
        items = self._get(0, self._count)[index]
        return b"".join(items) if self._letter == "c" else items

    def __setitem__(self, index, value):
        if not isinstance(index, slice):
            return self._put(self._index(index), [value])
        items = self._get(0, self._count)
        new = list(value) if not isinstance(value, bytes) else [bytes([item]) for item in value]
        if len(items[index]) != len(new):
            raise ValueError("Can only assign sequence of same size")
        items[index] = new
        self._put(0, items)

    def __iter__(self):
        return iter(self._get(0, self._count))

    @property
    def value(self):
        """Of characters: up to the first zero."""
        if self._letter != "c":
            raise AttributeError("value")
        return self[:].partition(b"\0")[0]

    @value.setter
    def value(self, value):
        if self._letter != "c":
            raise AttributeError("value")
        if len(value) > self._count:
            raise ValueError(f"byte string too long ({len(value)}, maximum length {self._count})")
        self._put(0, [bytes([item]) for item in value[:self._count]] + [b"\0"] * (len(value) < self._count))

    def __repr__(self):
        return f"<RawArray {self._letter!r}: {self[:]!r}>"


class Synchronized:
    """One of the two with a lock, which each access takes."""

    def __init__(self, raw, lock):
        self._raw, self._lock = raw, lock
        self.acquire, self.release = lock.acquire, lock.release

    def __reduce__(self):
        from multiprocessing import context
        context.assert_spawning(self)
        return Synchronized, (self._raw, self._lock)

    def get_obj(self):
        return self._raw

    def get_lock(self):
        return self._lock

    def __enter__(self):
        return self._lock.__enter__()

    def __exit__(self, *about):
        return self._lock.__exit__(*about)

    @property
    def value(self):
        with self._lock:
            return self._raw.value

    @value.setter
    def value(self, value):
        with self._lock:
            self._raw.value = value

    def __len__(self):
        return len(self._raw)

    def __getitem__(self, index):
        with self._lock:
            return self._raw[index]

    def __setitem__(self, index, value):
        with self._lock:
            self._raw[index] = value

    def __iter__(self):
        with self._lock:
            return iter(self._raw)

    def __repr__(self):
        return f"<Synchronized wrapper for {self._raw!r}>"


def _with_lock(context, raw, lock):
    if lock is False:
        return raw
    if lock in (True, None):
        lock = context.RLock()
    elif not hasattr(lock, "acquire"):
        raise AttributeError(f"{lock!r} has no method 'acquire'")
    return Synchronized(raw, lock)


def _adopt_context(module):
    """multiprocessing.context: its values, and spawn alone of the ways to start a process."""
    base = module.BaseContext
    base.RawValue = lambda self, typecode_or_type, *args: RawValue(typecode_or_type, *args)
    base.RawArray = lambda self, typecode_or_type, size_or_initializer: RawArray(typecode_or_type, size_or_initializer)
    base.Value = lambda self, typecode_or_type, *args, lock=True: _with_lock(self.get_context(), RawValue(typecode_or_type, *args), lock)
    base.Array = lambda self, typecode_or_type, size_or_initializer, *, lock=True: _with_lock(
        self.get_context(), RawArray(typecode_or_type, size_or_initializer), lock)
    for name in [name for name in module._concrete_contexts if name != "spawn"]:
        del module._concrete_contexts[name]
    module._default_context._default_context = module._concrete_contexts["spawn"]


class _Numbers:
    """multiprocessing.heap.BufferWrapper, of which a Barrier makes its two numbers."""

    def __init__(self, size):
        self._array = RawArray("i", size // struct.calcsize("<i"))

    def create_memoryview(self):
        return self

    def cast(self, letter):
        return self._array


def _adopt_heap(module):
    """multiprocessing.heap: what else would lie in shared memory says that there is none."""
    def refuse(self, size, fd=-1):
        raise NotImplementedError("processes share no memory in this sandbox: use a Queue, a Pipe, a Manager or a file")

    module.BufferWrapper = _Numbers
    module.Arena.__init__ = refuse


def _adopt_joblib(module):
    """joblib._multiprocessing_helpers: its own processes want ctypes; without them it works in threads, or in one after the other."""
    module.mp = None


def install():
    imports.after("joblib._multiprocessing_helpers", _adopt_joblib)
    imports.after("multiprocessing.heap", _adopt_heap)
    imports.after("multiprocessing.context", _adopt_context)
