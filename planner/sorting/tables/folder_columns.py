"""Columns that folders named `NAME=VALUE` add to the files in them, as in Hive, Spark and DuckDB."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote

from planner.sorting.tables.arrow_library import arrow

_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,17}")
"""Integers whose text survives a round trip; the month 01, for example, would not."""
Folders = Mapping[str, str | None]
"""Columns and their values, None for null."""


def folder_values(folders: Sequence[str]) -> dict[str, str | None]:
    """Return the columns and values in names of folders, the outermost first."""
    pairs = (folder.partition("=") for folder in folders if not folder.startswith("=") and "=" in folder)
    return {unquote(name): None if value == _NULL else unquote(value) for name, _, value in pairs}


def folder_types(files: Sequence[Folders]) -> dict[str, Any]:
    """Return the type of each column from the folders of some files: integers if all values are, else text."""
    given: dict[str, list[str]] = {}
    for folders in files:
        for name, value in folders.items():
            given.setdefault(name, []).extend([] if value is None else [value])
    types = arrow()
    return {
        name: types.int64() if values and all(map(_INTEGER.fullmatch, values)) else types.string()
        for name, values in given.items()
    }


def folder_scalars(files: Sequence[Folders]) -> list[dict[str, Any]]:
    """Return the values from each file's folders, with the types of their columns."""
    types, scalar = folder_types(files), arrow().scalar
    return [{name: scalar(value).cast(types[name]) if value is not None else scalar(None, types[name])
             for name, value in folders.items()} for folders in files]  # fmt: skip
