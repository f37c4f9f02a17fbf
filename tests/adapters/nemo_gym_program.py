# SPDX-License-Identifier: Apache-2.0
"""NeMo Gym's own sandbox, by the provider `cloche`."""
import asyncio
import os
import tempfile
from pathlib import Path

from nemo_gym.sandbox import AsyncSandbox
from nemo_gym.sandbox.providers import SandboxCreateError, SandboxSpec, SandboxStatus
from nemo_gym.sandbox.providers.registry import register_provider

from cloche.adapters.nemo_gym import ClocheProvider

register_provider("cloche", ClocheProvider)
SERVER = {"url": os.environ["SERVER_URL"], "token": os.environ["SERVER_TOKEN"]} if "SERVER_URL" in os.environ else {}


async def main():
    sandbox = AsyncSandbox({"cloche": SERVER}, SandboxSpec(
        workdir="/workspace/task", env={"GREETING": "hello"}, files={"/workspace/task/in/f.txt": "text"},
        resources={"memory_mib": 512, "cpu": 2}))
    async with sandbox:
        await sandbox.start()
        assert await sandbox.status() == SandboxStatus.RUNNING
        done = await sandbox.exec("echo $GREETING; pwd; cat in/f.txt; echo err >&2; exit 3")
        assert (done.stdout, done.stderr, done.return_code, done.error_type) == (
            "hello\n/workspace/task\ntext", "err\n", 3, None), done
        assert (await sandbox.exec("id -u; echo $A", user="root", env={"A": "b"}, cwd="/tmp")).stdout == "0\nb\n"
        late = await sandbox.exec("sleep 100", timeout_s=0.5)
        assert late.error_type == "timeout" and late.return_code != 0, late
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "up").write_bytes(b"\x00\xff")
            await sandbox.upload(Path(folder) / "up", "/workspace/deep/er/up")
            await sandbox.download("/workspace/deep/er/up", Path(folder) / "a/down")
            assert (Path(folder) / "a/down").read_bytes() == b"\x00\xff"
        try:
            await sandbox.exec("true", user="eve")
            raise AssertionError("no exception")
        except ValueError as problem:
            assert "eve" in str(problem)
    assert await sandbox.status() == SandboxStatus.STOPPED
    for wish in ({"image": "python:3.12"}, {"resources": {"gpu": 1}}, {"entrypoint": ["/bin/sh"]}):
        try:
            await AsyncSandbox({"cloche": SERVER}, SandboxSpec(**wish)).start()
            raise AssertionError(f"it was taken: {wish}")
        except SandboxCreateError:
            pass


asyncio.run(main())
