# SPDX-License-Identifier: Apache-2.0
"""An agent with one tool, a shell in a sandbox, and any of three model APIs: agent_loop.py API TASK

API is anthropic, openai or google. The key is taken from ANTHROPIC_API_KEY, OPENAI_API_KEY or GOOGLE_API_KEY,
the model's name from MODEL, and MODEL_URL names another server than the usual one. Nothing but Python's own
library is needed; the loop is the same for all three, and each API is a class of what its messages look like.
"""
import json
import os
import sys
import urllib.request
from dataclasses import dataclass
from typing import Any, Dict, List, Tuple, Type, Union

from cloche import CommandResult, Sandbox

MOST_TURNS = 20
MOST_LETTERS = 10_000
ABOUT = "Runs a command in bash, in a private Linux computer. Files and the shell's state stay from call to call."
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}


@dataclass
class ToolUse:
    id: str
    name: str
    arguments: Dict[str, Any]


class Anthropic:
    usual = ("https://api.anthropic.com", "claude-sonnet-4-5", "ANTHROPIC_API_KEY")

    def __init__(self, task: str, model: str, key: str) -> None:
        self.path = "/v1/messages"
        self.headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
        self.messages: List[Any] = [{"role": "user", "content": task}]
        self._model = model

    def request(self) -> Dict[str, Any]:
        return {"model": self._model, "max_tokens": 4096, "messages": self.messages,
                "tools": [{"name": "bash", "description": ABOUT, "input_schema": SCHEMA}]}

    def take(self, answer: Dict[str, Any]) -> Tuple[str, List[ToolUse]]:
        parts = answer["content"]
        self.messages.append({"role": "assistant", "content": parts})
        return ("".join(part["text"] for part in parts if part["type"] == "text"),
                [ToolUse(part["id"], part["name"], part["input"]) for part in parts if part["type"] == "tool_use"])

    def give(self, results: List[Tuple[ToolUse, str]]) -> None:
        self.messages.append({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": use.id, "content": text} for use, text in results]})


class OpenAI:
    usual = ("https://api.openai.com", "gpt-5", "OPENAI_API_KEY")

    def __init__(self, task: str, model: str, key: str) -> None:
        self.path = "/v1/chat/completions"
        self.headers = {"Authorization": f"Bearer {key}"}
        self.messages: List[Any] = [{"role": "user", "content": task}]
        self._model = model

    def request(self) -> Dict[str, Any]:
        tool = {"name": "bash", "description": ABOUT, "parameters": SCHEMA}
        return {"model": self._model, "messages": self.messages, "tools": [{"type": "function", "function": tool}]}

    def take(self, answer: Dict[str, Any]) -> Tuple[str, List[ToolUse]]:
        message = answer["choices"][0]["message"]
        self.messages.append(message)
        return (message.get("content") or "",
                [ToolUse(one["id"], one["function"]["name"], json.loads(one["function"]["arguments"]))
                 for one in message.get("tool_calls") or []])

    def give(self, results: List[Tuple[ToolUse, str]]) -> None:
        self.messages += [{"role": "tool", "tool_call_id": use.id, "content": text} for use, text in results]


class Google:
    usual = ("https://generativelanguage.googleapis.com", "gemini-2.5-pro", "GOOGLE_API_KEY")

    def __init__(self, task: str, model: str, key: str) -> None:
        self.path = f"/v1beta/models/{model}:generateContent"
        self.headers = {"x-goog-api-key": key}
        self.messages: List[Any] = [{"role": "user", "parts": [{"text": task}]}]

    def request(self) -> Dict[str, Any]:
        tool = {"name": "bash", "description": ABOUT, "parameters": SCHEMA}
        return {"contents": self.messages, "tools": [{"functionDeclarations": [tool]}]}

    def take(self, answer: Dict[str, Any]) -> Tuple[str, List[ToolUse]]:
        content = answer["candidates"][0]["content"]
        self.messages.append(content)
        return ("".join(part.get("text", "") for part in content["parts"]),
                [ToolUse("", part["functionCall"]["name"], part["functionCall"].get("args", {}))
                 for part in content["parts"] if "functionCall" in part])

    def give(self, results: List[Tuple[ToolUse, str]]) -> None:
        self.messages.append({"role": "user", "parts": [
            {"functionResponse": {"name": use.name, "response": {"output": text}}} for use, text in results]})


APIS: Dict[str, Type[Union[Anthropic, OpenAI, Google]]] = {"anthropic": Anthropic, "openai": OpenAI, "google": Google}


def words_of(result: CommandResult) -> str:
    """What the model reads of a command: output, then what went wrong."""
    text = result.stdout + (f"\nstderr:\n{result.stderr}" if result.stderr else "")
    if len(text) > MOST_LETTERS:
        text = f"{text[:MOST_LETTERS // 2]}\n... {len(text) - MOST_LETTERS} letters ...\n{text[-MOST_LETTERS // 2:]}"
    return text + (f"\n[{result.reason or f'exit code {result.exit_code}'}]" if result.exit_code else "")


def run(sandbox: Sandbox, use: ToolUse) -> str:
    command = use.arguments.get("command")
    if use.name != "bash" or not isinstance(command, str):
        return "there is one tool, bash, which takes 'command'"
    print(f"$ {command}")
    return words_of(sandbox.commands.run(command, timeout_ms=120_000)) or "(no output)"


def main() -> None:
    if len(sys.argv) != 3 or sys.argv[1] not in APIS:
        sys.exit((__doc__ or "").partition("\n")[0])
    api, task = APIS[sys.argv[1]], sys.argv[2]
    url, model, key = api.usual
    dialogue = api(task, os.environ.get("MODEL", model), os.environ[key])
    url = os.environ.get("MODEL_URL", url)
    with Sandbox() as sandbox:
        for _ in range(MOST_TURNS):
            request = urllib.request.Request(url + dialogue.path, json.dumps(dialogue.request()).encode(),
                                             {"Content-Type": "application/json", **dialogue.headers})
            with urllib.request.urlopen(request, timeout=600) as answer:
                text, uses = dialogue.take(json.load(answer))
            if text:
                print(text)
            if not uses:
                return
            dialogue.give([(use, run(sandbox, use)) for use in uses])
    sys.exit(f"no end after {MOST_TURNS} turns")


if __name__ == "__main__":
    main()
