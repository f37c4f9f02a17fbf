# SPDX-License-Identifier: Apache-2.0
"""Run by pytest: LangChain's standard tests of sandboxes, on one of Cloche."""
import os

import pytest
from langchain_tests.integration_tests import SandboxIntegrationTests

from cloche.adapters.deepagents import ClocheBackend

SERVER = {"url": os.environ["SERVER_URL"], "token": os.environ["SERVER_TOKEN"]} if "SERVER_URL" in os.environ else {}


# The package's own code answers these, as it did not when the tests were written: paths that glob finds are absolute
# and are files alone, and write replaces a file.
CHANGED = {"test_glob", "test_glob_basic_pattern", "test_glob_with_directories", "test_glob_hidden_files_explicitly",
           "test_glob_with_character_class", "test_glob_with_question_mark", "test_write_existing_file_fails"}


class TestCloche(SandboxIntegrationTests):
    @pytest.fixture(autouse=True)
    def changed(self, request):
        if request.node.originalname in CHANGED:
            request.node.add_marker(pytest.mark.xfail(reason="deepagents 0.7 does otherwise", strict=True))

    @pytest.fixture(scope="class")
    def sandbox(self):
        backend = ClocheBackend(**SERVER)
        yield backend
        backend.close()


def test_what_else_there_is():
    backend = ClocheBackend(timeout=60, **SERVER)
    assert backend.execute("echo out; echo err >&2; exit 3").output == "out\nerr\n"
    assert backend.execute("sleep 100", timeout=1).exit_code == 124
    assert [one.error for one in backend.upload_files([("/usr/x", b""), ("relative", b""), ("/tmp/a", b"\0")])] == [
        "permission_denied", "invalid_path", None]
    assert [one.error for one in backend.download_files(["/tmp", "/tmp/none", "/tmp/a/x"])] == [
        "is_directory", "file_not_found", "file_not_found"]
    with pytest.raises(TypeError):
        ClocheBackend(sandbox=backend.sandbox, packages=["numpy"])
    ClocheBackend(sandbox=backend.sandbox).close()
    assert backend.execute("echo on").output == "on\n"
    backend.close()
    backend.close()
