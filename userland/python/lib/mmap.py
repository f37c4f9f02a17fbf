"""Memory-mapped files, as copies: the bytes that were changed go to the file at flush(), close() and the end of the object. Another
process sees them then, and not before.
"""
import os

ACCESS_DEFAULT, ACCESS_READ, ACCESS_WRITE, ACCESS_COPY = 0, 1, 2, 3
PROT_READ, PROT_WRITE, PROT_EXEC = 1, 2, 4
MAP_SHARED, MAP_PRIVATE, MAP_ANON, MAP_ANONYMOUS, MAP_POPULATE, MAP_NORESERVE = 1, 2, 32, 32, 0x8000, 0x4000
MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_DONTNEED = range(5)
PAGESIZE = ALLOCATIONGRANULARITY = 4096
error = OSError
_WRITABLE = 1  # of a buffer that is asked for
_PIECE = 65536  # bytes that are looked at together for changes
_ZEROS = bytes(_PIECE)
_CHANGED = bytes(1) + b"\xff" * 255  # a translation: what is not 0 is all ones


class mmap(bytearray):
    """mmap(fileno, length, flags, prot, access, offset); fileno -1 is memory of its own."""

    def __new__(cls, *args, **kwargs):
        return bytearray.__new__(cls)

    def __init__(self, fileno, length, flags=MAP_SHARED, prot=PROT_READ | PROT_WRITE, access=ACCESS_DEFAULT, offset=0, *,
                 trackfd=True):
        self._fd, self._at, self._closed = -1, 0, True
        if length < 0 or offset < 0:
            raise OverflowError("memory mapped length and offset must be positive")
        if offset % ALLOCATIONGRANULARITY:
            raise OSError(22, "Invalid argument")
        if access == ACCESS_DEFAULT:
            access = ACCESS_READ if not prot & PROT_WRITE else ACCESS_COPY if flags & MAP_PRIVATE else ACCESS_WRITE
        if fileno != -1:
            size = os.fstat(fileno).st_size
            if length == 0:
                if size == 0:
                    raise ValueError("cannot mmap an empty file")
                if offset >= size:
                    raise ValueError("mmap offset is greater than file size")
                length = size - offset
            elif offset + length > size:
                raise ValueError("mmap length is greater than file size")
            self._fd = os.dup(fileno)
        elif length == 0:
            raise OSError(22, "Invalid argument")
        super().__init__(length)
        self._access, self._offset, self._closed = access, offset, False
        self._in_file = []  # pieces as they were read or written last, where changes have to be known
        if self._fd >= 0:
            self._load(0)

    def _load(self, start):
        """What is in the file from there on."""
        for at in range(start - start % _PIECE, len(self), _PIECE):
            begin = max(at, start)
            piece = os.pread(self._fd, min(at + _PIECE, len(self)) - begin, self._offset + begin)
            bytearray.__setitem__(self, slice(begin, begin + len(piece)), piece)
            if self._access != ACCESS_WRITE:
                continue
            if begin > at:
                self._in_file[-1] += piece
            else:
                self._in_file.append(_ZEROS if piece == _ZEROS else piece)

    def _check(self, writing=False):
        if self._closed:
            raise ValueError("mmap closed or invalid")
        if writing and self._access == ACCESS_READ:
            raise TypeError("mmap can't modify a readonly memory map.")

    closed = property(lambda self: self._closed)

    def __buffer__(self, flags):
        self._check()
        view = bytearray.__buffer__(self, flags)
        if self._access != ACCESS_READ:
            return view
        if flags & _WRITABLE:
            raise BufferError("Object is not writable.")
        return view.toreadonly()

    def __len__(self):
        self._check()
        return bytearray.__len__(self)

    def __getitem__(self, key):
        self._check()
        value = bytearray.__getitem__(self, key)
        return bytes(value) if isinstance(key, slice) else value

    def __iter__(self):
        self._check()
        return (bytes((byte,)) for byte in bytearray.__iter__(self))

    def __setitem__(self, key, value):
        self._check(writing=True)
        if isinstance(key, slice) and len(value) != len(range(*key.indices(len(self)))):
            raise IndexError("mmap slice assignment is wrong size")
        bytearray.__setitem__(self, key, value)

    def __delitem__(self, key):
        raise TypeError("mmap object doesn't support item deletion")

    def read(self, n=None):
        self._check()
        end = len(self) if n is None or n < 0 else min(len(self), self._at + n)
        data, self._at = self[self._at:end], end
        return data

    def readline(self):
        end = self.find(b"\n", self._at)
        return self.read((end + 1 if end >= 0 else len(self)) - self._at)

    def read_byte(self):
        if self._at >= len(self):
            raise ValueError("read byte out of range")
        return self.read(1)[0]

    def write(self, data):
        self._check(writing=True)
        data = bytes(data)
        if self._at + len(data) > len(self):
            raise ValueError("data out of range")
        bytearray.__setitem__(self, slice(self._at, self._at + len(data)), data)
        self._at += len(data)
        return len(data)

    def write_byte(self, byte):
        self.write(bytes([byte]))

    def seek(self, pos, whence=0):
        self._check()
        at = pos + (0, self._at, len(self))[whence]
        if not 0 <= at <= len(self):
            raise ValueError("seek out of range")
        self._at = at
        return at

    def tell(self):
        self._check()
        return self._at

    def size(self):
        self._check()
        return os.fstat(self._fd).st_size if self._fd >= 0 else len(self)

    def seekable(self):
        return True

    def find(self, sub, start=None, end=None):
        self._check()
        return bytearray.find(self, sub, self._at if start is None else start, len(self) if end is None else end)

    def rfind(self, sub, start=None, end=None):
        self._check()
        return bytearray.rfind(self, sub, self._at if start is None else start, len(self) if end is None else end)

    def move(self, dest, src, count):
        self[dest:dest + count] = self[src:src + count]

    def resize(self, newsize):
        self._check(writing=True)
        if self._access == ACCESS_COPY:
            raise TypeError("mmap can't resize a readonly or copy-on-write memory map.")
        before, rest = len(self), bytearray.__getitem__(self, slice(newsize, None))
        try:
            self._set_length(newsize, bytes(max(0, newsize - before)))
        except BufferError:
            raise BufferError("mmap can't resize with extant buffers exported.") from None
        if self._fd >= 0:
            try:
                os.ftruncate(self._fd, self._offset + newsize)
            except OSError:
                self._set_length(before, rest)
                raise
        if newsize < before:
            del self._in_file[-(-newsize // _PIECE):]
            if newsize % _PIECE and self._in_file:
                self._in_file[-1] = self._in_file[-1][:newsize % _PIECE]
        elif self._fd >= 0:
            self._load(before)

    def _set_length(self, length, more):
        """Shortened, or with `more` behind what is there; a BufferError, and nothing, where somebody has a view of it."""
        if length < len(self):
            bytearray.__delitem__(self, slice(length, None))
        else:
            bytearray.extend(self, more)

    def madvise(self, option, start=0, length=None):
        self._check()

    def flush(self, offset=0, size=None):
        self._check()
        if self._access == ACCESS_WRITE and self._fd >= 0:
            end = len(self) if size is None else min(offset + size, len(self))
            for at in range(offset - offset % _PIECE, end, _PIECE):
                before, now = self._in_file[at // _PIECE], bytes(bytearray.__getitem__(self, slice(at, at + _PIECE)))
                if before != now:
                    self._write(at, before, now)
                    self._in_file[at // _PIECE] = now

    def _write(self, at, before, now):
        """What differs is written; what others have written meanwhile stays."""
        new = int.from_bytes(now, "little")
        changed = (new ^ int.from_bytes(before, "little")).to_bytes(len(now), "little").translate(_CHANGED)
        mask = int.from_bytes(changed, "little")
        file = os.pread(self._fd, len(now), self._offset + at)
        merged = int.from_bytes(file, "little") & ~mask | new & mask
        done, merged = 0, merged.to_bytes(len(now), "little")[:len(file)]
        while done < len(merged):
            done += os.pwrite(self._fd, merged[done:], self._offset + at + done)

    def close(self):
        if self._closed:
            return
        self.flush()
        try:
            bytearray.clear(self)
        except BufferError:
            raise BufferError("cannot close exported pointers exist") from None
        self._closed = True
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self):
        self._check()
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        try:
            self.close()
        except Exception:
            pass

    def __repr__(self):
        return f"<mmap.mmap closed={self._closed}, length={bytearray.__len__(self)}, pos={self._at}, offset={getattr(self, '_offset', 0)}>"

    __str__ = __repr__
    __hash__ = object.__hash__
