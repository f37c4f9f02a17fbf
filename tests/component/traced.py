# SPDX-License-Identifier: Apache-2.0
"""Traces executions as the component does, by its own modules over stand-ins for its imports, and prints what the host is told.

    traced.py COMPONENT-LIBRARY SHARED-LIBRARY
"""
import ast
import asyncio
import json
import sys
import types

TEXT = """def f(x):
    return x
f(1)
print(await echo(a=1))
f(2)
print(await echo(a=2))"""
told = []


def stand_in(name, **content):
    module = sys.modules[name] = types.ModuleType(name)
    module.__dict__.update(content)
    return module


async def invoke(name, arguments):
    """A host that answers at once: nothing waits for it."""
    return arguments


def report_trace(line, event, context):
    event = json.loads(event)
    told.append(f"{line} {event['type']} {event.get('function') or event.get('name') or ''}".rstrip())


stand_in("wit_world", invoke=invoke, report_trace=report_trace)
stand_in("componentize_py_types", Err=type("Err", (Exception,), {}))
for name in [name for name in sys.modules if name.startswith("_cloche.sessions")]:
    del sys.modules[name]  # the guest's own
for package in ("_cloche", "_cloche.sessions"):
    places = [f"{library}/{package.replace('.', '/')}" for library in sys.argv[1:]]
    stand_in(package, __path__=places, FOLDER=sys.argv[1])
# What Python 3.12 and 3.13 do not have yet: the linux engine runs the same modules on the Python of an image.
del sys.monitoring.clear_tool_id

from _cloche.sessions import callbacks, tracing, world_tracing  # noqa: E402


async def execute(number):
    code = compile(TEXT, f"<session-{number}>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    tracing.remember(code)
    world_tracing.start()
    try:
        await eval(code, {})
    finally:
        world_tracing.stop()
        tracing.stop()


callbacks.install()
callbacks.set_callbacks([{"name": "echo", "description": "", "parameters_schema": None}])
for number in range(2):
    asyncio.run(execute(number))
    print(json.dumps(told))
    told.clear()
tracing.start(None, 1000)
print(sorted(tracing.stop()))
