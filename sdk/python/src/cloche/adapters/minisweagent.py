# SPDX-License-Identifier: Apache-2.0
"""mini-swe-agent: `environment_class: cloche.adapters.minisweagent.ClocheEnvironment` in its configuration.

Each action is a fresh shell, as in its other environments; files stay. Images are refused: a sandbox is not a
container.
"""
from __future__ import annotations

import platform
from typing import Any, Dict, List, Optional

from minisweagent.exceptions import Submitted
from minisweagent.utils.serialize import recursive_merge
from pydantic import BaseModel, ConfigDict

from ..sandbox import Sandbox

_SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


class ClocheEnvironmentConfig(BaseModel):
    """The fields but for `cwd`, `env` and `timeout` are those of `cloche.Sandbox`."""

    model_config = ConfigDict(extra="forbid")

    cwd: str = "/workspace"
    env: Dict[str, str] = {}
    timeout: int = 30
    """Seconds of an action."""
    packages: List[str] = []
    network: List[str] = []
    url: Optional[str] = None
    token: Optional[str] = None


class ClocheEnvironment:
    """A sandbox, which ends with `close` or with this object."""

    def __init__(self, **options: Any) -> None:
        self.config: ClocheEnvironmentConfig = ClocheEnvironmentConfig(**options)
        self.sandbox: Sandbox = Sandbox(timeout_ms=0, env=self.config.env, packages=self.config.packages,
                               network=self.config.network or None, url=self.config.url, token=self.config.token)

    def execute(self, action: Dict[str, Any], cwd: str = "", *, timeout: Optional[int] = None) -> Dict[str, Any]:
        """Runs the command of an action; output and errors come as one text."""
        seconds = timeout or self.config.timeout
        with self.sandbox.commands.start(f"exec 2>&1\n{action.get('command', '')}", cwd=cwd or self.config.cwd,
                                         timeout_ms=seconds * 1000) as command:
            command.close_stdin()
            result = command.wait()
        output: Dict[str, Any] = {"output": result.stdout, "returncode": result.exit_code, "exception_info": ""}
        if result.status == "timedOut":
            why = f"the command took longer than {seconds} seconds"
            output.update(returncode=-1, exception_info=f"An error occurred while executing the command: {why}",
                          extra={"exception_type": "TimeoutError", "exception": why})
        first, _, rest = result.stdout.lstrip().partition("\n")
        if first.strip() == _SUBMIT and output["returncode"] == 0:
            raise Submitted({"role": "exit", "content": rest,
                             "extra": {"exit_status": "Submitted", "submission": rest}})
        return output

    def get_template_vars(self, **more: Any) -> Dict[str, Any]:
        """What templates of prompts may name: of the sandbox, nothing of this machine."""
        machine = dict(zip(platform.uname()._fields, ("Linux", "cloche", "", "", "wasm32")))
        merged: Dict[str, Any] = recursive_merge(self.config.model_dump(exclude={"token"}), machine, more)
        return merged

    def serialize(self) -> Dict[str, Any]:
        """How it was made, for the trajectory; not with what token."""
        return {"info": {"config": {
            "environment": self.config.model_dump(mode="json", exclude={"token"}),
            "environment_type": f"{type(self).__module__}.{type(self).__name__}"}}}

    def close(self) -> None:
        """Ends the sandbox."""
        self.sandbox.kill()
