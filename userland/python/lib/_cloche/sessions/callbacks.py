"""Functions of the host, as the session's code calls them: `await invoke("name", a=1)`, `await name(a=1)`, `await name.space(a=1)`,
`await name["of-a-server"]["tool"](a=1)` where a part of the name is no identifier."""
import builtins
import json
import keyword
from collections.abc import Mapping

from . import port, tracing

_absent = object()
_infos = []
_by_name = {}
_bound = {}  # names of ours in builtins


class CallbackError(RuntimeError):
    """The host's function failed; the message is the host's. `callback` is its name, `type` what kind of error the host says it is."""

    callback = None
    type = None


class CallbackTimeout(CallbackError, TimeoutError):
    """The function did not answer in its time."""


class CallbackCancelled(CallbackError):
    """The host has given the call up."""


class CallbackLimitExceeded(CallbackError):
    """This execution has made as many calls as it may."""


class CallbackNotFound(CallbackError, LookupError):
    """The host has no function of that name."""


class CallbackArgumentError(CallbackError, TypeError):
    """The arguments are not those that the function takes."""


for _kind in (CallbackError, CallbackTimeout, CallbackCancelled, CallbackLimitExceeded, CallbackNotFound, CallbackArgumentError):
    _kind.__module__ = "cloche"

_ERRORS = {"timeout": CallbackTimeout, "cancelled": CallbackCancelled, "limit": CallbackLimitExceeded,
           "not_found": CallbackNotFound, "arguments": CallbackArgumentError}


def _make_error(record):
    error = _ERRORS.get(record["kind"], CallbackError)(record["message"])
    error.callback = record.get("callback")
    error.type = record.get("type")
    return error


port._make_error = _make_error


def plain(value):
    """What json.dumps asks of values that it does not know: numbers and arrays of numpy, tables of pandas, sets, dates, paths."""
    for method in ("tolist", "to_dict", "isoformat", "__fspath__"):
        function = getattr(value, method, None)
        if callable(function) and not isinstance(value, type):
            return function()
    if isinstance(value, (set, frozenset)):
        return list(value)
    raise TypeError(f"{type(value).__name__} is no value that JSON has")


def _encode(name, arguments):
    try:
        return json.dumps(arguments, allow_nan=False, default=plain)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}(): {error}") from None


def _prepare(name, arguments, keywords):
    """The arguments as JSON text, and whether the answer is wanted as text too."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a callback is a string, not {type(name).__name__}")
    if isinstance(arguments, (str, bytes, bytearray)):
        if keywords:
            raise TypeError(f"{name}(): give the arguments as JSON text or as keywords, not as both")
        return (arguments if isinstance(arguments, str) else arguments.decode()) or "{}", True
    if arguments is _absent or arguments is None:
        return _encode(name, keywords), False
    if isinstance(arguments, Mapping):
        return _encode(name, {**arguments, **keywords}), False
    raise TypeError(f"{name}(): arguments are JSON text, a dict or keywords, not {type(arguments).__name__}")


async def invoke(name, arguments=_absent, /, **keywords):
    """Calls a function of the host. With JSON text the answer is JSON text; with keywords or a dict it is a value."""
    text, raw = _prepare(name, arguments, keywords)
    answer = await _call(name, text)
    return answer if raw else json.loads(answer)


async def _call(name, text):
    if not tracing.active():
        return await port.call(name, text)
    started, problem = tracing.callback_started(name), None
    try:
        return await port.call(name, text)
    except BaseException as error:
        problem = error
        raise
    finally:
        tracing.callback_ended(started, name, problem)


def invoke_sync(name, arguments=_absent, /, **keywords):
    """The same outside of a coroutine. Other tasks stand still until the answer is there."""
    text, raw = _prepare(name, arguments, keywords)
    answer = port.call_and_wait(name, text)
    return answer if raw else json.loads(answer)


def list_callbacks():
    """The functions that the host has: dicts with `name`, `description` and `parameters_schema`."""
    return json.loads(json.dumps(_infos))


class Callback:
    """A function of the host, or a namespace of them."""

    __module__ = "cloche"  # where pickles find it

    def __init__(self, path):
        self.__name__ = self.__qualname__ = path

    def __call__(self, /, *positional, **keywords):
        name = self.__name__
        info = _by_name.get(name)
        if info is None:
            raise TypeError(f"{name} is a namespace of callbacks: call one of {', '.join(_below(name)) or 'none left'}")
        if positional:
            keywords = _place(name, info, positional, keywords)
        return _invoke_bound(name, keywords)

    def __getattr__(self, attribute):
        child = self._child(attribute)
        if child is None:
            raise AttributeError(f"there is no callback {self.__name__ + '.' + attribute!r}", name=attribute, obj=self)
        self.__dict__[attribute] = child
        return child

    def __getitem__(self, part):
        if not isinstance(part, str):
            raise TypeError(f"a part of a callback's name is a string, not {type(part).__name__}")
        child = self._child(part)
        if child is None:
            raise KeyError(f"{self.__name__}.{part}")
        return child

    def __iter__(self):
        raise TypeError(f"{self!r} is not iterable: dir() and list_callbacks() tell the names")

    def __contains__(self, part):
        return isinstance(part, str) and self._child(part) is not None

    def _child(self, part):
        path = f"{self.__name__}.{part}"
        return Callback(path) if path in _by_name or any(name.startswith(path + ".") for name in _by_name) else None

    def __dir__(self):
        return sorted({name[len(self.__name__) + 1:].partition(".")[0] for name in _below(self.__name__)})

    @property
    def __doc__(self):
        return _by_name.get(self.__name__, {}).get("description") or "A callback of the host."

    def __repr__(self):
        return f"<callback {self.__name__}>" if self.__name__ in _by_name else f"<callbacks {self.__name__}.*>"

    def __reduce__(self):
        return Callback, (self.__name__,)


async def _invoke_bound(name, keywords):
    return json.loads(await _call(name, _encode(name, keywords)))


def _below(path):
    return sorted(name for name in _by_name if name.startswith(path + "."))


def _place(name, info, positional, keywords):
    """Positional arguments get the names of the schema's properties, in their order."""
    names = list((info["parameters_schema"] or {}).get("properties", ()))
    if len(positional) > len(names):
        raise TypeError(f"{name}() takes {len(names)} positional arguments but {len(positional)} were given")
    placed = dict(zip(names, positional))
    for key in keywords:
        if key in placed:
            raise TypeError(f"{name}() got multiple values for argument {key!r}")
    return {**placed, **keywords}


def set_callbacks(infos):
    """What the host has from now on. A name that Python itself has is reached by `invoke` only."""
    global _infos
    _infos = infos
    _by_name.clear()
    _by_name.update((info["name"], info) for info in infos)
    for name, value in _bound.items():
        if builtins.__dict__.get(name) is value:
            del builtins.__dict__[name]
    _bound.clear()
    for name in _by_name:
        head = name.partition(".")[0]
        if head.isidentifier() and not keyword.iskeyword(head) and not hasattr(builtins, head):
            _bound[head] = builtins.__dict__[head] = Callback(head)


def install():
    builtins.invoke = invoke
    builtins.list_callbacks = list_callbacks
