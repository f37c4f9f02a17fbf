"""A change of an installation: all of it is there at its end, or nothing of it."""
import errno
import os
import shutil
import tempfile


class Change:
    """What is to be put into `folder`, or elsewhere, is made in a folder of its own there, and moved. Left by an exception, what was
    moved is where it was.
    """

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.folder = tempfile.mkdtemp(prefix=".pip-", dir=folder)
        self._back = []  # what takes each step back
        self._count = 0

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None:
            for step in reversed(self._back):
                try:
                    step()
                except OSError:
                    pass  # the others are taken back all the same
        shutil.rmtree(self.folder, ignore_errors=True)

    def new(self):
        """The name of a file that is to be made."""
        self._count += 1
        return os.path.join(self.folder, str(self._count))

    def clear(self):
        """Of what was made, before anything is taken or put."""
        for name in os.listdir(self.folder):
            os.unlink(os.path.join(self.folder, name))

    def take(self, path):
        """Away from where it is."""
        place = self.new()
        _move(path, place)
        self._back.append(lambda: _restore(place, path))

    def put(self, made, path):
        """What was made, where it belongs: in the place of a file, and of no folder."""
        missing = _missing_folders(os.path.dirname(path))
        for folder in missing:
            os.mkdir(folder)
            self._back.append(lambda folder=folder: os.rmdir(folder))
        if os.path.isdir(path) and not os.path.islink(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if os.path.lexists(path):
            self.take(path)
        _move(made, path)
        self._back.append(lambda: os.unlink(path))


class Staged:
    """Files that were made in a change's own folder, and are not where they belong yet."""

    def __init__(self, change):
        self._change = change
        self._files = {}  # where it belongs -> (what was made, whether it is executed)

    def add(self, path, made, executable=False):
        """In the place of one that was added before."""
        old, _ = self._files.pop(path, (None, None))
        if old is not None:
            os.unlink(old)
        self._files[path] = made, executable

    def add_text(self, path, text, executable=False):
        made = self._change.new()
        with open(made, "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
        self.add(path, made, executable)

    def paths(self):
        return list(self._files)

    def place(self):
        for path, (made, executable) in self._files.items():
            if executable:
                os.chmod(made, 0o755)
            self._change.put(made, path)


def _missing_folders(path):
    """From the outermost one on."""
    missing = []
    while path and not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    return missing[::-1]


def _restore(place, path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    _move(place, path)


def _move(source, target):
    try:
        os.rename(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.move(source, target)
