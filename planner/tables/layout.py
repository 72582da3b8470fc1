"""A table as its metadata shows it: files, partitions, bounds of columns; and the groups of files to rewrite."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from planner.errors import IoFailureError

Partition = tuple[tuple[str, str], ...]
"""Names of partition fields with their values as texts."""


@dataclass(frozen=True, kw_only=True)
class DataFile:
    """A file of a table. `bounds` are the least and greatest value of columns, by name; where neither is known the
    name is absent, and the greatest is None for numbers with NaN.

    `deletes` counts the delete files or vectors whose rows are still in the file. `left` is the reason for which no
    rewrite takes the file, `token` whatever else changes with the file, `handle` what the format needs of it.
    """

    path: str
    bytes: int
    rows: int | None
    partition: Partition = ()
    bounds: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    nulls: Mapping[str, int] = field(default_factory=dict)
    deletes: int = 0
    left: str = ""
    token: Any = None
    handle: Any = field(default=None, compare=False, repr=False)

    @property
    def place(self) -> str:
        """The partition as text: `day=2026-01-01, region=eu`."""
        return ", ".join(f"{name}={value}" for name, value in self.partition)

    def is_same(self, other: DataFile) -> bool:
        """Return whether another look at the table shows the same file with the same rows."""
        mine, theirs = ((each.path, each.bytes, each.deletes, each.token) for each in (self, other))
        return mine == theirs


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A version of a table: its files, the arrow schema of a whole file, and the declared order as `--sort-by` has it.

    `refusal` is the reason for which the table cannot be rewritten, if there is one; `notes` are for people.
    `metadata` differs between versions with different schemas, properties or protocols.
    """

    kind: str
    location: str
    version: str
    files: tuple[DataFile, ...]
    schema: Any
    order: tuple[str, ...] = ()
    partitioned_by: tuple[str, ...] = ()
    refusal: str = ""
    notes: tuple[str, ...] = ()
    metadata: str = ""


@dataclass(frozen=True, kw_only=True)
class NewFile:
    """A sorted file in the storage of a table, which no reader sees yet, with its footer, and the columns with NaN."""

    path: str
    bytes: int
    rows: int
    footer: Any
    with_nan: frozenset[str] = frozenset()


class LostError(Exception):
    """Another writer removed or changed files of a group, so that its rewrite does not count."""


class UnconfirmedError(IoFailureError):
    """A commit may have been made or not, or may still be, so that none of its files may be removed."""


def shown_value(text: str | None) -> str:
    """Return the value of a partition for people: `null` for none, and a text that looks like it in quotes, so that
    no two values are shown alike.
    """
    if text is None:
        return "null"
    return f"'{text}'" if text.strip("'") == "null" else text


def new_id() -> str:
    """Return a name for the files of a group that no other group has."""
    return secrets.token_hex(8)


@dataclass(frozen=True, kw_only=True)
class Group:
    """Files of one partition that are rewritten together: `reason` is overlap, small, deletes or unsorted."""

    id: str
    files: tuple[DataFile, ...]
    depth: int
    reason: str
    keys: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """Bytes of all files."""
        return sum(file.bytes for file in self.files)

    @property
    def rows(self) -> int:
        """Rows of all files, deleted ones included."""
        return sum(file.rows or 0 for file in self.files)
