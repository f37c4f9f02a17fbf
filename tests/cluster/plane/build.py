#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the programs of a control plane of Kubernetes from the Go module proxy into the cache, and prints their folder.

    build.py        compiles them where the cache has not got them: a quarter of an hour of two processors
    build.py --has  prints the folder where the cache has them; exit 1 where not

go.mod beside it has the version, go.sum the hashes; see scripts/go_build.py. Exit 2 with one sentence where they cannot be had.
"""
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "scripts"))
import go_build  # pylint: disable=wrong-import-position

PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
MODULE = "k8s.io/kubernetes"
VERSION = re.search(re.escape(MODULE) + r" v(\S+)", (HERE / "go.mod").read_text())[1]
NAMES = "k8s.io/component-base/version"
BUILD = go_build.Programs(
    "kubernetes", HERE, MODULE, [f"{MODULE}/cmd/{program}" for program in PROGRAMS], "run scripts/setup packages-cluster.txt",
    f"-X {NAMES}.gitVersion=v{VERSION} -X {NAMES}.gitMajor={VERSION.split('.')[0]} -X {NAMES}.gitMinor={VERSION.split('.')[1]}")


def folder() -> Path:
    return BUILD.folder()


def has(programs: Path) -> bool:
    return programs == folder() and BUILD.exist()


if __name__ == "__main__":
    sys.exit(BUILD.main())
