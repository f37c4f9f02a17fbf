"""What PYTHON* of the environment and -X say of the interpreter. CPython reads them before it starts; here each process takes them, as
far as a started interpreter can."""
import os
import posix
import sys

_COUNTS = {
    "PYTHONDEBUG": "debug", "PYTHONDONTWRITEBYTECODE": "dont_write_bytecode", "PYTHONINSPECT": "inspect", "PYTHONNOUSERSITE": "no_user_site",
    "PYTHONOPTIMIZE": "optimize", "PYTHONVERBOSE": "verbose",
}
_MOST_FRAMES = 65535  # of tracemalloc


class Refused(Exception):
    """A value with which CPython does not start; the text says why."""


def read(options, environment):
    """Adds to the options what the environment says; nothing is done yet."""
    said = {name: environment[name] for name in environment if name.startswith("PYTHON") and environment[name]}
    for name, flag in _COUNTS.items():
        if name in said:
            options.counts[flag] = max(options.count(flag), _number(said[name], 1))
    options.dev_mode = "dev" in options.x_options or "PYTHONDEVMODE" in said
    options.safe_path = options.safe_path or "PYTHONSAFEPATH" in said
    options.int_max_str_digits = _setting(options, said, "int_max_str_digits", "PYTHONINTMAXSTRDIGITS", _digits)
    options.cpu_count = _setting(options, said, "cpu_count", "PYTHON_CPU_COUNT", _processors)
    options.traced_frames = _setting(options, said, "tracemalloc", "PYTHONTRACEMALLOC", _frames)
    options.lazy_imports = _setting(options, said, "lazy_imports", "PYTHON_LAZY_IMPORTS", _laziness)
    options.fault_handler = "faulthandler" in options.x_options or "PYTHONFAULTHANDLER" in said or options.dev_mode
    prefix = options.x_options.get("pycache_prefix", said.get("PYTHONPYCACHEPREFIX"))
    options.pycache_prefix = prefix if isinstance(prefix, str) and prefix else None


def apply(options):
    """Once sys.flags and the streams are there."""
    if level := options.count("optimize"):
        from _frozen_importlib_external import SourceLoader
        SourceLoader.source_to_code.__kwdefaults__["_optimize"] = min(level, 2)
    if options.int_max_str_digits is not None:
        sys.set_int_max_str_digits(options.int_max_str_digits)
    if options.cpu_count is not None:
        count = options.cpu_count
        os.cpu_count = os.process_cpu_count = posix.cpu_count = lambda: count
    if options.lazy_imports is not None:
        sys.set_lazy_imports(options.lazy_imports)
    sys.pycache_prefix = options.pycache_prefix
    if options.fault_handler and sys.stderr is not None:
        import faulthandler
        faulthandler.enable()
    if options.traced_frames:
        import tracemalloc
        tracemalloc.start(options.traced_frames)


def _number(text, otherwise):
    """As CPython reads a flag of the environment."""
    try:
        value = int(text)
    except ValueError:
        return otherwise
    return value if value >= 0 else otherwise


def _setting(options, said, option, variable, read_as):
    """The option before the variable; None where neither is given. `read_as(value)` has the words of what is wrong as its ValueError."""
    for name, value in ((f"-X {option}", options.x_options.get(option)), (variable, said.get(variable))):
        if value is not None:
            try:
                return read_as("" if value is True else value)
            except ValueError as error:
                raise Refused(f"{name}: {error}") from None
    return None


def _digits(text):
    value = _number(text, -1)
    if value and value < sys.int_info.str_digits_check_threshold:
        raise ValueError("invalid limit; must be >= 640 or 0 for unlimited.")
    return value


def _processors(text):
    if text == "default":
        return None
    value = _number(text, 0)
    if value < 1:
        raise ValueError("n is missing or an invalid number, n must be greater than 0")
    return value


def _frames(text):
    value = _number(text, -1) if text else 1
    if not 0 <= value <= _MOST_FRAMES:
        raise ValueError("invalid number of frames")
    return value


def _laziness(text):
    if text not in ("all", "normal"):
        raise ValueError("invalid value; expected 'all' or 'normal'")
    return text
