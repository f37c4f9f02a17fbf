# SPDX-License-Identifier: Apache-2.0
"""What tinker-cookbook asks of a sandbox."""
import asyncio
import os

from tinker_cookbook.sandbox.sandbox_interface import SandboxInterface, SandboxResource, SandboxTerminatedError

from cloche.adapters.tinker_cookbook import ClocheSandbox

SERVER = {"url": os.environ["SERVER_URL"], "token": os.environ["SERVER_TOKEN"]} if "SERVER_URL" in os.environ else {}


async def main() -> None:
    sandbox = await ClocheSandbox.create(**SERVER)
    assert isinstance(sandbox, SandboxInterface) and sandbox.sandbox_id
    resource = SandboxResource(sandbox)
    await resource.send_heartbeat()
    done = await sandbox.run_command("pwd; echo err >&2; exit 3", workdir="/tmp")
    assert (done.stdout, done.stderr, done.exit_code) == ("/tmp\n", "err\n", 3), done
    capped = await sandbox.run_command("head -c 1000000 /dev/zero | tr '\\0' x", max_output_bytes=10)
    assert (capped.stdout, capped.exit_code) == ("x" * 10, 0), capped
    assert len((await sandbox.run_command("head -c 1000000 /dev/zero | tr '\\0' x")).stdout) == 128 << 10
    assert (await sandbox.run_command("printf 'aé'", max_output_bytes=2)).stdout == "a"
    assert (await sandbox.run_command("sleep 1000", timeout=1)).exit_code == 124
    assert (await sandbox.write_file("/tmp/new/x.sh", "#!/bin/sh\necho ran", executable=True)).exit_code == 0
    assert (await sandbox.run_command("/tmp/new/x.sh")).stdout == "ran\n"
    assert (await sandbox.read_file("/tmp/new/x.sh", max_bytes=9)).stdout == "#!/bin/sh"
    assert (await sandbox.write_file("/tmp/bytes", b"\xff\0")).exit_code == 0
    assert (await sandbox.read_file("/tmp/bytes")).stdout == "\ufffd\0"
    for failed in (await sandbox.read_file("/nowhere"), await sandbox.write_file("/usr/x", "x")):
        assert failed.exit_code == 1 and failed.stderr, failed
    at_once = await asyncio.gather(*(sandbox.run_command(f"echo {i}") for i in range(20)))
    assert [one.stdout for one in at_once] == [f"{i}\n" for i in range(20)]
    await resource.cleanup()
    await resource.cleanup()
    for gone in (sandbox.send_heartbeat(), sandbox.run_command("true"), sandbox.read_file("/tmp"),
                 sandbox.write_file("/tmp/x")):
        try:
            await gone
        except SandboxTerminatedError:
            continue
        raise AssertionError("a sandbox that is gone gave a result")


asyncio.run(main())
