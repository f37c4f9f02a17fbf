"""Pickles what a session's code has defined itself: functions, classes, lambdas, closures go by value, whatever can be imported by
name. What is made again belongs to the session that restores it: its functions have that session's __main__ as their globals.
"""
import enum
import functools
import importlib
import io
import marshal
import pickle
import sys
import types
import typing

try:
    import annotationlib
except ImportError:
    annotationlib = None  # before Python 3.14

_MAIN = "__main__"
_SKIPPED_ATTRIBUTES = {"__dict__", "__weakref__", "__module__", "_abc_impl", "__abstractmethods__", "__static_attributes__",
                       "__firstlineno__", "__annotate__", "__annotate_func__", "__annotations__",
                       "__annotations_cache__"}


_is_typed_dict = getattr(typing, "is_typeddict", lambda kind: False)  # before Python 3.10 nothing tells
_ENUM_PROPERTY = getattr(enum, "property", types.DynamicClassAttribute)  # the latter before Python 3.11
_main = None  # while something is pickled


class TooLarge(Exception):
    pass


class _Bounded(io.BytesIO):
    def __init__(self, limit):
        super().__init__()
        self.left = limit

    def write(self, data):
        size = memoryview(data).nbytes
        self.left -= size
        if self.left < 0:
            raise TooLarge
        return super().write(data)


def dumps(value, limit=sys.maxsize):
    global _main
    out = _Bounded(limit)
    main = _main = sys.modules[_MAIN]
    # Nothing may go by its name in __main__: it would not be there when it is wanted.
    sys.modules[_MAIN] = types.ModuleType(_MAIN)
    try:
        Pickler(out, protocol=5).dump(value)
    finally:
        sys.modules[_MAIN] = main
    return out.getvalue()


class Pickler(pickle.Pickler):
    def reducer_override(self, value):
        kind = type(value)
        if kind is types.FunctionType:
            return NotImplemented if _is_importable(value, value.__module__, value.__qualname__) else _reduce_function(value)
        if isinstance(value, type):
            return _reduce_type(value)
        if isinstance(value, BaseException) and kind.__reduce__ is BaseException.__reduce__ and kind.__reduce_ex__ is object.__reduce_ex__:
            # Not by calling the class with `args`: its __init__ may want others.
            return _make_exception, (kind, value.args), value.__dict__ or None
        reduce = _REDUCERS.get(kind)
        return reduce(value) if reduce is not None else NotImplemented


def _is_importable(value, module, path):
    if module is None or module == _MAIN or "<" in (path or "<"):
        return False
    found = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found is value


# --- functions ---------------------------------------------------------------------------------------------------

def _reduce_function(function):
    home = _home_of(function)
    names = None
    if home is None:
        names = {name: function.__globals__[name] for name in sorted(_global_names(function.__code__)) if name in function.__globals__}
    state = {
        "defaults": function.__defaults__, "kwdefaults": function.__kwdefaults__, "dict": dict(function.__dict__),
        "doc": function.__doc__, "module": function.__module__, "qualname": function.__qualname__, "name": function.__name__,
        "globals": names, "type_params": getattr(function, "__type_params__", ()),
        "annotate": getattr(function, "__annotate__", None),
    }
    if "__classdict__" in getattr(getattr(state["annotate"], "__code__", None), "co_freevars", ()):
        # A method's: what evaluates its annotations holds all of the class's names, descriptors among them.
        state["annotate"], state["annotations"] = None, _annotations_of(function) or {}
    elif state["annotate"] is None and function.__annotations__:
        state["annotations"] = dict(function.__annotations__)
    return _make_function, (marshal.dumps(function.__code__), home, function.__closure__), state, None, None, _fill_function


def _home_of(function):
    """The module whose names the function uses."""
    if function.__globals__ is _main.__dict__:
        return _MAIN
    name = function.__globals__.get("__name__")
    module = sys.modules.get(name)
    return name if module is not None and module.__dict__ is function.__globals__ else None


def _global_names(code):
    found = set(code.co_names)
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            found |= _global_names(const)
    return found


def _make_function(code, home, closure):
    names = importlib.import_module(home).__dict__ if home else {"__builtins__": __builtins__}
    return types.FunctionType(marshal.loads(code), names, None, None, closure)


def _fill_function(function, state):
    if state["globals"] is not None:
        function.__globals__.update(state["globals"])
    function.__defaults__, function.__kwdefaults__ = state["defaults"], state["kwdefaults"]
    function.__doc__, function.__module__ = state["doc"], state["module"]
    function.__qualname__, function.__name__ = state["qualname"], state["name"]
    if state["type_params"]:
        function.__type_params__ = state["type_params"]
    if state["annotate"] is not None:
        function.__annotate__ = state["annotate"]
    elif "annotations" in state:
        function.__annotations__ = state["annotations"]
    function.__dict__.update(state["dict"])


def _reduce_cell(cell):
    try:
        contents = (cell.cell_contents,)
    except ValueError:
        contents = ()
    return _make_cell, (), contents, None, None, _fill_cell


def _make_cell():
    return types.CellType()


def _fill_cell(cell, contents):
    if contents:
        cell.cell_contents = contents[0]


def _reduce_code(code):
    return marshal.loads, (marshal.dumps(code),)


# --- classes -----------------------------------------------------------------------------------------------------

def _reduce_type(kind):
    if kind is type(None):
        return type, (None,)
    if kind is type(NotImplemented):
        return type, (NotImplemented,)
    if kind is type(...):
        return type, (...,)
    if kind.__module__ == "builtins" or _is_importable(kind, kind.__module__, kind.__qualname__):
        return NotImplemented
    if issubclass(kind, enum.Enum):
        members = {name: member._value_ for name, member in kind.__members__.items()}
        inherited = {"__doc__", "_generate_next_value_", "_new_member_", "__new__", "_missing_"}
        extra = {name: value for name, value in kind.__dict__.items()
                 if name not in members and not isinstance(value, _ENUM_PROPERTY) and name not in inherited
                 and not (name.startswith("_") and name.endswith("_")) and name not in _SKIPPED_ATTRIBUTES}
        return (_make_enum, (type(kind), kind.__name__, kind.__bases__, kind.__module__, kind.__qualname__, kind.__doc__, members), extra,
                None, None, _fill_class)
    if _is_typed_dict(kind):
        keys = {name: getattr(kind, name) for name in ("__required_keys__", "__optional_keys__", "__readonly_keys__", "__mutable_keys__")}
        return _make_typed_dict, (kind.__name__, kind.__total__, kind.__module__, kind.__qualname__, kind.__doc__), (
            _annotations_of(kind) or {}, keys), None, None, _fill_typed_dict
    slots = kind.__dict__.get("__slots__")
    basics = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    for name in ("__slots__", "__orig_bases__", "__type_params__"):
        if name in kind.__dict__:
            basics[name] = kind.__dict__[name]
    slot_names = (slots,) if isinstance(slots, str) else tuple(slots or ())
    private = {f"_{kind.__name__.lstrip('_')}{name}" for name in slot_names if name.startswith("__")}
    state = {name: value for name, value in kind.__dict__.items()
             if name not in _SKIPPED_ATTRIBUTES and name not in basics and name not in slot_names and name not in private
             and not isinstance(value, types.GetSetDescriptorType)}
    if annotations := _annotations_of(kind):
        state["__annotations__"] = annotations
    return _make_class, (type(kind), kind.__name__, kind.__bases__, basics), state, None, None, _fill_class


def _annotations_of(kind):
    """Evaluated, or as text where that does not work: the function that makes them holds all of the class's names."""
    if annotationlib is None:
        return dict((kind.__dict__.get("__annotations__") if isinstance(kind, type) else kind.__annotations__) or {})
    for form in (annotationlib.Format.VALUE, annotationlib.Format.STRING):
        try:
            return annotationlib.get_annotations(kind, format=form)
        except Exception:
            continue
    return None


def _make_class(meta, name, bases, basics):
    return types.new_class(name, bases, {} if meta is type else {"metaclass": meta}, lambda names: names.update(basics))


def _make_exception(kind, arguments):
    return kind.__new__(kind, *arguments)


def _make_typed_dict(name, total, module, qualname, doc):
    kind = typing.TypedDict(name, {}, total=total)
    kind.__module__, kind.__qualname__, kind.__doc__ = module, qualname, doc
    return kind


def _fill_typed_dict(kind, state):
    kind.__annotations__, keys = state
    for name, value in keys.items():
        setattr(kind, name, value)


def _make_enum(meta, name, bases, module, qualname, doc, members):
    names = meta.__prepare__(name, bases)
    for key, value in {"__module__": module, "__qualname__": qualname, "__doc__": doc}.items():
        names[key] = value
    for key, value in members.items():
        names[key] = value
    return meta(name, bases, names)


def _fill_class(kind, state):
    for name, value in state.items():
        if name not in ("__hash__",) or value is not None or "__eq__" in state:
            try:
                type.__setattr__(kind, name, value)
            except (AttributeError, TypeError):
                pass  # one that the class makes for itself
    if hasattr(kind, "__abstractmethods__") or "_abc_impl" in kind.__dict__:
        import abc
        abc.update_abstractmethods(kind)


# --- the rest ----------------------------------------------------------------------------------------------------

def _reduce_module(module):
    if not _is_module(module):
        raise pickle.PicklingError(f"the module {module.__name__} was not imported")
    return importlib.import_module, (module.__name__,)


def _is_module(module):
    return sys.modules.get(module.__name__) is module and module.__name__ != _MAIN


def _reduce_property(value):
    return property, (value.fget, value.fset, value.fdel, value.__doc__)


def _reduce_type_var(value):
    return NotImplemented if _is_importable(value, value.__module__, value.__name__) else (
        _make_type_var, (value.__name__, value.__constraints__, value.__bound__, value.__covariant__, value.__contravariant__))


def _make_type_var(name, constraints, bound, covariant, contravariant):
    if constraints:
        return typing.TypeVar(name, *constraints, covariant=covariant, contravariant=contravariant)
    return typing.TypeVar(name, bound=bound, covariant=covariant, contravariant=contravariant)


def _reduce_cached(function):
    wrapped = function.__wrapped__
    if _is_importable(function, function.__module__, function.__qualname__):
        return NotImplemented
    return _make_cached, (function.cache_parameters(), wrapped)


def _make_cached(parameters, wrapped):
    return functools.lru_cache(**parameters)(wrapped)


def _reduce_new_type(value):
    if _is_importable(value, value.__module__, value.__qualname__):
        return NotImplemented
    return typing.NewType, (value.__name__, value.__supertype__)


def _make_mapping_proxy(values):
    return types.MappingProxyType(values)  # a type that has no name in builtins


_REDUCERS = {
    functools._lru_cache_wrapper: _reduce_cached,
    typing.NewType: _reduce_new_type,
    types.CellType: _reduce_cell,
    types.CodeType: _reduce_code,
    types.ModuleType: _reduce_module,
    staticmethod: lambda value: (staticmethod, (value.__func__,)),
    classmethod: lambda value: (classmethod, (value.__func__,)),
    property: _reduce_property,
    types.MappingProxyType: lambda value: (_make_mapping_proxy, (dict(value),)),
    typing.TypeVar: _reduce_type_var,
}
