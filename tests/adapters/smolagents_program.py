# SPDX-License-Identifier: Apache-2.0
"""smolagents' CodeAgent with a scripted model, whose code runs in a sandbox."""
import os

from smolagents import AgentError, ChatMessage, CodeAgent, Model, tool
from smolagents.models import MessageRole

from cloche.adapters.smolagents import ClocheExecutor

SERVER = {"url": os.environ.get("SERVER_URL"), "token": os.environ.get("SERVER_TOKEN")}


class Scripted(Model):
    def __init__(self, codes):
        super().__init__(model_id="scripted")
        self.codes = iter(codes)
        self.seen = []

    def generate(self, messages, **kwargs):
        self.seen.append(messages)
        return ChatMessage(role=MessageRole.ASSISTANT, content=f"Thought: so.\n<code>\n{next(self.codes)}\n</code>")


@tool
def double(number: int) -> int:
    """Twice a number.

    Args:
        number: the number
    """
    return 2 * number


def text_of(messages) -> str:
    return "\n".join(part["text"] for message in messages for part in message.content)


with_agent = ClocheExecutor(timeout_ms=60_000, callbacks={"secret": lambda: 7}, **SERVER)
model = Scripted(["import os\nx = double(number=21)\nprint('x is', x, os.getcwd())",
                  "print('before')\nraise ValueError('no such thing')",
                  "hidden = await secret()",
                  "final_answer({'x': x, 'hidden': hidden, 'given': given, 'pair': (1, 2)})"])
agent = CodeAgent(tools=[double], model=model, executor=with_agent, additional_authorized_imports=["os"])
answer = agent.run("it", additional_args={"given": [1, 2]})
assert answer == {"x": 42, "hidden": 7, "given": [1, 2], "pair": (1, 2)}, answer
assert "x is 42 /workspace" in text_of(model.seen[1]), text_of(model.seen[1])
assert "before" in text_of(model.seen[2]) and "ValueError: no such thing" in text_of(model.seen[2]), text_of(model.seen[2])
agent.cleanup()
agent.cleanup()

plain = ClocheExecutor(**SERVER)
assert plain("1 + 1").output == 2
assert plain("object").output == "<class 'object'>"
assert plain("print('out')").logs == "out\n"
draws = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\n'drawn'"
plain.install_packages(["matplotlib"])
assert plain(draws).output.format == "PNG"
forged = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 1 1\n"
lies = f"import base64\nbase64.b64encode = lambda data, real=base64.b64encode: real({forged!r})\n"
assert plain(lies + draws).output == "drawn"
try:
    plain("1/0")
except AgentError as error:
    assert "ZeroDivisionError" in str(error)
else:
    raise AssertionError("an error was none")
try:
    plain.install_packages(["no-such-package"])
except RuntimeError as error:
    assert "no-such-package" in str(error), error
else:
    raise AssertionError("a package that there is not was installed")
plain.cleanup()
