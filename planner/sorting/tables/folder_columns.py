"""Columns that folders called `NAME=VALUE` give the files in them, as Hive, Spark and DuckDB have them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote

from planner.sorting.tables.arrow_library import arrow

_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,17}")
"""Any other text would come back as another one, as the month 01 would."""
Folders = Mapping[str, str | None]
"""Columns and their values, None for null."""


def folder_values(folders: Sequence[str]) -> dict[str, str | None]:
    """Return the columns and values that names of folders say, the outermost first."""
    pairs = (folder.partition("=") for folder in folders if not folder.startswith("=") and "=" in folder)
    return {unquote(name): None if value == _NULL else unquote(value) for name, _, value in pairs}


def folder_types(files: Sequence[Folders]) -> dict[str, Any]:
    """Return the type of each column that the folders of some files say: integers if all values are, else text."""
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
    """Return what folders say of each file, with the types of their columns."""
    types, scalar = folder_types(files), arrow().scalar
    return [{name: scalar(value).cast(types[name]) if value is not None else scalar(None, types[name])
             for name, value in folders.items()} for folders in files]  # fmt: skip
