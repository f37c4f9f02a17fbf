# SPDX-License-Identifier: Apache-2.0
"""The kernel of a Python context: runs cells in one __main__, and says what they show.

A request is a line of JSON on standard input: {"code", "mark", "env"}. What a cell writes goes out as it is; a record is put between:
a record separator, the request's mark, JSON, a line feed. The last record of a cell, on both streams, is {"type": "end"}.
"""
import ast
import asyncio
import base64
import builtins
import contextlib
import html
import importlib.util
import inspect
import io
import json
import linecache
import math
import os
import re
import runpy
import shlex
import signal
import subprocess
import sys
import traceback
import types

_TEXT_MAX = 1 << 20
_DEPTH_MAX = 50
_ERROR_MAX = 1 << 18
_NAME_MAX = 1000
_RECORD_MAX = (8 << 20) - 4096
_CELLS_MAX = 200_000
_FORMS = {"html": "text/html", "markdown": "text/markdown", "svg": "image/svg+xml", "png": "image/png", "jpeg": "image/jpeg",
          "pdf": "application/pdf", "latex": "text/latex", "json": "application/json", "javascript": "application/javascript"}
_NAMES = {mime: name for name, mime in _FORMS.items()} | {"text/plain": "text"}
_BINARY = {"png", "jpeg", "pdf"}


# --- records -----------------------------------------------------------------------------------------------------

_out, _err = os.dup(1), os.dup(2)  # whatever a cell does with 1 and 2
_mark = b""


def _flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass  # closed by a cell


def _put(fd, record):
    data = b"\x1e" + _mark + _bytes_of(record) + b"\n"
    while data:
        data = data[os.write(fd, data):]


def _bytes_of(record):
    """As JSON. Of a result that is longer than the reader takes the longest forms are left out, of an error the end of what it says."""
    try:
        text = json.dumps(record, ensure_ascii=False, allow_nan=False, default=_word_of)
    except (TypeError, ValueError, RecursionError):  # NaN, keys that are no text, circles
        text = json.dumps(_as_json(record), ensure_ascii=False)
    data = text.encode(errors="replace")
    if len(data) <= _RECORD_MAX:
        return data
    if record["type"] == "error":
        return _bytes_of(record | {"value": record["value"][:_ERROR_MAX]})
    forms = {name: len(_bytes_of_form(content)) for name, content in record.items() if name not in ("type", "is_main_result", "text")}
    longest = max(forms, key=forms.get)
    return _bytes_of({name: content for name, content in record.items() if name != longest})


def _bytes_of_form(content):
    return json.dumps(_as_json(content), ensure_ascii=False).encode(errors="replace")


def _as_json(value, depth=0):
    """What JSON has in the place of a value: null for numbers that it has not, text for other things."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth < _DEPTH_MAX and isinstance(value, dict):
        return {key if isinstance(key, str) else _word_of(key): _as_json(item, depth + 1) for key, item in value.items()}
    if depth < _DEPTH_MAX and isinstance(value, (list, tuple)):
        return [_as_json(item, depth + 1) for item in value]
    return _word_of(value)


def _word_of(value):
    try:
        return str(value)
    except Exception as error:
        return f"<{type(value).__name__}: its str raises {type(error).__name__}>"


def _traceback_of(error):
    try:
        return "".join(traceback.format_exception(error))
    except Exception:
        return f"{type(error).__name__}: {_word_of(error)}\n"


def _tell(record):
    _flush()
    _put(_out, record)


# --- what a value looks like -------------------------------------------------------------------------------------

def _text_of(value):
    try:
        text = repr(value)
    except Exception as error:
        text = f"<{type(value).__name__}: its repr raises {type(error).__name__}>"
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    return text if len(text) <= _TEXT_MAX else text[:_TEXT_MAX] + "..."


def _plain(name, content):
    if name in _BINARY and isinstance(content, (bytes, bytearray)):
        return base64.b64encode(content).decode()
    return content


def _bundle(value):
    """The forms of a value, by the names of the wire."""
    if _is_figure(value):
        return _figure_forms(value)
    forms = {}
    whole = getattr(value, "_repr_mimebundle_", None)
    if callable(whole) and not isinstance(value, type):
        try:
            given = whole(include=None, exclude=None)
            for mime, content in (given[0] if isinstance(given, tuple) else given).items():
                _add_form(forms, mime, content)
        except Exception:
            pass  # it has no such form, then
    for name, mime in _FORMS.items():
        method = getattr(value, f"_repr_{name}_", None)
        if name in forms or not callable(method) or isinstance(value, type):
            continue
        try:
            content = method()
        except Exception:
            continue
        if isinstance(content, tuple):
            content = content[0]
        if content is not None:
            _add_form(forms, mime, content)
    if _is_table(value) and value.size <= _CELLS_MAX:
        forms["data"] = _columns_of(value)
    forms.setdefault("text", _text_of(value))
    return forms


def _add_form(forms, mime, content):
    name = _NAMES.get(mime)
    if name:
        forms[name] = _plain(name, content)
    else:
        forms.setdefault("extra", {})[mime] = content


def _is_table(value):
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.DataFrame)


def _columns_of(table):
    plain = (bool, int, float, str, type(None))
    return {name if isinstance(name, plain) else _word_of(name): [item if isinstance(item, plain) else _word_of(item) for item in column]
            for name, column in table.to_dict(orient="list").items()}


def _show(value, main=False):
    _tell({"type": "result", "is_main_result": main} | _bundle(value))


def display(*values, raw=False, **_):
    """Shows values as results of the cell; with raw=True each is a dict of media types."""
    for value in values:
        if raw:
            forms = {}
            for mime, content in value.items():
                _add_form(forms, mime, content)
            _tell({"type": "result", "is_main_result": False} | forms)
        else:
            _show(value)


# --- figures -----------------------------------------------------------------------------------------------------

def _is_figure(value):
    module = sys.modules.get("matplotlib.figure")
    return module is not None and isinstance(value, module.Figure)


def _figure_forms(figure):
    picture = io.BytesIO()
    figure.savefig(picture, format="png", bbox_inches="tight")
    forms = {"text": _text_of(figure), "png": base64.b64encode(picture.getvalue()).decode()}
    try:
        chart = _chart_of(figure)
    except Exception:
        chart = None  # drawn in a way that these words do not describe
    return forms | ({"chart": chart} if chart else {})


def _show_figures(*_, **__):
    """plt.show(), and what is open at the end of a cell."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    if helpers is None:
        return
    for manager in helpers.Gcf.get_all_fig_managers():
        figure = manager.canvas.figure
        helpers.Gcf.destroy(manager)
        if figure.axes:
            _show(figure)


def _adopt_figures():
    try:
        from _cloche.libraries import figures
    except ModuleNotFoundError:  # an image's own Python: what is open at the end of a cell is shown
        os.environ.setdefault("MPLBACKEND", "agg")
        return
    figures.show = _show_figures
    backend = sys.modules.get("matplotlib.backends.backend_agg")
    if backend is not None:
        backend.show = _show_figures


# --- pictures ----------------------------------------------------------------------------------------------------

def _adopt_pictures(module):
    """A picture of PIL's that is shown, or saved in a file, is a result too; what matplotlib saves is its figure's."""
    picture = module.Image
    save = picture.save

    def show(self, title=None):
        _show(self)

    def save_and_show(self, fp, format=None, **params):
        save(self, fp, format, **params)
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if isinstance(fp, (str, os.PathLike)) and not caller.startswith("matplotlib"):
            _show(self)
    picture.show, picture.save = show, save_and_show


class _PicturesFinder:
    """On sys.meta_path until PIL.Image is imported, which it tells."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != "PIL.Image":
            return None
        sys.meta_path.remove(cls)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module):
                run(module)
                _adopt_pictures(module)
            spec.loader.exec_module = exec_module
        return spec


def _await_pictures():
    if (module := sys.modules.get("PIL.Image")) is not None:
        _adopt_pictures(module)
    else:
        sys.meta_path.insert(0, _PicturesFinder)


# --- lines that are no Python ------------------------------------------------------------------------------------

class UsageError(Exception):
    """A line that begins with % or %% and says what there is not."""


_PLACES = re.compile(r"\$?\{[^{}]+\}|\$+[A-Za-z_]\w*")


def _with_values(command):
    """A command, with values of Python in the place of {expression} and $name where Python has them; all else is the shell's."""
    return _PLACES.sub(_value_at, command)


def _value_at(found):
    text, names = found.group(), _main.__dict__
    try:
        if text[0] == "{":
            tree = ast.parse("f" + repr(text), mode="eval")
            if not isinstance(tree.body.values[0].value, (ast.Constant, ast.Tuple)):  # {"a":1}, {a,b} and {1..3} are the shell's
                return eval(compile(tree, "<command>", "eval"), names)
        elif text[1:] in names and found.string[:found.start()].count("'") % 2 == 0:
            return str(names[text[1:]])
    except Exception:
        pass  # nothing that Python has
    return text


def _system(command):
    _shell(_with_values(command))


def _shell(script):
    _flush()
    done = subprocess.run(["/bin/bash", "-c", script], stdin=subprocess.DEVNULL, check=False)
    _main.__dict__["_exit_code"] = done.returncode


def _system_lines(command):
    _flush()
    done = subprocess.run(["/bin/bash", "-c", _with_values(command)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          errors="replace", check=False)
    return done.stdout.splitlines()


def _magic(name, rest):
    if name == "cd":
        os.chdir(os.path.expanduser(rest.strip() or "~"))
        print(os.getcwd())
    elif name == "pwd":
        return os.getcwd()
    elif name in ("pip", "ls", "cat", "mkdir", "rm", "cp", "mv", "env") and not (name == "env" and "=" in rest):
        _system(f"{name} {rest}")
    elif name == "env":
        key, _, value = rest.partition("=")
        os.environ[key.strip()] = value.strip()
        print(f"env: {key.strip()}={value.strip()}")
    elif name in ("time", "timeit"):
        return _timed(name, rest)
    elif name == "run":
        _run_file(shlex.split(rest))
    elif name not in ("matplotlib", "load_ext", "reload_ext", "autoreload", "config"):
        raise UsageError(f"Line magic function `%{name}` not found.")
    return None


def _run_file(words):
    if not words:
        raise UsageError("%run wants the name of a file.")
    before, sys.argv = sys.argv, words
    try:
        names = runpy.run_path(words[0], run_name="__main__")
    finally:
        sys.argv = before
    _main.__dict__.update((name, value) for name, value in names.items() if not name.startswith("__"))


def _timed(name, code):
    import time
    import timeit
    if name == "timeit":
        options, code = re.match(r"((?:\s*-[nrtcpqo]\s*\d*(?=\s))*)\s*(.*)", code, re.S).groups()
        given = dict(re.findall(r"-([nr])\s*(\d+)", options))
        timer = timeit.Timer(code, globals=_main.__dict__)
        count = int(given.get("n", 0)) or timer.autorange()[0]
        times = timer.repeat(int(given.get("r", 1)), count)
        print(f"{min(times) / count * 1e6:.3g} us per loop (best of {len(times)} runs of {count} loops)")
        return None
    code = code.strip("\n")
    begin = time.perf_counter()
    try:
        return eval(code, _main.__dict__) if _is_expression(code) else exec(code, _main.__dict__)
    finally:
        print(f"Wall time: {(time.perf_counter() - begin) * 1000:.3g} ms")


def _is_expression(code):
    try:
        compile(code, "<cell>", "eval", dont_inherit=True)
        return True
    except SyntaxError:
        return False


def _whole_cell(code):
    """A cell that begins with %%: None where it does not."""
    first, _, rest = code.lstrip().partition("\n")
    if not first.startswith("%%"):
        return None
    name, _, argument = first[2:].strip().partition(" ")
    if name in ("bash", "sh"):
        return f"__cell_shell({rest!r})"
    if name == "writefile":
        return f"__cell_write({argument.strip()!r}, {rest!r})"
    if name in ("time", "timeit"):
        return f"__cell_magic({name!r}, {argument + chr(10) + rest!r})"
    if name in ("html", "markdown", "latex", "svg", "javascript"):
        return f"display({{{_FORMS[name]!r}: {rest!r}}}, raw=True)"
    if name == "capture":
        return rest
    raise UsageError(f"Cell magic `%%{name}` not found.")


def _write_file(path, text):
    with open(path, "w") as file:
        file.write(text)
    print(f"Writing {path}")


def _as_python(line):
    """A line that begins with ! or %, or assigns what such a one writes or gives: as a call. None for anything else."""
    bare = line.lstrip()
    indent = line[:len(line) - len(bare)]
    if bare.startswith("!"):
        return f"{indent}__cell_system({bare[1:]!r})"
    if bare.startswith("%"):
        name, _, rest = bare[1:].partition(" ")
        return f"{indent}__cell_magic({name!r}, {rest!r})"
    target, equals, rest = bare.partition("=")
    rest = rest.lstrip()
    if equals and target.strip().isidentifier():
        if rest.startswith("!"):
            return f"{indent}{target}= __cell_lines({rest[1:]!r})"
        if rest.startswith("%"):
            name, _, rest = rest[1:].partition(" ")
            return f"{indent}{target}= __cell_magic({name!r}, {rest!r})"
    return None


def _without_indent(code):
    """As a cell of a notebook: empty lines at its beginning, and what its first line is indented by, are no part of it."""
    lines = code.split("\n")
    while lines and not lines[0].strip():
        del lines[0]
    if not lines:
        return ""
    indent = lines[0][:len(lines[0]) - len(lines[0].lstrip(" \t"))]
    return "\n".join(line.removeprefix(indent) for line in lines) if indent else code


def _parse(code, name):
    """The tree of a cell; lines that are no Python, and stand where Python finds no sense, are put into calls one by one."""
    code = _whole_cell(code) or code
    lines = code.split("\n")
    for _ in range(len(lines) + 1):
        try:
            return compile("\n".join(lines), name, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
        except SyntaxError as error:
            at = (error.lineno or 0) - 1
            changed = _as_python(lines[at]) if 0 <= at < len(lines) else None
            if changed is None:
                raise
            lines[at] = changed
    raise AssertionError("a line is changed once")


# --- cells -------------------------------------------------------------------------------------------------------

_main = types.ModuleType("__main__")
_count = 0
_running = False
_loop = None


def _interrupt(*_):
    if _running:
        raise KeyboardInterrupt


def _await(coroutine):
    global _loop
    if _loop is None:
        _loop = asyncio.new_event_loop()
        asyncio.set_event_loop(_loop)
    task = _loop.create_task(coroutine)
    try:
        return _loop.run_until_complete(task)
    finally:
        if not task.done():  # interrupted: it does not go on in the next cell that awaits
            task.cancel()
            with contextlib.suppress(BaseException):
                _loop.run_until_complete(task)


async def _await_all(parts):
    value = None
    for code in parts:
        value = eval(code, _main.__dict__)
        if code.co_flags & inspect.CO_COROUTINE:
            value = await value
    return value


def _evaluate(parts):
    """The value of the last part. Where one of them awaits all of them are in the loop, so that what they start goes on in it."""
    if any(code.co_flags & inspect.CO_COROUTINE for code in parts):
        return _await(_await_all(parts))
    value = None
    for code in parts:
        value = eval(code, _main.__dict__)
    return value


def _run(source):
    name = f"<cell {_count}>"
    source = _without_indent(source)
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    tree = _parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    parts = [compile(tree, name, "exec", flags, dont_inherit=True)] if tree.body else []
    if last is not None:
        parts.append(compile(ast.Expression(last.value), name, "eval", flags, dont_inherit=True))
    value = _evaluate(parts)
    if last is None or value is None or source.rstrip().endswith(";"):
        return
    builtins._ = _main.__dict__["_"] = value
    if _is_figure(value) and (helpers := sys.modules.get("matplotlib._pylab_helpers")):
        helpers.Gcf.destroy_fig(value)  # shown once
    _show(value, main=True)


def _own_frames_off(error):
    frames = []
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals is not globals():
            frames.append(trace)
        trace = trace.tb_next
    error.__traceback__ = None
    for frame in reversed(frames):
        error.__traceback__ = types.TracebackType(error.__traceback__, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)


def _cell(request):
    global _count, _running
    _count += 1
    before = {name: os.environ.get(name) for name in request["env"]}
    os.environ.update(request["env"])
    try:
        _running = True
        try:
            _run(request["code"])
            _show_figures()
        finally:
            _running = False
    except BaseException as error:
        _own_frames_off(error)
        sys.last_exc = error
        _tell({"type": "error", "name": type(error).__name__[:_NAME_MAX], "value": _word_of(error),
               "traceback": _traceback_of(error)[-_ERROR_MAX:]})
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        _flush()
        _put(_out, {"type": "end"})
        _put(_err, {"type": "end"})


def _is_jpeg(data):
    return isinstance(data, (bytes, bytearray)) and data[:3] == b"\xff\xd8\xff"


def _stand_in_for_ipython():
    """`from IPython.display import display, HTML ...`, which programs for notebooks begin with."""
    if importlib.util.find_spec("IPython") is not None:
        return
    module = types.ModuleType("IPython.display")

    def kind(name, form):
        def __init__(self, data=None, url=None, filename=None, **_):
            if isinstance(data, (str, os.PathLike)) and filename is None and os.path.isfile(data):
                data, filename = None, data
            if filename is not None:
                with open(filename, "rb" if form in _BINARY else "r") as file:
                    data = file.read()
            elif isinstance(data, str) and form in _BINARY:
                data, url = None, data
            self.data, self.url = data, url

        def show(self):
            return self.data if form not in _BINARY or not _is_jpeg(self.data) else None

        def show_jpeg(self):
            return self.data if _is_jpeg(self.data) else None

        def show_address(self):
            return f'<img src="{html.escape(str(self.url))}"/>' if self.url else None
        more = {"_repr_jpeg_": show_jpeg, "_repr_html_": show_address} if form in _BINARY else {}
        return type(name, (), {"__init__": __init__, f"_repr_{form}_": show, "__module__": "IPython.display"} | more)
    for name, form in {"HTML": "html", "Markdown": "markdown", "SVG": "svg", "Image": "png", "Latex": "latex", "Math": "latex",
                       "JSON": "json", "Javascript": "javascript"}.items():
        setattr(module, name, kind(name, form))
    module.display = display
    module.clear_output = lambda wait=False: None
    parent = types.ModuleType("IPython")
    parent.display = module
    parent.get_ipython = lambda: None
    parent.version_info = (8, 24, 0, "")  # what matplotlib looks at
    sys.modules["IPython"], sys.modules["IPython.display"] = parent, module


def _serve():
    global _mark
    requests = os.fdopen(os.dup(0), "rb")
    nothing = os.open("/dev/null", os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    signal.signal(signal.SIGINT, _interrupt)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)
    _main.__dict__.update(__builtins__=builtins, __name__="__main__", display=display, __cell_system=_system,
                          __cell_shell=_shell, __cell_lines=_system_lines, __cell_magic=_magic, __cell_write=_write_file)
    builtins.display = display
    sys.modules["__main__"] = _main
    sys.argv = [""]
    if "" not in sys.path:
        sys.path.insert(0, "")
    _adopt_figures()
    _await_pictures()
    _stand_in_for_ipython()
    for line in requests:
        request = json.loads(line)
        _mark = request["mark"].encode()
        _cell(request)


_serve()
