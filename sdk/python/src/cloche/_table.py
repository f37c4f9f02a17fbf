# SPDX-License-Identifier: Apache-2.0
"""Rows that a notebook shows as a table. What a guest has named is text in it, and nothing else."""
from __future__ import annotations

import dataclasses
import html
from typing import Any, Iterable, List, Optional, Sequence, TypeVar

Row = TypeVar("Row")
_MOST_ROWS = 200
_MOST_COLUMNS = 50
_MOST_LETTERS = 1000


class Table(List[Row]):
    """A list of values of one dataclass."""

    def _repr_html_(self) -> Optional[str]:
        first: Any = self[0] if self else None
        if not dataclasses.is_dataclass(first):
            return None
        names = [one.name for one in dataclasses.fields(first)]
        return html_table(names, ([getattr(row, name) for name in names] for row in self[:_MOST_ROWS]), len(self))


def records_table(value: Any) -> Optional[str]:
    """Of a value that is a list of objects: its table; else None."""
    if not isinstance(value, list) or not value or not all(isinstance(row, dict) for row in value):
        return None
    names = list(dict.fromkeys(name for row in value[:_MOST_ROWS] for name in row))[:_MOST_COLUMNS]
    return html_table(names, ([row.get(name, "") for name in names] for row in value[:_MOST_ROWS]), len(value))


def html_table(names: Sequence[object], rows: Iterable[Sequence[object]], count: int) -> str:
    """A table of some of `count` rows."""
    head = "".join(f"<th>{_cell(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>" for row in rows)
    more = f"<small>{count - _MOST_ROWS} more</small>" if count > _MOST_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: object) -> str:
    text = str(value)
    return html.escape(text if len(text) <= _MOST_LETTERS else text[:_MOST_LETTERS] + "...")
