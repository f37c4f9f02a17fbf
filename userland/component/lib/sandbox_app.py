"""The exports of the world `eryx:sandbox`, which componentize-py wraps as a component."""
import ast
import asyncio
import contextlib
import gc
import importlib
import io
import json
import os.path
import pkgutil
import sys
import traceback
import warnings

import cloche  # noqa: F401  as for the library
import wit_world
from componentize_py_types import Err

from _cloche.host import state
from _cloche.sockets import install, loop
from _cloche.programs import main_module, streams
from _cloche.sessions import callbacks, execution, port, snapshot, tracing, tracing_switch, world_tracing

_NOT_IMPORTED = {"antigravity", "this", "idlelib", "test", "tkinter", "turtle", "turtledemo", "ensurepip", "lib2to3"}
_BUSY = "another call of this session is in progress"


class WitWorld(wit_world.WitWorld):
    async def execute(self, code):
        _refuse_if_busy()
        state.turns += 1
        name = f"<session-{state.turns}>"
        callbacks.set_callbacks([
            {"name": one.name, "description": one.description, "parameters_schema": _schema(one.parameters_schema_json)}
            for one in wit_world.list_callbacks()])
        failure = None
        try:
            await _perform(code, name)
        except SystemExit as request:
            status = main_module.exit_status(request)
            failure = f"SystemExit: {status}\n" if status else None
        except BaseException as error:
            failure = _traceback_of(error, name)
        finally:
            world_tracing.stop()
            tracing.stop()
        stdout, stderr = streams.take()
        if failure is not None:
            raise Err(failure)
        return wit_world.ExecuteOutput(stdout=stdout.rstrip("\n"), stderr=stderr)

    async def snapshot_state(self):
        _refuse_if_busy()
        port.pieces.clear()
        _ask(snapshot.take, json.dumps({"leave_out": False, "max_bytes": 64 << 20}))
        data = b"".join(port.pieces)
        port.pieces.clear()
        return data

    async def restore_state(self, data):
        _refuse_if_busy()
        _ask(snapshot.restore, bytes(data))

    async def clear_state(self):
        if loop.busy():
            return
        for task in asyncio.all_tasks(loop.session_loop()) - {asyncio.current_task()}:
            if not loop.is_own(task):
                task.cancel()
        await asyncio.sleep(0)
        main_module.clear(sys.modules["__main__"])
        main_module.fresh_main()
        sys.last_exc = sys.last_value = sys.last_traceback = None
        gc.collect()

    def finalize_preinit(self):
        streams.take()
        gc.collect()


async def _perform(text, name):
    code = compile(text, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    execution._remember_text(name, text)
    tracing.remember(code)
    if tracing_switch.options is not None:
        tracing.start(tracing_switch.options, None)
    elif tracing_switch.on:
        world_tracing.start()
    names = sys.modules["__main__"].__dict__
    if code.co_flags & execution._COROUTINE:
        await execution._await_all(code, None, names)
    else:
        with loop.plain_code():
            execution._run_all(code, None, names)


def _traceback_of(error, name):
    try:
        _forget_host_errors(error)
        return execution._failure(error, name)["traceback"]
    except Exception:  # one that the host's are a part of
        return "".join(traceback.format_exception_only(error))


def _forget_host_errors(error):
    """What an import of the world raised is no exception of Python's: its traceback cannot be changed, and it was said anew."""
    seen, waiting = set(), [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        for link in ("__cause__", "__context__"):
            if isinstance(getattr(one, link), Err):
                setattr(one, link, None)
        waiting += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]


def _schema(text):
    try:
        return json.loads(text) if text else None
    except ValueError:
        return None


def _refuse_if_busy():
    if loop.busy():
        raise Err(_BUSY)


def _ask(action, request):
    """Runs an action of snapshot.py, and raises what it answers where it fails."""
    action(request)
    if problem := port.record.get("error"):
        raise Err(problem)


def _import_library():
    """All of the standard library: what is not imported while the component is made is not there later."""
    folder = os.path.dirname(os.path.dirname(asyncio.__file__))
    names = sorted(sys.stdlib_module_names | {module.name for module in pkgutil.walk_packages([folder], onerror=lambda _: None)})
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(action="ignore"):
        for name in names:
            head = name.partition(".")[0]
            if head not in _NOT_IMPORTED and "__main__" not in name and head in sys.stdlib_module_names:
                try:
                    importlib.import_module(name)
                except (Exception, SystemExit):
                    pass  # of another system, or needs what WASI has not


def _set_up():
    install.install()
    _import_library()
    streams.open_streams()
    loop.install()
    callbacks.install()
    main_module.fresh_main()


_set_up()
