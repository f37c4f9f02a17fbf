# SPDX-License-Identifier: Apache-2.0
"""Functions of this process that code in a sandbox calls."""
from __future__ import annotations

import asyncio
import inspect
from contextvars import ContextVar, copy_context
from typing import Any, Awaitable, Callable, Iterable, Mapping, Union, cast

from ._errors import SandboxArgumentError, SandboxError, message_of
from ._hints import hints_of, made, schema_of
from ._workers import Workers

CallbackSet = Union[Mapping[str, Callable[..., Any]], Iterable[Callable[..., Any]]]

# The sandboxes that wait for the callback that runs in this context.
_waiting: "ContextVar[frozenset[str]]" = ContextVar("waiting", default=frozenset())


def refuse_if_waiting(sandbox_id: str) -> None:
    """A sandbox does one thing at a time: what a callback of it would ask of it would wait for ever."""
    if sandbox_id in _waiting.get():
        raise SandboxError("this sandbox is busy: it waits for the callback that this call is made in; let the callback "
                           "return first, or use another sandbox")


def mark_as_waiting(sandbox_id: str) -> None:
    """In this context: the sandbox waits for it."""
    _waiting.set(_waiting.get() | {sandbox_id})


def named_functions(functions: CallbackSet) -> dict[str, Callable[..., Any]]:
    """Functions by the names that they are called by."""
    named: dict[str, Callable[..., Any]] = {}
    if isinstance(functions, Mapping):
        named.update(cast("Mapping[str, Callable[..., Any]]", functions))
    elif isinstance(functions, str) or not isinstance(functions, Iterable):
        raise SandboxArgumentError("functions are given as a mapping from names, or as an iterable of them, and not as "
                                   f"{type(functions).__name__}")
    else:
        given: Iterable[Any] = functions
        named.update((getattr(function, "__name__", ""), function) for function in given)
    for name, function in named.items():
        if not callable(function):
            raise SandboxArgumentError(f"a callback is a function, not {type(function).__name__}")
        if not name or not isinstance(name, str):
            raise SandboxArgumentError(f"{function!r} has no name: give callbacks as a mapping from names")
    return named


class Callbacks:
    """A set of functions, as one execution is given them."""

    def __init__(self, functions: CallbackSet, sandbox_id: str,
                 loop: "asyncio.AbstractEventLoop | None" = None) -> None:
        named = named_functions(functions)
        self._functions = named
        self._sandbox_id = sandbox_id
        self._loop = loop
        self._workers = Workers()  # of its own: one that never returns holds up nobody else's
        self.descriptions = [
            {"name": name, "description": inspect.getdoc(function) or "",
             "parametersSchema": getattr(function, "parameters_schema", None) or schema_of(function)}
            for name, function in named.items()]

    def answer(self, method: str, params: dict[str, Any], reply: Callable[[Any], None],
               fail: Callable[[str, str], None]) -> None:
        """Calls a function, not on the thread that asks. A coroutine function runs in the loop of
        who executes, where that has one."""
        function = self._functions.get(params.get("name", ""))
        if method != "callback.invoke" or function is None:
            fail(f"there is no callback {params.get('name')!r}", "LookupError")
            return
        arguments = params.get("arguments") or {}
        token = self._sandbox_id
        if self._loop is not None:
            answering = _answer_async(function, arguments, reply, fail, token, self._workers)
            try:
                asyncio.run_coroutine_threadsafe(answering, self._loop)
            except RuntimeError:
                answering.close()
                fail("the event loop of the callback is closed", "RuntimeError")
        else:
            self._workers.submit(_answer, function, arguments, reply, fail, token)


def _typed(function: Callable[..., Any], arguments: dict[str, Any]) -> dict[str, Any]:
    if hasattr(function, "parameters_schema"):
        return arguments
    hints = hints_of(function)
    return {name: made(hints.get(name, Any), value) for name, value in arguments.items()}


def _send_result(function: Callable[..., Any], result: Any, reply: Callable[[Any], None]) -> None:
    try:
        reply(result)
    except SandboxArgumentError:
        raise
    except (TypeError, ValueError) as error:
        raise TypeError(f"{getattr(function, '__name__', 'the callback')} returned what is no JSON: {error}") from None


def _answer(function: Callable[..., Any], arguments: dict[str, Any], reply: Callable[[Any], None],
            fail: Callable[[str, str], None], sandbox_id: str) -> None:
    mark = _waiting.set(_waiting.get() | {sandbox_id})
    try:
        result = function(**_typed(function, arguments))
        if inspect.isawaitable(result):
            result = asyncio.run(_awaited(result))
        _send_result(function, result, reply)
    except BaseException as error:  # goes to the code that called
        fail(message_of(error), type(error).__name__)
    finally:
        _waiting.reset(mark)


async def _answer_async(function: Callable[..., Any], arguments: dict[str, Any],
                        reply: Callable[[Any], None],
                        fail: Callable[[str, str], None], sandbox_id: str, workers: Workers) -> None:
    _waiting.set(_waiting.get() | {sandbox_id})  # of this task's own context
    try:
        typed = _typed(function, arguments)
        if inspect.iscoroutinefunction(function):
            result = await function(**typed)
        else:
            context = copy_context()
            loop = asyncio.get_running_loop()
            result = await loop.run_in_executor(workers, lambda: context.run(function, **typed))
            if inspect.isawaitable(result):
                result = await result
        _send_result(function, result, reply)
    except BaseException as error:  # goes to the code that called
        fail(message_of(error), type(error).__name__)
        if not isinstance(error, (Exception, SystemExit)):
            raise


async def _awaited(result: Awaitable[Any]) -> Any:
    return await result
