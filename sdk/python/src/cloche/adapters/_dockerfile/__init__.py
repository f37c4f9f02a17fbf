# SPDX-License-Identifier: Apache-2.0
"""Dockerfiles as far as a sandbox can follow them: files are copied and commands run, on one base."""
from .build import BASES, Build, Copy, Dockerfile, Run, Unpack, base_is_like_a_sandbox
from .context import BuildContext, Text
from .instructions import DockerfileError

__all__ = ["BASES", "Build", "BuildContext", "Copy", "Dockerfile", "DockerfileError", "Run", "Text", "Unpack",
           "base_is_like_a_sandbox"]
