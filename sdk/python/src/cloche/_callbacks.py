"""Functions of this process that code in a sandbox calls."""
from __future__ import annotations

import asyncio
import inspect
from typing import Any, Awaitable, Callable, Iterable, Mapping, Union

from ._server import workers

CallbackSet = Union[Mapping[str, Callable[..., Any]], Iterable[Callable[..., Any]]]

_SCHEMA_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array",
                 dict: "object", "str": "string", "int": "integer", "float": "number",
                 "bool": "boolean", "list": "array", "dict": "object"}


def schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    """A JSON Schema of a function's keyword arguments, from its signature."""
    properties: dict[str, Any] = {}
    required = []
    anything = False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            anything = True
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            continue
        kind = _SCHEMA_TYPES.get(parameter.annotation)
        properties[parameter.name] = {"type": kind} if kind else {}
        if parameter.default is parameter.empty:
            required.append(parameter.name)
    schema: dict[str, Any] = {"type": "object", "properties": properties,
                              "additionalProperties": anything}
    if required:
        schema["required"] = required
    return schema


class Callbacks:
    """A set of functions, as one execution is given them."""

    def __init__(self, functions: CallbackSet,
                 loop: "asyncio.AbstractEventLoop | None" = None) -> None:
        named = dict(functions) if isinstance(functions, Mapping) else {
            function.__name__: function for function in functions}
        self._functions = named
        self._loop = loop
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
        if self._loop is not None:
            asyncio.run_coroutine_threadsafe(_answer_async(function, arguments, reply, fail), self._loop)
        else:
            workers().submit(_answer, function, arguments, reply, fail)


def _answer(function: Callable[..., Any], arguments: dict[str, Any], reply: Callable[[Any], None],
            fail: Callable[[str, str], None]) -> None:
    try:
        result = function(**arguments)
        if inspect.isawaitable(result):
            result = asyncio.run(_awaited(result))
        reply(result)
    except Exception as error:  # goes to the code that called
        fail(str(error), type(error).__name__)


async def _answer_async(function: Callable[..., Any], arguments: dict[str, Any],
                        reply: Callable[[Any], None],
                        fail: Callable[[str, str], None]) -> None:
    try:
        if inspect.iscoroutinefunction(function):
            result = await function(**arguments)
        else:
            loop = asyncio.get_running_loop()
            result = await loop.run_in_executor(workers(), lambda: function(**arguments))
            if inspect.isawaitable(result):
                result = await result
        reply(result)
    except Exception as error:  # goes to the code that called
        fail(str(error), type(error).__name__)


async def _awaited(result: Awaitable[Any]) -> Any:
    return await result
