# SPDX-License-Identifier: Apache-2.0
"""smolagents: an executor of a `CodeAgent` whose code runs in a sandbox.

    agent = CodeAgent(tools=[...], model=model, executor=ClocheExecutor(additional_imports=["numpy"]))

Names stay from step to step. Tools run in the sandbox, as with its other remote executors; what only this
process can do is given as `callbacks`, which code awaits: `await search(query="x")`.
"""
from __future__ import annotations

import io
from typing import Any, List, Optional, Sequence, Union

from smolagents.local_python_executor import CodeOutput
from smolagents.monitoring import AgentLogger, LogLevel
from smolagents.remote_executors import RemotePythonExecutor
from smolagents.utils import AgentError

from .._callbacks import CallbackSet
from .._errors import ExecutionError
from ..python_session import PythonSession


class ClocheExecutor(RemotePythonExecutor):
    """Code of an agent in a sandbox, which ends with `cleanup`.

    Args:
        additional_imports: Python packages that code may import.
        logger: of the agent; absent: one that says nothing.
        allow_pickle: let the sandbox send pickled objects, which run code of theirs in this process.
        timeout_ms, callbacks, network, url, token: see `cloche.PythonSession`.
    """

    def __init__(self, additional_imports: Sequence[str] = (), logger: Optional[AgentLogger] = None, *,
                 allow_pickle: bool = False, timeout_ms: float = 30_000, callbacks: Optional[CallbackSet] = None,
                 network: Any = None, url: Optional[str] = None, token: Optional[str] = None) -> None:
        super().__init__(list(additional_imports), logger or AgentLogger(level=LogLevel.OFF), allow_pickle)
        self.session: PythonSession = PythonSession(timeout_ms=timeout_ms, callbacks=callbacks, network=network, url=url, token=token)
        self.installed_packages: List[str] = self.install_packages(self.additional_imports)

    def run_code_raise_errors(self, code: str) -> CodeOutput:
        """Runs code; raises `AgentError` with what it printed and its traceback."""
        try:
            done = self.session.execute(code, figures=True)
        except ExecutionError as error:
            if error.type == self.FINAL_ANSWER_EXCEPTION:
                answer = self._deserialize_final_answer(error.message, self.allow_pickle)
                return CodeOutput(output=answer, logs=error.result.stdout, is_final_answer=True)
            why = error.traceback or str(error)
            raise AgentError(f"{error.result.stdout}\nExecuting code yielded an error:\n{why}", self.logger) from None
        output: Any = done.value if done.value is not None else done.result
        if done.figures:
            output = _picture(done.figures[-1].data, output)
        return CodeOutput(output=output, logs=done.stdout + done.stderr, is_final_answer=False)

    def install_packages(self, additional_imports: Union[List[str], Sequence[str]]) -> List[str]:
        """Makes packages importable; those that there are not are an error that lists those that there are."""
        wanted = [name for name in additional_imports if name != "smolagents"]
        if wanted:
            self.session.sandbox.packages.install(*wanted)
        return list(additional_imports)

    def cleanup(self) -> None:
        """Ends the sandbox. A second time does nothing."""
        self.session.close()


def _picture(data: bytes, otherwise: Any) -> Any:
    """Of a PNG; what else the sandbox says is not read, for which there would be programs of this machine."""
    import PIL.Image
    try:
        return PIL.Image.open(io.BytesIO(data), formats=["PNG"])
    except (PIL.UnidentifiedImageError, PIL.Image.DecompressionBombError):
        return otherwise
