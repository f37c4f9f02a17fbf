# SPDX-License-Identifier: Apache-2.0
"""What a program for E2B does with its Python client to build templates. It knows nothing of this server."""
import os
import tempfile
from pathlib import Path

from e2b import Sandbox, Template, wait_for_port
from e2b.exceptions import BuildException


def context() -> Path:
    folder = Path(tempfile.mkdtemp())
    (folder / "app/deep").mkdir(parents=True)
    (folder / "app/main.sh").write_text("#!/bin/sh\necho ran\n")
    (folder / "app/main.sh").chmod(0o755)
    (folder / "app/deep/bytes").write_bytes(bytes(range(256)) * 1000)
    (folder / "one.txt").write_text("one")
    (folder / "two.txt").write_text("two")
    return folder


def steps(folder: Path) -> None:
    template = (Template(file_context_path=str(folder)).from_python_image("3.13")
                .copy("app", "/srv/app").copy("one.txt", "sub/").copy("*.txt", "/opt/texts/", mode=0o600, user="root")
                .set_envs({"GREETING": "hello there"})
                .run_cmd("echo $GREETING >made; id -un >>made; pwd >>made").run_cmd("id -un >/by-root", user="root")
                .set_workdir("/srv/work").run_cmd("pwd >here").set_start_cmd("python3 -m http.server 8123", wait_for_port(8123)))
    heard = []
    built = Template.build(template, "mine:v1", tags=["latest"], on_build_logs=lambda entry: heard.append(entry.message))
    assert sorted(built.tags) == ["latest", "v1"], built
    assert any("COPY app /srv/app" in message for message in heard), heard
    assert Template.exists("mine") and not Template.exists("other")
    sandbox = Sandbox.create("mine:latest")
    assert sandbox.get_info().name == "mine"
    run = sandbox.commands.run
    assert run("pwd; cat ~/made here /by-root; echo $GREETING; /srv/app/main.sh; cat ~/sub/one.txt").stdout == (
        "/srv/work\nhello there\nuser\n/home/user\n/srv/work\nroot\nhello there\nran\none")
    assert run("stat -c '%a %U %s' /srv/app/deep/bytes").stdout == "644 user 256000\n"
    assert run("stat -c '%a %U' /opt/texts/*", user="root").stdout == "600 root\n600 root\n"
    assert run("curl -s localhost:8123/here").stdout == "/srv/work\n"
    sandbox.kill()


def from_each_other() -> None:
    Template.build(Template().from_template("mine:v1").run_cmd("echo more >more"), "child")
    sandbox = Sandbox.create("child")
    assert sandbox.commands.run("cat here more").stdout == "/srv/work\nmore\n"
    sandbox.kill()
    Template.build(Template().from_dockerfile("FROM debian\nENV A=b\nWORKDIR /w\nRUN echo $A >a\n"), "file")
    sandbox = Sandbox.create("file")
    assert sandbox.commands.run("cat a; id -un").stdout == "b\nuser\n"
    sandbox.kill()


def tags() -> None:
    Template.assign_tags("mine:v1", ["stable"])
    assert {each.tag for each in Template.get_tags("mine")} == {"latest", "stable", "v1"}
    Template.remove_tags("mine", ["latest", "v1"])
    Sandbox.create("mine:stable").kill()
    try:
        Sandbox.create("mine:v1")
        raise AssertionError("no exception")
    except Exception as problem:
        assert "was not found" in str(problem), problem


def failures() -> None:
    for template, words in [(Template().from_base_image().run_cmd("echo why >&2; exit 3"), "why"),
                            (Template().from_base_image().set_user("eve"), "eve"),
                            (Template().from_template("nobody"), "nobody")]:
        try:
            Template.build(template, "failing")
            raise AssertionError("no exception")
        except BuildException as problem:
            assert words in str(problem), problem
    try:
        Template.build(Template().from_base_image(), "base")
        raise AssertionError("no exception")
    except BuildException as problem:
        assert "taken" in str(problem), problem


folder = context()
os.chdir(folder)
steps(folder)
from_each_other()
tags()
failures()
print("done")
