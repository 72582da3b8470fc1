"""Declared content of a file (`Column`, `Schema`), its actual content (`Table`), and its errors (`Problem`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from planner.arrays import Array

CellType = Literal["text", "choice", "number", "whole", "yes_no", "day"]


@dataclass(frozen=True, kw_only=True)
class Column:
    """One declared column: the constraints on its cells, and its meaning.

    `above` is an exclusive lower bound, `least` and `most` are inclusive; all three apply to numbers. A `yes_no` cell
    is always required.
    """

    name: str
    meaning: str
    kind: CellType = "text"
    unit: str = ""
    required: bool = True
    choices: tuple[str, ...] = ()
    above: float | None = None
    least: float | None = None
    most: float | None = None

    @property
    def expected(self) -> str:
        """Description of a valid cell, for error messages and the documentation."""
        bounds = (("above", self.above), ("at least", self.least), ("at most", self.most))
        limits = "".join(f", {word} {bound:g}" for word, bound in bounds if bound is not None)
        return {
            "text": "text",
            "choice": f"one of {', '.join(self.choices)}",
            "number": f"a number{limits}",
            "whole": f"a whole number{limits}",
            "yes_no": "yes or no",
            "day": "a date YYYY-MM-DD",
        }[self.kind]


@dataclass(frozen=True, kw_only=True)
class Schema:
    """The columns of one kind of file, and its key: the columns whose combined cells must not repeat."""

    name: str
    meaning: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The column names in file order."""
        return tuple(column.name for column in self.columns)


@dataclass(frozen=True, kw_only=True)
class Problem:
    """An error in a file: its place (line as an editor numbers it, column), the present text, and the expected one."""

    path: Path
    expected: str
    line: int | None = None
    column: str = ""
    value: str | None = None

    def __str__(self) -> str:
        place = str(self.path) if self.line is None else f"{self.path}:{self.line}"
        column = f", column {self.column}" if self.column else ""
        value = "" if self.value is None else f": {self.value!r}" if self.value else ": blank"
        return f"{place}{column}{value}: {self.expected}"


@dataclass(frozen=True, kw_only=True)
class Table:
    """A file's columns as arrays of equal length, and the line of each row."""

    schema: Schema
    path: Path
    columns: Mapping[str, Array]
    lines: Sequence[int]

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, name: str) -> Array:
        return self.columns[name]

    def rows(self, indexes: Iterable[int] | None = None) -> Iterator[dict[str, Any]]:
        """Yield rows as dicts of plain Python values (all rows by default), for display rather than arithmetic."""
        for index in range(len(self)) if indexes is None else indexes:
            yield {name: array[index].item() for name, array in self.columns.items()}
