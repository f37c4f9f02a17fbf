"""GNU readline's interface, over the line editor that CPython's own prompt has in Python (`_pyrepl`).

On a terminal `input()` edits its line, remembers it and completes words once this module is imported; elsewhere it takes lines as they
come. Of init files and `parse_and_bind` nothing is heeded: the keys are the editor's own, and Tab completes.
"""
import builtins
import os
import sys

backend = "readline"
_READLINE_VERSION = _READLINE_RUNTIME_VERSION = 0x0802
_READLINE_LIBRARY_VERSION = "8.2"

_plain_input = builtins.input
_history = []
_history_length = -1  # that files keep; -1: all
_auto_history = True
_completer = None
_delimiters = " \t\n`~!@#$%^&*()-=+[{]}\\|;:'\",<>/?"
_startup_hook = _pre_input_hook = _display_hook = None
_editor = None  # of this process's terminal
_reading = False


# --- History -----------------------------------------------------------------------------------------------------

def _text(value):
    if not isinstance(value, str):
        raise TypeError(f"argument must be str, not {type(value).__name__}")
    if "\0" in value:
        raise ValueError("embedded null character")
    value.encode()
    return value


def add_history(string, /):
    _history.append(_text(string))


def clear_history():
    _history.clear()


def get_current_history_length():
    return len(_history)


def get_history_item(index, /):
    return _history[index - 1] if 0 < index <= len(_history) else None


def _place(index):
    if index < 0:
        raise ValueError("History index cannot be negative")
    if index >= len(_history):
        raise ValueError(f"No history item at position {index}")
    return index


def remove_history_item(pos, /):
    del _history[_place(pos)]


def replace_history_item(pos, line, /):
    line = _text(line)
    _history[_place(pos)] = line


def get_history_length():
    return _history_length


def set_history_length(length, /):
    global _history_length
    _history_length = int(length)


def set_auto_history(enabled, /):
    global _auto_history
    _auto_history = bool(enabled)


def _file(filename):
    return os.path.expanduser("~/.history") if filename is None else filename


def read_history_file(filename=None, /):
    with open(_file(filename), "rb") as file:
        lines = file.read().split(b"\n")
    _history.extend(line.decode("utf-8", "surrogateescape").replace("\0", "") for line in lines if line)


def _write(filename, mode, lines):
    with open(_file(filename), mode) as file:
        file.write(b"".join(line.encode("utf-8", "surrogateescape") + b"\n" for line in lines))


def _cut(filename):
    """A file keeps the last lines only, where their number is set."""
    if _history_length >= 0:
        with open(_file(filename), "rb") as file:
            lines = file.read().splitlines(keepends=True)
        if len(lines) > _history_length:
            with open(_file(filename), "wb") as file:
                file.write(b"".join(lines[len(lines) - _history_length:]))


def write_history_file(filename=None, /):
    _write(filename, "wb", _history)
    _cut(filename)


def append_history_file(nelements, filename=None, /):
    if nelements < 0:
        raise ValueError("nelements must be positive")
    os.stat(_file(filename))
    _write(filename, "ab", _history[len(_history) - min(nelements, len(_history)):])
    _cut(filename)


# --- The line ----------------------------------------------------------------------------------------------------

def _reader():
    return _editor.get_reader() if _reading else None


def get_line_buffer():
    reader = _reader()
    return reader.get_unicode() if reader is not None else ""


def insert_text(string, /):
    reader = _reader()
    if reader is not None:
        reader.insert(_text(string))


def redisplay():
    reader = _reader()
    if reader is not None:
        reader.refresh()


def get_begidx():
    return _editor.get_begidx() if _reading else 0


def get_endidx():
    return _editor.get_endidx() if _reading else 0


def get_completion_type():
    return 0


def _hook(function):
    if function is not None and not callable(function):
        raise TypeError("set_startup_hook(func): argument not callable")
    return function


def set_completer(function=None, /):
    global _completer
    _completer = _hook(function)


def get_completer():
    return _completer


def set_completer_delims(string, /):
    global _delimiters
    _delimiters = _text(string)


def get_completer_delims():
    return _delimiters


def set_startup_hook(function=None, /):
    global _startup_hook
    _startup_hook = _hook(function)


def set_pre_input_hook(function=None, /):
    global _pre_input_hook
    _pre_input_hook = _hook(function)


def get_pre_input_hook():
    return _pre_input_hook


def set_completion_display_matches_hook(function=None, /):
    global _display_hook
    _display_hook = _hook(function)


def parse_and_bind(string, /):
    _text(string)


def read_init_file(filename=None, /):
    with open(os.path.expanduser("~/.inputrc" if filename is None else filename), "rb"):
        pass  # its settings are of another editor


# --- input() -----------------------------------------------------------------------------------------------------

def _on_terminal():
    try:
        ends = (sys.stdin.fileno(), sys.stdout.fileno())
        return ends == (0, 1) and all(map(os.isatty, ends))
    except (AttributeError, OSError, ValueError):
        return False


def _edited():
    """The editor of this process's terminal; None for one that cannot move its cursor."""
    global _completer, _editor
    import termios
    chosen = _completer
    from _pyrepl import readline as library
    _completer = chosen  # that module imports rlcompleter, which sets its own
    from _pyrepl.unix_console import InvalidTerminal
    if _editor is None:
        from _cloche.programs import interactive
        interactive.restore_whole()
        _editor = library._ReadlineWrapper(0, 1)
    try:
        _editor.get_reader()
    except (OSError, termios.error, InvalidTerminal):
        _editor = None
    return _editor


def _complete(text, state):
    return _completer(text, state) if _completer is not None else None


def _begin():
    for hook in (_startup_hook, _pre_input_hook):
        if hook is not None:
            hook()


def input(prompt="", /):
    if _reading or not _on_terminal():
        return _plain_input(prompt)
    editor = _edited()
    line = _plain_input(prompt) if editor is None else _edit(editor, prompt)
    if _auto_history and line and _history[-1:] != [line]:
        _history.append(line)
    return line


def _edit(editor, prompt):
    global _reading
    sys.audit("builtins.input", prompt)
    reader = editor.get_reader()
    editor.config.readline_completer = _complete
    editor.config.completer_delims = frozenset(_delimiters)
    reader.history = list(_history)
    reader.more_lines = None
    reader.ps1 = str(prompt)
    sys.stdout.flush()
    _reading = True
    try:
        line = reader.readline(startup_hook=_begin)
    finally:
        _reading = False
    sys.audit("builtins.input/result", line)
    return line


input.__doc__ = _plain_input.__doc__
builtins.input = input
