# SPDX-License-Identifier: Apache-2.0
"""Checks of Dockerfiles as adapters read them; what is expected is what `docker build` makes of them."""
import tarfile
from pathlib import Path
from typing import List

import pytest

from cloche.adapters._dockerfile import Build, Copy, Dockerfile, DockerfileError, Run, Text, Unpack

INHERITED = {"PATH": "/usr/bin:/bin"}


def dockerfile(folder: Path, *lines: str) -> Dockerfile:
    path = folder / "Dockerfile"
    path.write_text("\n".join(lines))
    return Dockerfile(path)


def read(folder: Path, *lines: str) -> Build:
    read_once = dockerfile(folder, *lines)
    read_once.check()
    return read_once.build(INHERITED)


def scripts(build: Build) -> List[str]:
    return [step.script for step in build.steps if isinstance(step, Run)]


@pytest.mark.parametrize("line, variables", [
    ('ENV PATH="/opt/x:$PATH"', {"PATH": "/opt/x:/usr/bin:/bin"}),
    ("ENV PATH=/opt/x:${PATH}", {"PATH": "/opt/x:/usr/bin:/bin"}),
    ("ENV A=2 B=$A", {"A": "2", "B": "1"}),
    ("ENV B=$A C='$A' D=\\$A E=\"\\$A\"", {"B": "1", "C": "$A", "D": "$A", "E": "$A"}),
    ('ENV B="a b" C=a\\ b D=\'{"a": 1}\' E="a\\b"', {"B": "a b", "C": "a b", "D": '{"a": 1}', "E": "a\\b"}),
    ("ENV B=${A:+yes} C=${NONE:+yes} D=${NONE-no} E=${A-no} F=${EMPTY:-no} G=${EMPTY-no}",
     {"B": "yes", "C": "", "D": "no", "E": "1", "F": "no", "G": ""}),
    ("ENV B=${NONE:-${A}}", {"B": "1"}),
    ("ENV B some words $A", {"B": "some words 1"}),
    ("ENV\tB\tsome words", {"B": "some words"}),
    ("ENV B=$WITH_VALUE C=$BEFORE", {"B": "of an argument", "C": "early"}),
    ("ENV B=$UNSEEN", {"B": ""}),
    ("ENV B=${UNSET-unset}", {"B": "unset"}),
    ("ARG PATH=/of/an/argument\nENV B=$PATH", {"B": "/usr/bin:/bin"}),
])
def test_variables(tmp_path: Path, line: str, variables: dict) -> None:
    build = read(tmp_path, "ARG BEFORE=early", "ARG UNSEEN=early", "FROM debian", "ARG BEFORE", "ARG UNSET",
                 "ARG OTHER=1 WITH_VALUE='of an argument'", "ENV A=1", "ENV EMPTY=", line)
    assert build.env == {"A": "1", "EMPTY": "", **variables}


@pytest.mark.parametrize("line, script", [
    ("RUN [ -f /x ] || touch /x", "[ -f /x ] || touch /x"),
    ('RUN ["echo", "a b", "$A"]', "echo 'a b' '$A'"),
    ("RUN echo '$A' \"$A\"", "echo '$A' \"$A\""),
    ("run\techo 1", "echo 1"),
    ("RUN echo a \\\n  b", "echo a   b"),
    ("RUN echo a \\  \n# a comment\n\n   # another\n  b && \\\n  c", "echo a   b &&   c"),
    ("RUN echo 'a # b' \\\n  c", "echo 'a # b'   c"),
    ("RUN echo a\\\\\nENV B=1", "echo a\\\\"),
    ("RUN echo a \\", "echo a"),
    ("RUN --network=default echo a", "echo a"),
    ("WORKDIR $A/../b", "mkdir -p /b"),
    ('WORKDIR "/a b"', "mkdir -p '/a b'"),
    ('VOLUME ["/a b", "/$A"]', "mkdir -p '/a b' /1"),
    ('SHELL ["/bin/bash", "-o", "pipefail", "-c"]\nRUN a | b', "/bin/bash -o pipefail -c 'a | b'"),
    ('SHELL ["/bin/bash", "-c"]\nRUN ["echo", "$A"]', "echo '$A'"),
    ('SHELL ["/bin/bash", "-c"]\nRUN <<EOF\na\nEOF', "/bin/bash -c 'a\n'"),
])
def test_commands(tmp_path: Path, line: str, script: str) -> None:
    assert scripts(read(tmp_path, "FROM debian", "ENV A=1", line)) == [script]


@pytest.mark.parametrize("lines, script", [
    ("RUN <<EOF\necho $A\n\n# kept \\\n  echo b\nEOF", "echo $A\n\n# kept \\\n  echo b\n"),
    ("RUN <<-EOF\n\techo a\n\t\tEOF", "echo a\n"),
    ("RUN <<'END OF IT'\nEND OF IT", None),
    ("RUN cat <<A <<'B' >x\n1\nA\n2\nB", "cat <<A <<'B' >x\n1\nA\n2\nB"),
    ("RUN python3 <<-EOF\n\tprint(1)\n\tEOF", "python3 <<-EOF\n\tprint(1)\nEOF"),
    ("RUN cat <<EOF | \\\n  tee x\na\nEOF", "cat <<EOF |   tee x\na\nEOF"),
    ("RUN echo $((1<<2)) '<<A' \"<<B\" <<<word", "echo $((1<<2)) '<<A' \"<<B\" <<<word"),
])
def test_documents_of_commands(tmp_path: Path, lines: str, script: str) -> None:
    if script is None:
        with pytest.raises(DockerfileError):
            read(tmp_path, "FROM debian", lines)
    else:
        assert scripts(read(tmp_path, "FROM debian", lines, "RUN last")) == [script, "last"]


def test_a_document_that_is_a_program_is_run(tmp_path: Path) -> None:
    script, = scripts(read(tmp_path, "FROM debian", "RUN <<EOF", "#!/usr/bin/env python3", "print('it')", "EOF"))
    assert "#!/usr/bin/env python3\nprint(" in script and "chmod 755" in script


@pytest.mark.parametrize("escape, lines, script", [
    ("# escape=`", "RUN dir c:\\ `\n  b", "dir c:\\   b"),
    ("# syntax=docker/dockerfile:1\n#ESCAPE = `", "RUN a`\n\\", "a\\"),
    ("# a comment\n# escape=`", "RUN a \\\n  b", "a   b"),
    ("\n# escape=`", "RUN a \\\n  b", "a   b"),
])
def test_the_escape_character(tmp_path: Path, escape: str, lines: str, script: str) -> None:
    assert scripts(read(tmp_path, escape, "FROM debian", lines)) == [script]


def test_the_escape_character_of_words(tmp_path: Path) -> None:
    assert read(tmp_path, "# escape=`", "FROM debian", "ENV A=c:\\x B=`$A C=\"a`\"b\"").env == {
        "A": "c:\\x", "B": "$A", "C": 'a"b'}


def test_a_cache_is_a_folder(tmp_path: Path) -> None:
    made, script = scripts(read(tmp_path, "FROM debian", "ENV A=/c",
                                "RUN --mount=type=cache,target=$A/d,sharing=locked,uid=1000,mode=0700 pip x"))
    assert script == "pip x" and "mkdir -p /c/d" in made and "chmod 0700 /c/d" in made and "chown sandbox: /c/d" in made


@pytest.mark.parametrize("lines, base, ran", [
    ("FROM a AS x\nRUN 1\nFROM debian\nRUN 2", "debian", ["2"]),
    ("FROM python:3 AS Base\nRUN 1\nFROM golang AS other\nCOPY --from=x y z\nFROM base\nRUN 2", "python:3", ["1", "2"]),
    ("FROM a AS x\nFROM x as y\nRUN 1\nFROM y\nRUN 2", "a", ["1", "2"]),
    ("ARG V=13\nFROM --platform=$BUILDPLATFORM debian:${V}-slim", "debian:13-slim", []),
])
def test_stages(tmp_path: Path, lines: str, base: str, ran: List[str]) -> None:
    read_once = dockerfile(tmp_path, lines)
    assert read_once.base == base and scripts(read_once.build({})) == ran


def test_arguments_and_variables_of_a_stage_that_is_begun_with(tmp_path: Path) -> None:
    build = read(tmp_path, "FROM debian AS x", "ARG A=1", "ENV B=2", "WORKDIR /w", "USER sandbox", "FROM x", "ENV C=$A$B")
    assert (build.env, build.workdir, build.account) == ({"B": "2", "C": "12"}, "/w", "user")


def files_of(folder: Path, *lines: str) -> List[Copy]:
    for name in ("a.txt", "b.txt", ".hidden", "sub/c.txt", "sub/deep/d.log", "x[1].txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return [step for step in read(folder, "FROM debian", "WORKDIR /w", *lines).steps if isinstance(step, Copy)]


@pytest.mark.parametrize("line, names, target", [
    ("COPY a.txt b.txt x/", ["a.txt", "b.txt"], "/w/x/"),
    ("COPY a.txt x", ["a.txt"], "/w/x"),
    ("COPY a.txt .", ["a.txt"], "/w/"),
    ("COPY . /", ["."], "/"),
    ('COPY ["a.txt", "/o p/"]', ["a.txt"], "/o p/"),
    ("COPY ?.txt /", ["a.txt", "b.txt"], "/"),
    ("COPY [^a].txt /", ["b.txt"], "/"),
    ("COPY *.txt /", ["a.txt", "b.txt", "x[1].txt"], "/"),
    ("COPY x[[]1].txt /", ["x[1].txt"], "/"),
    ("COPY .h* /", [".hidden"], "/"),
    ("COPY s*/c.txt /", ["sub/c.txt"], "/"),
    ("COPY ./sub/../a.txt /", ["a.txt"], "/"),
    ("COPY --link a.txt /", ["a.txt"], "/"),
    ("ADD a.txt /", ["a.txt"], "/"),
])
def test_files(tmp_path: Path, line: str, names: List[str], target: str) -> None:
    copy, = files_of(tmp_path, line)
    assert [str(path.relative_to(tmp_path)) for path in copy.sources] == names and copy.target == target


def test_whose_files_are_and_their_mode(tmp_path: Path) -> None:
    first, second = files_of(tmp_path, "ENV WHO=1000", "COPY --chown=$WHO:1000 --chmod=640 a.txt /", "COPY a.txt /")
    assert (first.owner, first.mode, second.owner, second.mode) == ("sandbox", "640", "root", None)


def test_files_that_stand_in_the_dockerfile(tmp_path: Path) -> None:
    copies = files_of(tmp_path, "ENV A=1", "COPY <<one.txt <<'two.txt' /x/", "\"$A\" \\$A", "one.txt", "$A", "two.txt",
                      "COPY <<-EOF /y", "\ta", "\tEOF")
    assert [(copy.sources, copy.target) for copy in copies] == [
        ((Text("one.txt", '"1" $A\n'), Text("two.txt", "$A\n")), "/x/"), ((Text("EOF", "a\n"),), "/y")]


def test_archives_are_unpacked_by_add_alone(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    for name, how in (("t.tgz", "w:gz"), ("named-otherwise", "w")):
        with tarfile.open(tmp_path / name, how) as archive:
            archive.add(tmp_path / "a.txt", "a.txt")
    (tmp_path / "no.tar.gz").write_text("no archive")
    steps = read(tmp_path, "FROM debian", "ADD t.tgz named-otherwise no.tar.gz /x/", "COPY t.tgz /y").steps
    assert [step.source.name for step in steps if isinstance(step, Unpack)] == ["t.tgz", "named-otherwise"]
    assert [[path.name for path in step.sources] for step in steps if isinstance(step, Copy)] == [["no.tar.gz"], ["t.tgz"]]


@pytest.mark.parametrize("ignored, left", [
    ("", [".hidden", "a.txt", "b.txt", "sub/c.txt", "sub/deep/d.log", "x[1].txt"]),
    ("*.txt", [".hidden", "sub/c.txt", "sub/deep/d.log"]),
    ("**/*.txt\n# a comment\n\n.*", ["sub/deep/d.log"]),
    ("/sub/", [".hidden", "a.txt", "b.txt", "x[1].txt"]),
    ("*\n!sub/deep\n", ["sub/deep/d.log"]),
    ("*\n!*.txt\nb.*", ["a.txt", "x[1].txt"]),
    ("sub/**\n", [".hidden", "a.txt", "b.txt", "x[1].txt"]),
    ("!a.txt\na.txt\n", [".hidden", "b.txt", "sub/c.txt", "sub/deep/d.log", "x[1].txt"]),
    ("?.txt\nx\\[1\\].txt", [".hidden", "sub/c.txt", "sub/deep/d.log"]),
])
def test_what_is_left_out(tmp_path: Path, ignored: str, left: List[str]) -> None:
    (tmp_path / ".dockerignore").write_text(ignored)
    copy, = files_of(tmp_path, "COPY . /")
    with dockerfile(tmp_path, "FROM debian").context.taken(copy.sources[0]) as taken:
        got = sorted(path.relative_to(taken).as_posix() for path in taken.rglob("*") if path.is_file())
    assert [name for name in got if name not in ("Dockerfile", ".dockerignore")] == left


def test_the_list_of_the_dockerfile_itself_goes_first(tmp_path: Path) -> None:
    (tmp_path / ".dockerignore").write_text("a.txt")
    (tmp_path / "Dockerfile.dockerignore").write_text("b.txt")
    files_of(tmp_path, "COPY a.txt /")
    with pytest.raises(DockerfileError, match="dockerignore"):
        files_of(tmp_path, "COPY b.txt /")


@pytest.mark.parametrize("line", [
    "ENV A='b", 'ENV A="b', "ENV A=${B%.*}", "ENV A=${}", "WORKDIR ${A:?no}", "RUN", "RUN <<EOF\nno end", "SHELL bash -c",
    "RUN --mount=type=bind,target=/x true", "RUN --mount=type=secret,id=x true", "RUN --network=none true",
    "RUN --security=insecure true", "COPY --from=0 a b", "COPY --exclude=a a b", "COPY --chown=eve . /", "USER eve", "COPY a",
    "COPY . ", "COPY none /", "COPY *.none /", "COPY ../x /", "ADD https://example.com/x /", "ADD git@example.com:x /",
    "FROM a b", "FROM", "FROM $NONE", "NEVER heard", "INCLUDE other",
])
def test_what_is_not_followed_is_refused_at_once(tmp_path: Path, line: str) -> None:
    with pytest.raises(DockerfileError):
        dockerfile(tmp_path, "FROM debian", line).check()


@pytest.mark.parametrize("lines", ["", "# only\n", "RUN true", "ARG A", "# escape=x\nFROM debian"])
def test_what_is_no_dockerfile(tmp_path: Path, lines: str) -> None:
    with pytest.raises(DockerfileError):
        dockerfile(tmp_path, lines)


def test_what_the_base_alone_knows_is_refused_once_it_is_known(tmp_path: Path) -> None:
    (tmp_path / "of-base").write_text("")
    read_once = dockerfile(tmp_path, "FROM debian", "ENV B=$OF_BASE", "COPY $B /x", "USER $OF_BASE")
    read_once.check()
    with pytest.raises(DockerfileError, match="of-base"):
        read_once.build({"OF_BASE": "of-base"})
    with pytest.raises(DockerfileError, match="nothing-there"):
        read_once.build({"OF_BASE": "nothing-there"})


def test_the_file_is_read_once(tmp_path: Path) -> None:
    read_once = dockerfile(tmp_path, "FROM debian", "RUN first")
    (tmp_path / "Dockerfile").write_text("FROM other")
    assert scripts(read_once.build({})) == ["first"]
