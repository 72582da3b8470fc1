"""Declared content of a file (`Column`, `Schema`), its actual content (`Table`), and its mistakes (`Problem`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from planner.arrays import Array

CellType = Literal["text", "choice", "number", "whole", "yes_no", "day"]


@dataclass(frozen=True, kw_only=True)
class Column:
    """One declared column: what a cell must look like, and what it means.

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
        """What a cell must be, in words, as error messages and the documentation say it."""
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
    """The columns of one kind of file, and those whose cells together must not repeat."""

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
    """Something wrong in a file: where (line as an editor numbers it, column), what stands there, what should."""

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
    """A file's columns as arrays of equal length, each row with the line it stands on."""

    schema: Schema
    path: Path
    columns: Mapping[str, Array]
    lines: Sequence[int]

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, name: str) -> Array:
        return self.columns[name]

    def rows(self, indexes: Iterable[int] | None = None) -> Iterator[dict[str, Any]]:
        """Yield rows as dicts of plain Python values (all rows by default), for display rather than for arithmetic."""
        for index in range(len(self)) if indexes is None else indexes:
            yield {name: array[index].item() for name, array in self.columns.items()}
