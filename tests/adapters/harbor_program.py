# SPDX-License-Identifier: Apache-2.0
"""Harbor's own oracle agent on tasks of ours, in sandboxes of Cloche."""
import asyncio
import json
import logging
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from harbor.environments.base import SandboxBuildFailedError
from harbor.models.task.config import EnvironmentConfig, NetworkMode, NetworkPolicy
from harbor.models.trial.paths import TrialPaths

from cloche.adapters.harbor import ClocheEnvironment

SERVER = {"url": os.environ["SERVER_URL"], "token": os.environ["SERVER_TOKEN"]} if "SERVER_URL" in os.environ else {}

# Where Harbor keeps its own things there is no code of the guests.
CACHE = str(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "cloche"))

DOCKERFILE = r"""# A comment.
FROM python:3.13-slim AS base
ARG GREETING="hello there"
ENV NAME=world
ENV TEXT="$GREETING, ${NAME}" PATH="/opt/own:$PATH"
WORKDIR /app
COPY data/ ./data/
COPY one.txt two.sh /app/bin/
COPY --chmod=600 one.txt secret
RUN mkdir -p /srv/there/is && chmod 700 /srv/there && touch /srv/there/before && ln -s is /srv/there/link
COPY one.txt /srv/there
COPY --chown=sandbox --chmod=u=rwX,go=rX tree /srv/there/
ADD packed.tar.gz /srv/unpacked/
COPY <<text.txt <<'raw.txt' /srv/there/
$NAME
text.txt
$NAME
raw.txt
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
RUN <<EOF
false | true || echo piped >/srv/there/shell
EOF
RUN <<EOF
#!/usr/bin/env python3
open("/srv/there/program", "w").write("of python\n")
EOF
SHELL ["/bin/sh", "-c"]
RUN echo "$TEXT" >made.txt && \
    id -u >>made.txt
RUN ["sh", "-c", "pwd >>made.txt"]
RUN [ -d /nowhere ] || chmod 777 .
USER sandbox
RUN touch /tmp/by-user
CMD ["python3"]
"""


def write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def make_task(folder: Path, solution: str) -> Path:
    write(folder / "task.toml", "[task]\nname = 'test/sum'\n[environment]\nnetwork_mode = 'no-network'\nmemory_mb = 512\n"
          "[verifier.env]\nWANTED = '42'\n[solution.env]\nFACTOR = '7'\n")
    write(folder / "instruction.md", "Write six times seven to /app/answer.")
    write(folder / "environment/Dockerfile", DOCKERFILE)
    write(folder / "environment/data/deep/number", "6")
    write(folder / "environment/one.txt", "one")
    write(folder / "environment/two.sh", "#!/bin/sh\necho two\n", 0o755)
    for name in ("link/file", "deep/kept", "left-out"):
        write(folder / "environment/tree" / name, name)
    write(folder / "environment/.dockerignore", "**/left-out\n")
    with tarfile.open(folder / "environment/packed.tar.gz", "w:gz") as archive:
        archive.add(folder / "environment/data", "data")
    write(folder / "solution/solve.sh", f"#!/bin/bash\n{solution}\n", 0o755)
    write(folder / "tests/test.sh", "#!/bin/bash\npython3 /tests/check.py\n", 0o755)
    write(folder / "tests/check.py", "import os\nright = open('/app/answer').read().strip() == os.environ['WANTED']\n"
          "open('/logs/verifier/reward.txt', 'w').write('1' if right else '0')\n")
    return folder


def rewards_of(task: Path, jobs: Path) -> list:
    """Of a job by Harbor's command line."""
    command = [str(Path(sys.executable).with_name("harbor")), "run", "--path", str(task), "--agent", "oracle",
               "--env", "cloche.adapters.harbor:ClocheEnvironment", "--jobs-dir", str(jobs), "--n-attempts", "3",
               "--n-concurrent", "3", "--yes", "--quiet"]
    for name, value in SERVER.items():
        command += ["--environment-kwarg", f"{name}={value}"]
    done = subprocess.run(command, capture_output=True, text=True,
                          env={"CLOCHE_CACHE": CACHE, **os.environ, "HOME": str(jobs), "HARBOR_TELEMETRY": "0", "DO_NOT_TRACK": "1"})
    results = [json.loads(path.read_text()) for path in jobs.glob("*/*/result.json")]
    assert len(results) == 3, (done.stdout + done.stderr)[-3000:]
    for result in results:
        assert result["exception_info"] is None, result["exception_info"]
    return [result["verifier_result"]["rewards"]["reward"] for result in results]


def environment(folder: Path, name: str = "test", network: NetworkMode = NetworkMode.NO_NETWORK, *, config=None,
                **options) -> ClocheEnvironment:
    trial = TrialPaths(folder / "trial")
    trial.mkdir()
    return ClocheEnvironment(folder / name, name, f"{name}__1", trial, EnvironmentConfig(**(config or {})),
                             logging.getLogger("test"), network_policy=NetworkPolicy(network_mode=network),
                             **SERVER, **options)


async def check_commands(folder: Path) -> None:
    box = environment(folder, config={"env": {"OF_TASK": "yes"}})
    await box.start(force_build=False)
    done = await box.exec("cat made.txt; cat data/deep/number; bin/two.sh; stat -c %a secret bin/one.txt; "
                          "stat -c %U /tmp/by-user; echo $OF_TASK $EXTRA; whoami; pwd", env={"EXTRA": "extra"})
    assert done.stdout == ("hello there, world\n0\n/app\n6two\n600\n644\nsandbox\nyes extra\nsandbox\n/app\n"), done
    done = await box.exec("cd /srv/there; stat -c '%a %U %n' . before one.txt deep deep/kept is/file; ls; cat *.txt shell program; "
                          "readlink link; cat ../unpacked/data/deep/number", user="root")
    assert done.stdout == ("700 root .\n644 root before\n644 root one.txt\n755 sandbox deep\n644 sandbox deep/kept\n"
                           "644 sandbox is/file\nbefore\ndeep\nis\nlink\none.txt\nprogram\nraw.txt\nshell\ntext.txt\n"
                           "one$NAME\nworld\npiped\nof python\nis\n6"), done
    done = await box.exec("whoami; pwd; echo err >&2; exit 3", cwd="/tmp", user="root")
    assert (done.stdout, done.stderr, done.return_code) == ("root\n/tmp\n", "err\n", 3), done
    heard = []

    async def hear(text, stream):
        heard.append((stream, text))
    with box.scoped_output_callback(hear):
        await box.exec("echo out; sleep 0.1; echo err >&2")
    assert [stream for stream, _ in heard] == ["stdout", "stderr"], heard
    try:
        await box.exec("sleep 100", timeout_sec=1)
        raise AssertionError("no exception")
    except TimeoutError as problem:
        assert "1 seconds" in str(problem)
    try:
        await box.exec("true", user="eve")
        raise AssertionError("no exception")
    except ValueError as problem:
        assert "eve" in str(problem)
    await check_files(box, folder)
    await box.stop(delete=True)
    await box.stop(delete=True)


async def check_files(box: ClocheEnvironment, folder: Path) -> None:
    up, down = folder / "up", folder / "down"
    write(up / "run me.sh", "#!/bin/sh\necho ran\n", 0o755)
    (up / "empty").mkdir()
    (up / "link").symlink_to("run me.sh")
    (up / "bytes").write_bytes(bytes(range(256)) * 1000)
    await box.upload_dir(up, "/srv/new/up")
    assert (await box.exec("cd /srv/new/up && './run me.sh' && readlink link && ls -d empty")).stdout == (
        "ran\nrun me.sh\nempty\n")
    await box.exec("ln -s /etc/passwd /srv/new/up/out; mkfifo /srv/new/up/pipe", user="root")
    await box.download_dir("/srv/new/up", down)
    assert (down / "bytes").read_bytes() == (up / "bytes").read_bytes()
    assert os.access(down / "run me.sh", os.X_OK) and (down / "link").is_symlink() and not (down / "out").exists()
    # An agent may pack what it likes.
    await box.exec("mkdir -p /srv/hole; mv $(command -v tar) /usr/bin/kept; printf '#!/bin/sh\\nhead -c 2048 /dev/urandom >$2\\n'"
                   " >/usr/bin/tar; chmod 755 /usr/bin/tar", user="root")
    try:
        await box.download_dir("/srv/hole", folder / "hole")
        raise AssertionError("no exception")
    except RuntimeError as problem:
        assert "what is no archive" in str(problem), problem
    assert (await box.exec("mv /usr/bin/kept /usr/bin/tar", user="root")).return_code == 0
    await box.upload_file(up / "bytes", "/srv/deep/er/bytes")
    await box.download_file("/srv/deep/er/bytes", folder / "bytes")
    assert (folder / "bytes").read_bytes() == (up / "bytes").read_bytes()
    assert await box.is_dir("/srv/deep") and await box.is_file("/srv/deep/er/bytes")


def refusal(folder: Path, dockerfile: str, **options) -> str:
    write(folder / "refused/Dockerfile", dockerfile)
    try:
        environment(folder, "refused", **options)
    except ValueError as problem:
        return str(problem)
    raise AssertionError(f"it was taken: {dockerfile}")


def check_refusals(folder: Path) -> None:
    for dockerfile, said in [
            ("FROM nvidia/cuda:12", "engine=linux"), ("RUN true", "FROM"), ("FROM a AS x\nFROM debian\nCOPY --from=x b c", "--from=x"),
            ("FROM debian\nUSER eve", "eve"), ("FROM debian\nCOPY /../up x", "leaves"), ("FROM debian\nCOPY no x", "no"),
            ("FROM debian\nADD https://example.com/x /x", "ADD"), ("FROM debian\nSHELL x", "SHELL"),
            ("FROM debian\nRUN --mount=type=secret,id=c true", "--mount"),
            ("", "FROM")]:
        assert said in refusal(folder, dockerfile), (dockerfile, refusal(folder, dockerfile))
    assert "GPU" in refusal_of_gpus(folder)
    write(folder / "refused/docker-compose.yaml", "services: {}")
    assert "Compose" in refusal(folder, "FROM debian")


def refusal_of_gpus(folder: Path) -> str:
    write(folder / "refused/Dockerfile", "FROM debian")
    try:
        environment(folder, "refused", config={"gpus": 1})
    except (ValueError, RuntimeError) as problem:
        return str(problem)
    raise AssertionError("GPUs were taken")


async def check_failed_build(folder: Path) -> None:
    write(folder / "broken/Dockerfile", "FROM debian\nRUN echo why >&2; exit 9\n")
    box = environment(folder, "broken")
    try:
        await box.start(force_build=True)
        raise AssertionError("no exception")
    except SandboxBuildFailedError as problem:
        assert "exit 9" in str(problem) and "why" in str(problem), problem


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        right = make_task(folder / "right", "echo $(($(cat data/deep/number) * FACTOR)) >answer")
        assert rewards_of(right, folder / "jobs") == [1, 1, 1]
        wrong = make_task(folder / "wrong", "echo 41 >answer")
        assert rewards_of(wrong, folder / "other-jobs") == [0, 0, 0]
        (right / "environment").rename(folder / "test")
        asyncio.run(check_commands(folder))
        check_refusals(folder)
        asyncio.run(check_failed_build(folder))


main()
