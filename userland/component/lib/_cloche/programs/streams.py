"""sys.stdout and sys.stderr: what is written is told to the host at once, and kept for the answer of `execute`."""
import codecs
import io
import sys

import wit_world

_KEPT_MAX = 64 << 20


class _Output(io.RawIOBase):
    def __init__(self, number, name):
        self.name = name
        self._number = number
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._kept, self._size = [], 0

    def writable(self):
        return True

    def write(self, data):
        text = self._decoder.decode(bytes(data))
        if text:
            wit_world.report_output(self._number, text)
            if self._size + len(text) <= _KEPT_MAX:
                self._kept.append(text)
                self._size += len(text)
        return len(data)

    def take(self):
        text, self._kept, self._size = "".join(self._kept), [], 0
        return text


_outputs = _Output(0, "<stdout>"), _Output(1, "<stderr>")


def open_streams():
    for output, name in zip(_outputs, ("stdout", "stderr")):
        errors = "surrogateescape" if name == "stdout" else "backslashreplace"
        stream = io.TextIOWrapper(io.BufferedWriter(output), encoding="utf-8", errors=errors, line_buffering=True, write_through=True)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")


def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass  # the user's own stream, or a closed one


def take():
    """What was written to both since it was last asked for."""
    flush()
    return tuple(output.take() for output in _outputs)
