# SPDX-License-Identifier: Apache-2.0
"""Functions of this process that are programs in a sandbox."""
from __future__ import annotations

import asyncio
import inspect
import json
import threading
from typing import Any, AsyncIterator, Awaitable, Callable, Dict, Iterator, Optional, Union

from . import _async_call
from ._arguments import ArgumentError, Arguments
from ._callbacks import CallbackSet, mark_as_waiting, named_functions
from ._calls import Call
from ._errors import CancelledError, SandboxError, message_of
from ._hints import plain, signature_of
from .command_call import CommandCall

Reply = Callable[[Any], None]
Fail = Callable[[str, str], None]
_USAGE_STATUS = 2
_FAILED_STATUS = 1


class HostCommands:
    """A set of functions, by the names of the commands that they are. Coroutine functions run in `loop`,
    or each in one of its own."""

    def __init__(self, functions: CallbackSet, loop: Optional[asyncio.AbstractEventLoop] = None) -> None:
        named = named_functions(functions)
        self._programs = {name: _Program(name, function) for name, function in named.items()}
        self._loop = loop
        self.descriptions = [{"name": name, "description": program.help} for name, program in self._programs.items()]

    def invoke(self, call: Call, sandbox_id: str, reply: Reply, fail: Fail) -> None:
        """Begins a call, and returns: it ends by `reply` or `fail`, once."""
        program = self._programs.get(call.name)
        if program is None:
            fail("there is no such command", "LookupError")
        elif not program.is_async:
            threading.Thread(target=_run, args=(program, call, sandbox_id, reply, fail), name=f"cloche {call.name}",
                             daemon=True).start()
        elif self._loop is not None:
            try:
                asyncio.run_coroutine_threadsafe(_run_async(program, call, sandbox_id, reply, fail), self._loop)
            except RuntimeError:
                fail("the event loop of the command's function is closed", "RuntimeError")
        else:
            threading.Thread(target=lambda: asyncio.run(_run_async(program, call, sandbox_id, reply, fail)),
                             name=f"cloche {call.name}", daemon=True).start()


class _Program:
    """A function, and how it is called: with the call itself, or with the arguments that it names."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.function = function
        self.is_async = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
        self._arguments = None if _takes_call(function) else Arguments(name, function)
        self.help = inspect.getdoc(function) or "" if self._arguments is None else self._arguments.help

    def start(self, call: Call, shown: Any) -> Any:
        """Calls it; what it returns."""
        if self._arguments is None:
            return self.function(shown)
        positional, named = self._arguments.parse(call.args)
        return self.function(*positional, **named)


def _takes_call(function: Callable[..., Any]) -> bool:
    """Whether it has one parameter, which has no type or is the call."""
    parameters = list(signature_of(function).parameters.values())
    if len(parameters) != 1 or parameters[0].kind in (parameters[0].KEYWORD_ONLY, parameters[0].VAR_KEYWORD,
                                                      parameters[0].VAR_POSITIONAL):
        return False
    hint = parameters[0].annotation
    return hint is inspect.Parameter.empty or hint in (CommandCall, _async_call.CommandCall) or (
        isinstance(hint, str) and hint.strip("'\"").rpartition(".")[2] == "CommandCall")


def _text_of(result: Any) -> Union[str, bytes]:
    """What a function has returned, as it is printed: text has an end of line, what is neither text nor
    bytes is JSON."""
    if isinstance(result, (bytes, bytearray, memoryview)):
        return bytes(result)
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=plain)
    return text if not text or text.endswith("\n") else text + "\n"


def _is_status(result: Any) -> bool:
    return isinstance(result, int) and not isinstance(result, bool)


def _status_of(result: Any) -> int:
    return int(result) if _is_status(result) else 0


def _status_of_exit(error: SystemExit, say: Callable[[str], None]) -> int:
    if error.code is None or isinstance(error.code, int):
        return int(error.code or 0)
    say(f"{error.code}\n")
    return _FAILED_STATUS


def _run(program: _Program, call: Call, sandbox_id: str, reply: Reply, fail: Fail) -> None:
    mark_as_waiting(sandbox_id)
    shown = CommandCall(call)
    try:
        try:
            result = program.start(call, shown)
            if isinstance(result, Iterator):
                shown.stdout.writelines(result)
            elif result is not None and not _is_status(result):
                shown.stdout.write(_text_of(result))
            status = _status_of(result)
        except SystemExit as error:
            status = _status_of_exit(error, lambda text: _drop_result(shown.stderr.write(text)))
        except ArgumentError as error:
            shown.stderr.write(str(error))
            status = _USAGE_STATUS
        reply({"exitCode": status & 0xff})
    except CancelledError:
        reply(None)  # the process has gone
    except BaseException as error:  # goes to standard error
        fail(_problem(error), type(error).__name__)


async def _run_async(program: _Program, call: Call, sandbox_id: str, reply: Reply, fail: Fail) -> None:
    mark_as_waiting(sandbox_id)
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    shown = _async_call.CommandCall(call, loop)

    def ended() -> None:
        if call.ended and task is not None:
            try:
                loop.call_soon_threadsafe(task.cancel)
            except RuntimeError:
                pass  # the loop is closed, and the task with it

    call.on_change(ended)
    try:
        try:
            result = program.start(call, shown)
            if isinstance(result, Awaitable):
                result = await result
            if isinstance(result, AsyncIterator):
                async for piece in result:
                    await shown.stdout.write(piece)
            elif isinstance(result, Iterator):
                for piece in result:
                    await shown.stdout.write(piece)
            elif result is not None and not _is_status(result):
                await shown.stdout.write(_text_of(result))
            status = _status_of(result)
        except SystemExit as error:
            words: Dict[str, str] = {}
            status = _status_of_exit(error, lambda text: words.update(text=text))
            if words:
                await shown.stderr.write(words["text"])
        except ArgumentError as error:
            await shown.stderr.write(str(error))
            status = _USAGE_STATUS
        reply({"exitCode": status & 0xff})
    except CancelledError:
        reply(None)  # the process has gone
    except asyncio.CancelledError:
        fail("cancelled", "CancelledError")
        if not call.ended:
            raise
    except BaseException as error:  # goes to standard error
        fail(_problem(error), type(error).__name__)
        if not isinstance(error, Exception):
            raise


def _problem(error: BaseException) -> str:
    return str(error) if isinstance(error, SandboxError) else f"{type(error).__name__}: {message_of(error)}"


def _drop_result(_: object) -> None:
    return None
