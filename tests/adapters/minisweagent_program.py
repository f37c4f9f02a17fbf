# SPDX-License-Identifier: Apache-2.0
"""mini-swe-agent's default agent with its scripted model, in a sandbox."""
import json
import os

from minisweagent.agents.default import DefaultAgent
from minisweagent.environments import get_environment
from minisweagent.models.test_models import DeterministicModel, make_output

environment = get_environment({"environment_class": "cloche.adapters.minisweagent.ClocheEnvironment", "timeout": 5,
                               "env": {"GREETING": "hello"}, "url": os.environ.get("SERVER_URL"),
                               "token": os.environ.get("SERVER_TOKEN")})
commands = ["cd /tmp; VALUE=1; echo $GREETING > /workspace/a.txt; echo to stderr >&2; false", "pwd; cat a.txt; echo [$VALUE]",
            "echo before; sleep 1000", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; git --version | cut -c1-3; cat a.txt"]
agent = DefaultAgent(
    DeterministicModel(outputs=[make_output("step", [{"command": one}]) for one in commands], cost_per_call=0.0),
    environment, system_template="You work on {{system}} {{machine}} in {{cwd}}.", instance_template="Do: {{task}}",
    cost_limit=100)
assert agent.run("it") == {"exit_status": "Submitted", "submission": "git\nhello\n"}, agent.messages
assert agent.messages[0]["content"] == "You work on Linux wasm32 in /workspace.", agent.messages[0]
seen = [one["content"] for one in agent.messages if one["role"] == "user"][1:]
assert seen[0] == "<returncode>1</returncode>\n<output>\nto stderr\n</output>", seen[0]
assert seen[1] == "<returncode>0</returncode>\n<output>\n/workspace\nhello\n[]\n</output>", seen[1]
assert "longer than 5 seconds" in seen[2] and "before" in seen[2], seen[2]
assert "secret" not in json.dumps(environment.serialize()), environment.serialize()
assert environment.execute({"command": "printf '\\377'"}, cwd="/tmp")["output"] == "\ufffd"
environment.close()
try:
    get_environment({"environment_class": "cloche.adapters.minisweagent.ClocheEnvironment", "image": "python:3.12"})
except ValueError as error:
    assert "image" in str(error)
else:
    raise AssertionError("an image was taken")
