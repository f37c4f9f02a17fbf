"""sys.stdin, sys.stdout and sys.stderr, made anew for each process as CPython makes them."""
import io
import os
import sys


def _stream(fd, mode, encoding, errors, unbuffered):
    try:
        raw = io.FileIO(fd, mode, closefd=False)
    except OSError:
        return None  # the descriptor is closed
    terminal = os.isatty(fd)
    raw_name = ("<stdin>", "<stdout>", "<stderr>")[fd]
    if mode == "r":
        buffer = io.BufferedReader(raw)
    elif unbuffered:
        buffer = raw
    else:
        buffer = io.BufferedWriter(raw)
    raw.name = raw_name
    stream = io.TextIOWrapper(buffer, encoding=encoding, errors=errors, newline="\n" if mode == "w" else None,
                              line_buffering=mode == "w" and (terminal or fd == 2), write_through=mode == "w" and unbuffered)
    stream.mode = mode
    return stream


def open_streams(unbuffered, encoding=None):
    name, _, errors = (encoding or "").partition(":")
    name = name or "utf-8"
    usual = errors or "surrogateescape"
    sys.stdin = sys.__stdin__ = _stream(0, "r", name, usual, False)
    sys.stdout = sys.__stdout__ = _stream(1, "w", name, usual, unbuffered)
    sys.stderr = sys.__stderr__ = _stream(2, "w", name, "backslashreplace", unbuffered)


def line_by_line():
    """What is printed reaches the host with each line, so that nothing is lost when the process is killed."""
    sys.stdout.reconfigure(line_buffering=True)


def flush():
    """False when the last words could not be written."""
    whole = True
    for stream in (sys.stdout, sys.stderr):
        if stream is None or getattr(stream, "closed", False):
            continue
        try:
            stream.flush()
        except Exception as error:
            if stream is sys.stdout and sys.stderr is not None:
                try:
                    print(f"Exception ignored while flushing sys.stdout:\n{type(error).__name__}: {error}", file=sys.stderr)
                except Exception:
                    pass
            whole = False
    return whole
