"""What a session says to its host, as calls of the world's imports. The frames are those of our own runtime's port.py."""
import asyncio
import json

import wit_world
from componentize_py_types import Err

_make_error = None  # callbacks.py's, for the error of a call
record = None  # the latest answer of snapshot.py
pieces = []  # of the state that was asked for


def send(frame):
    global record
    kind, body = frame[:1], frame[1:]
    if kind == b"T":
        for line in body.decode().split("\n"):
            number, event, context = line.split("\t")
            wit_world.report_trace(int(number), event, context)
    elif kind == b"R":
        record = json.loads(body)
    elif kind == b"B":
        pieces.append(body)


async def call(name, arguments):
    await asyncio.sleep(0)  # a callback is waited for, also where the host answers at once: others run, and the trace ends
    try:
        return await wit_world.invoke(name, arguments)
    except Err as error:
        raise _make_error({"kind": "host", "message": error.value, "callback": name}) from None


def call_and_wait(name, arguments):
    raise RuntimeError(f"{name}: the component's callbacks are coroutines: use `await`")
