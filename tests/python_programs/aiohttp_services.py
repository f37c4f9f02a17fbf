# packages: aiohttp
"""A server and clients of aiohttp: routes, forms, streams, WebSockets, cookies, middlewares, errors, and times that run out."""
import asyncio
import errno
import logging

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL


@web.middleware
async def counted(request, handler):
    request.app["requests"].append(request.path)
    response = await handler(request)
    if not response.prepared:
        response.headers["X-Count"] = str(len(request.app["requests"]))
    return response


async def described(request):
    return web.json_response({"path": request.path, "match": dict(request.match_info), "query": request.query.getall("a", []),
                              "own": request.headers.get("X-Own"), "cookie": request.cookies.get("c")})


async def put(request):
    if request.content_type == "multipart/form-data":
        fields = await request.post()
        return web.json_response([[name, value if isinstance(value, str) else [value.filename, value.file.read().decode()]]
                                  for name, value in fields.items()])
    body = await request.read()
    return web.json_response({"type": request.content_type, "length": len(body), "chunked": request.headers.get("Transfer-Encoding")})


async def talk(request):
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    async for message in socket:
        if message.type is aiohttp.WSMsgType.TEXT:
            await socket.send_json({"text": message.data.upper()})
        elif message.type is aiohttp.WSMsgType.BINARY:
            await socket.send_bytes(message.data[::-1])
    return socket


async def stream(request):
    response = web.StreamResponse(headers={"Content-Type": "text/plain"})
    response.enable_compression()
    await response.prepare(request)
    for number in range(1000):
        await response.write(b"line %d\n" % number)
    return response


async def fails(request):
    match request.match_info["how"]:
        case "missing":
            raise web.HTTPNotFound(text="not here")
        case "elsewhere":
            raise web.HTTPFound("/described/moved")
        case "broken":
            raise RuntimeError("told to nobody")
        case "slow":
            await asyncio.sleep(60)
        case "cookie":
            response = web.Response(text="set")
            response.set_cookie("c", "kept")
            return response


def application():
    made = web.Application(middlewares=[counted], client_max_size=10**7)
    made["requests"] = []
    made.add_routes([web.get("/described/{name}", described), web.post("/put", put), web.get("/talk", talk), web.get("/stream", stream),
                     web.get("/fails/{how}", fails)])
    return made


async def uploads():
    for part in (b"a" * 70000, b"b" * 70000):
        yield part


async def ask(session):
    async with session.get("/described/näme", params=[("a", "ü b"), ("a", "2")]) as response:
        print(response.status, await response.json(), response.headers["X-Count"], response.content_type, response.charset)
    for body in (b"z" * 300000, uploads()):
        async with session.post("/put", data=body) as response:
            print(await response.json())
    async with session.post("/put", json={"a": [1, None]}) as response:
        print(await response.json())
    form = aiohttp.FormData()
    form.add_field("file", b"content", filename="a.txt", content_type="text/plain")
    form.add_field("word", "ö")
    async with session.post("/put", data=form) as response:
        print(await response.json())
    async with session.get("/stream") as response:
        lines = [line async for line in response.content]
        print(response.headers["Content-Encoding"], len(lines), lines[-1])
    async with session.get("/stream", headers={"Accept-Encoding": "identity"}) as response:
        print(response.headers.get("Content-Encoding"), len(await response.text()))
    async with session.ws_connect("/talk", heartbeat=30) as socket:
        await socket.send_str("hé")
        print(await socket.receive_json())
        await socket.send_bytes(bytes(range(256)) * 1000)
        print((await socket.receive_bytes())[:3].hex())
        await socket.close()
        print(socket.close_code)
    for how in ("missing", "elsewhere", "broken", "cookie"):
        async with session.get(f"/fails/{how}") as response:
            print(how, response.status, response.url.path, (await response.text()).splitlines()[0], len(response.history))
    async with session.get("/described/again") as response:
        print((await response.json())["cookie"])
    answers = await asyncio.gather(*(session.get(f"/described/{number}") for number in range(200)))
    print(len({(await answer.json())["match"]["name"] for answer in answers}), {answer.status for answer in answers})
    try:
        await session.get("/fails/slow", timeout=aiohttp.ClientTimeout(total=0.1))
    except TimeoutError as error:
        print(type(error).__name__)
    try:
        async with session.get("/fails/missing", raise_for_status=True):
            pass
    except aiohttp.ClientResponseError as error:
        print(error.status, error.message)


async def main():
    runner = web.AppRunner(application(), access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    async with aiohttp.ClientSession(f"http://localhost:{port}", headers={"X-Own": "1"}) as session:
        await ask(session)
    try:
        async with aiohttp.ClientSession() as session:
            await session.get("http://127.0.0.1:1/")
    except aiohttp.ClientConnectorError as error:
        print(type(error).__name__, error.os_error.errno == errno.ECONNREFUSED)
    await runner.cleanup()


print(URL("http://e.org/a b?x=1&x=2#f") / "ü", CIMultiDict([("A", 1), ("a", 2)]).getall("A"))
logging.disable(logging.CRITICAL)  # what the broken one raises
asyncio.run(main())
