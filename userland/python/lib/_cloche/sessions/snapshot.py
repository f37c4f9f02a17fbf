"""The user's names as bytes, and back.

    "CLPYST" version NUL      8 bytes
    SHA-256 of the rest       32 bytes
    JSON, NUL, pickle         what it is for (Python's version, the modules) and the values by name
"""
import asyncio
import gc
import hashlib
import json
import pickle
import sys
import types

from ..sockets import loop
from ..programs import main_module
from . import by_value, interrupts, port

_MAGIC = b"CLPYST1\0"
_DIGEST = 32
_PIECE = 4 << 20
_REASON_MAX = 300


class _Failed(Exception):
    """One sentence for the host."""


def _names():
    main = sys.modules["__main__"].__dict__
    return {name: value for name, value in main.items() if not (name.startswith("__") and name.endswith("__"))}


def _answer(action, *arguments):
    record = {"left_out": []}
    try:
        try:
            interrupts.arm()  # pickling runs code of the user
            action(record, *arguments)
            status = 0
        finally:
            interrupts.armed = False
    except (_Failed, interrupts.ExecutionStopped) as failure:
        record["error"], status = str(failure), 1
    except Exception as error:
        record["error"], status = f"{type(error).__name__}: {error}"[:_REASON_MAX], 1
    port.send(b"R" + json.dumps(record, ensure_ascii=False).encode(errors="replace"))
    return status


def take(request):
    return _answer(_take, json.loads(request))


def restore(data):
    return _answer(_restore, data)


def clear(request):
    return _answer(_clear)


def _take(record, options):
    values, modules = {}, {}
    for name, value in _names().items():
        if isinstance(value, types.ModuleType) and by_value._is_module(value):
            modules[name] = value.__name__
        else:
            values[name] = value
    limit = options["max_bytes"]
    try:
        data = by_value.dumps(values, limit)
    except by_value.TooLarge:
        raise _Failed(f"the state is larger than {limit} bytes") from None
    except Exception:
        bad = _unpicklable(values, limit)
        if not options["leave_out"]:
            raise _Failed("; ".join(f"{name} cannot be saved: {reason}" for name, reason in bad.items())
                          or "the names cannot be saved together") from None
        record["left_out"] = [{"name": name, "reason": reason} for name, reason in bad.items()]
        try:
            data = by_value.dumps({name: value for name, value in values.items() if name not in bad}, limit)
        except by_value.TooLarge:
            raise _Failed(f"the state is larger than {limit} bytes") from None
    head = json.dumps({"python": list(sys.version_info[:3]), "modules": modules}).encode()
    body = head + b"\0" + data
    whole = _MAGIC + hashlib.sha256(body).digest() + body
    if len(whole) > limit:
        raise _Failed(f"the state is larger than {limit} bytes")
    for at in range(0, len(whole), _PIECE):
        port.send(b"B" + whole[at:at + _PIECE])


def _unpicklable(values, limit):
    """Names whose values cannot be pickled, each with the reason."""
    bad = {}
    for name, value in values.items():
        try:
            by_value.dumps(value, limit)
        except by_value.TooLarge:
            bad[name] = f"it is larger than {limit} bytes"
        except RecursionError:
            bad[name] = f"{type(value).__name__}: it is nested too deep"
        except Exception as error:
            bad[name] = f"{type(value).__name__}: {error}"[:_REASON_MAX]
    return bad


def _restore(record, data):
    body = data[len(_MAGIC) + _DIGEST:]
    if data[:6] != _MAGIC[:6] or len(data) <= len(_MAGIC) + _DIGEST:
        raise _Failed("these bytes are no state of a session")
    if data[:len(_MAGIC)] != _MAGIC:
        raise _Failed(f"this state has format {data[6:7].decode('latin-1')}, this session reads format 1")
    if hashlib.sha256(body).digest() != data[len(_MAGIC):len(_MAGIC) + _DIGEST]:
        raise _Failed("these bytes are damaged: their checksum is wrong")
    head, _, pickled = body.partition(b"\0")
    info = json.loads(head)
    if info["python"][:2] != list(sys.version_info[:2]):
        raise _Failed("this state is of Python {}.{}, this session of {}.{}".format(*info["python"][:2], *sys.version_info[:2]))
    try:
        values = pickle.loads(pickled)
    except ModuleNotFoundError as error:
        raise _Failed(f"this state needs a module that is not here: {error}") from None
    except Exception as error:
        raise _Failed(f"a value of this state cannot be made again: {type(error).__name__}: {error}"[:_REASON_MAX]) from None
    main = sys.modules["__main__"].__dict__
    for name, module in info["modules"].items():
        try:
            __import__(module)
            main[name] = sys.modules[module]
        except Exception as error:
            record["left_out"].append({"name": name, "reason": f"{type(error).__name__}: {error}"[:_REASON_MAX]})
    main.update(values)


def _clear(record):
    own = loop.session_loop()
    for task in asyncio.all_tasks(own):
        task.cancel()
    own.run_until_complete(asyncio.sleep(0))
    main = sys.modules["__main__"]
    main_module.clear(main)
    main_module.fresh_main()
    sys.last_exc = sys.last_value = sys.last_traceback = None
    gc.collect()
