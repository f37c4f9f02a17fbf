# SPDX-License-Identifier: Apache-2.0
"""Checks of Dockerfiles as adapters read them; what is expected is what `docker build` makes of them."""
from pathlib import Path

import pytest

from cloche.adapters._dockerfile import Build, DockerfileError, read_dockerfile

INHERITED = {"PATH": "/usr/bin:/bin"}


def read(folder: Path, *lines: str) -> Build:
    path = folder / "Dockerfile"
    path.write_text("\n".join(lines))
    return read_dockerfile(path, INHERITED)


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
    ("ENV B=$WITH_VALUE C=$BEFORE", {"B": "of an argument", "C": "early"}),
    ("ENV B=$UNSEEN", {"B": ""}),
])
def test_variables(tmp_path: Path, line: str, variables: dict) -> None:
    build = read(tmp_path, "ARG BEFORE=early", "ARG UNSEEN=early", "FROM debian", "ARG BEFORE",
                 "ARG OTHER=1 WITH_VALUE='of an argument'", "ENV A=1", "ENV EMPTY=", line)
    assert build.env == {"A": "1", "EMPTY": "", **variables}


@pytest.mark.parametrize("line, script", [
    ("RUN [ -f /x ] || touch /x", "[ -f /x ] || touch /x"),
    ('RUN ["echo", "a b", "$A"]', "echo 'a b' '$A'"),
    ("RUN echo '$A' \"$A\"", "echo '$A' \"$A\""),
    ("WORKDIR $A/../b", "mkdir -p /b"),
    ('VOLUME ["/a b", "/$A"]', "mkdir -p '/a b' /1"),
])
def test_commands(tmp_path: Path, line: str, script: str) -> None:
    assert [step.script for step in read(tmp_path, "FROM debian", "ENV A=1", line).steps] == [script]


@pytest.mark.parametrize("line", ["ENV A='b", 'ENV A="b', "ENV A=${B%.*}", "ENV A=${}", "WORKDIR ${A:?no}"])
def test_what_is_not_followed_is_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(DockerfileError):
        read(tmp_path, "FROM debian", line)
