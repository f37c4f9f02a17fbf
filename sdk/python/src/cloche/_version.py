# SPDX-License-Identifier: Apache-2.0
"""The version of this package. A wheel has it as a constant."""
from pathlib import Path

__version__ = (Path(__file__).resolve().parents[4] / "VERSION").read_text(encoding="utf-8").strip()
