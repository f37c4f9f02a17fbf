# packages: fastapi openai anthropic httpx2 uvicorn
"""An application of FastAPI, and the clients of models over it: no network but this process."""
import asyncio
import json
import os
import threading
from typing import Annotated

os.environ["PYDANTIC_ERRORS_INCLUDE_URL"] = "0"  # errors do not end with an address

import anthropic
import httpx2
import openai
import uvicorn
from fastapi import Depends, FastAPI, Header, HTTPException, Query
from fastapi.responses import StreamingResponse
from fastapi.testclient import TestClient
from pydantic import BaseModel, Field

app = FastAPI(title="shop", version="1")


class Item(BaseModel):
    name: str = Field(min_length=2)
    price: float = Field(gt=0)
    tags: list[str] = []


class Stored(Item):
    id: int


store = {}


def caller(authorization: Annotated[str | None, Header()] = None):
    if authorization != "Bearer key":
        raise HTTPException(401, "who are you?")
    return "bo"


@app.post("/items", status_code=201)
def add(item: Item, who: Annotated[str, Depends(caller)]) -> Stored:
    store[len(store) + 1] = item
    return Stored(id=len(store), **item.model_dump())


@app.get("/items")
async def items(limit: Annotated[int, Query(ge=1, le=10)] = 5, tag: str | None = None) -> list[Item]:
    return [item for item in store.values() if tag is None or tag in item.tags][:limit]


client = TestClient(app)
print(client.post("/items", json={"name": "cup", "price": "3"}).json())
signed = {"authorization": "Bearer key"}
print(client.post("/items", json={"name": "cup", "price": "3", "tags": ["a"]}, headers=signed).json())
answer = client.post("/items", json={"name": "c", "price": -1}, headers=signed)
print(answer.status_code, json.dumps(answer.json()))
print(client.get("/items?limit=0").json()["detail"][0]["msg"], client.get("/items", params={"tag": "a"}).json())
document = client.get("/openapi.json").json()
print(sorted(document["paths"]), sorted(document["components"]["schemas"]), document["components"]["schemas"]["Item"])


@app.post("/v1/chat/completions")
async def chat(request: dict):
    words = request["messages"][-1]["content"].split()
    about = {"id": "c1", "created": 1, "model": request["model"]}
    if request.get("stream"):
        def events():
            for word in words:
                piece = {**about, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": word + " "}, "finish_reason": None}]}
                yield f"data: {json.dumps(piece)}\n\n"
            yield "data: [DONE]\n\n"
        return StreamingResponse(events(), media_type="text/event-stream")
    call = {"id": "t1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    message = {"role": "assistant", "content": " ".join(words).upper(), "tool_calls": [call] if request.get("tools") else None}
    return {**about, "object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}}


@app.post("/v1/messages")
async def messages(request: dict, authorization: Annotated[str, Header()]):
    if authorization != "Bearer key":
        return __import__("fastapi").responses.JSONResponse({"type": "error", "error": {"type": "authentication_error", "message": "no"}}, 401)
    return {"id": "m1", "type": "message", "role": "assistant", "model": request["model"], "stop_reason": "end_turn", "stop_sequence": None,
            "content": [{"type": "text", "text": request["messages"][0]["content"][::-1]}, {"type": "tool_use", "id": "u1", "name": "add", "input": {"a": 1}}],
            "usage": {"input_tokens": 1, "output_tokens": 2}}


server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
thread = threading.Thread(target=server.run, daemon=True)
thread.start()
while not server.started:
    threading.Event().wait(0.01)
address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"

model = openai.OpenAI(api_key="key", base_url=f"{address}/v1", max_retries=0)
done = model.chat.completions.create(model="m", messages=[{"role": "user", "content": "say hello"}])
print(done.choices[0].message.content, done.usage.total_tokens, type(done).__name__)
print(*(piece.choices[0].delta.content for piece in model.chat.completions.create(
    model="m", messages=[{"role": "user", "content": "one two"}], stream=True)))


class Sum(BaseModel):
    """Adds."""
    a: int


tool = openai.pydantic_function_tool(Sum, name="add")
print(tool["function"]["parameters"])
called = model.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}], tools=[tool]).choices[0].message.tool_calls[0]
print(called.function.name, Sum.model_validate_json(called.function.arguments))


async def together():
    async with openai.AsyncOpenAI(api_key="key", base_url=f"{address}/v1") as other:
        found = await asyncio.gather(*(other.chat.completions.create(model="m", messages=[{"role": "user", "content": f"n{n}"}]) for n in range(3)))
    return [one.choices[0].message.content for one in found]


print(asyncio.run(together()))
other = anthropic.Anthropic(api_key="key", base_url=address, max_retries=0)
said = other.messages.create(model="m", max_tokens=10, messages=[{"role": "user", "content": "abc"}])
print(said.content[0].text, said.content[1].input, said.usage.output_tokens)
try:
    anthropic.Anthropic(api_key="other", base_url=address, max_retries=0).messages.create(model="m", max_tokens=1, messages=[{"role": "user", "content": "a"}])
except anthropic.AuthenticationError as error:
    print(error.status_code, error.body)
print(httpx2.get(f"{address}/items", params={"limit": 99}).json()["detail"][0]["msg"])
server.should_exit = True
thread.join()
