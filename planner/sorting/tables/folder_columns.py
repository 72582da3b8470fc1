"""Columns that folders named `NAME=VALUE` add to the files in them, as in Hive, Spark and DuckDB."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import date
from typing import Any, Final
from urllib.parse import unquote

from planner.errors import BadInputError
from planner.sorting.tables.arrow_library import arrow

_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,17}")
"""Integers whose text survives a round trip; the month 01, for example, would not."""
_REAL: Final = re.compile(r"-?[0-9]+\.[0-9]+")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
Folders = Mapping[str, str | None]
"""Columns and their values, None for null."""


def folder_values(folders: Sequence[str]) -> dict[str, str | None]:
    """Return the columns and values in names of folders, the outermost first."""
    pairs = (folder.partition("=") for folder in folders if not folder.startswith("=") and "=" in folder)
    return {unquote(name): None if value == _NULL else unquote(value) for name, _, value in pairs}


def folder_types(files: Sequence[Folders]) -> dict[str, Any]:
    """Return the type of each column from the folders of some files: integers, real numbers or dates if all values are
    and none changes when it is written again, else text. Raises BadInputError for names that differ by case alone.
    """
    given: dict[str, set[str]] = {}
    for folders in files:
        for name, value in folders.items():
            given.setdefault(name, set()).update(set() if value is None else {value})
    require_one_case(given, given)
    return {name: _type_of(values) for name, values in given.items()}


def _type_of(values: Collection[str]) -> Any:
    types = arrow()
    if values and all(map(_INTEGER.fullmatch, values)):
        return types.int64()
    if values and all(map(_is_real, values)):
        return types.float64()
    return types.date32() if values and all(map(_is_date, values)) else types.string()


def _is_real(value: str) -> bool:
    if _INTEGER.fullmatch(value):
        return int(float(value)) == int(value)
    return bool(_REAL.fullmatch(value)) and repr(float(value)) == value


def _is_date(value: str) -> bool:
    with suppress(ValueError):
        return bool(_DATE.fullmatch(value) and date.fromisoformat(value))
    return False


def folder_scalars(files: Sequence[Folders]) -> list[dict[str, Any]]:
    """Return the values from each file's folders, with the types of their columns. Raises as `folder_types` does."""
    types, scalar = folder_types(files), arrow().scalar
    return [{name: scalar(value).cast(types[name]) if value is not None else scalar(None, types[name])
             for name, value in folders.items()} for folders in files]  # fmt: skip


def require_one_case(folders: Collection[str], columns: Collection[str]) -> None:
    """Raise BadInputError where a column of folders and another one have names that differ by case alone: Spark takes
    them for one, Parquet for two.
    """
    known = dict[str, set[str]]()
    for name in (*folders, *columns):
        known.setdefault(name.casefold(), set()).add(name)
    for name in folders:
        if others := sorted(known[name.casefold()] - {name}):
            raise BadInputError(
                f"columns {name!r} and {others[0]!r} differ by case alone, and one comes from names of folders",
                ["name them alike, or otherwise"],
                code="names-differ-by-case",
            )


def columns_twice(file: Any, folders: Folders, *, path: str) -> set[str]:
    """Return the columns that both a Parquet file, as pyarrow's `ParquetFile`, and its folders have. Raises
    BadInputError where their values differ, and for names that differ by case alone.
    """
    names = file.schema_arrow.names
    require_one_case(folders, names)
    both = folders.keys() & set(names)
    for name in sorted(both):
        if not _holds_only(file, name, folders[name]):
            raise BadInputError(
                f"{path}: its folders say {name}={folders[name]}, and its column {name} has other values",
                ["rename the folders or the column, or move the file to the folder of its values"],
                code="folder-mismatch",
            )
    return both


def twice_said(columns: Collection[str]) -> str:
    """Return the note that files have columns that their folders name, too."""
    return f"note: the folders' names repeat what the files' own columns hold: {', '.join(sorted(columns))}"


def _holds_only(file: Any, column: str, text: str | None) -> bool:
    """Return whether all values of a column are what a folder says: by its statistics, or else by reading it."""
    library, compute = arrow(), arrow("pyarrow.compute")
    kind = file.schema_arrow.field(column).type
    kind = kind.value_type if arrow("pyarrow.types").is_dictionary(kind) else kind
    if text is None:
        return all(batch.column(0).null_count == batch.num_rows for batch in file.iter_batches(columns=[column]))
    try:
        value = library.scalar(text).cast(kind)
    except (library.ArrowInvalid, library.ArrowNotImplementedError):
        return False
    if _statistics_say(file.metadata, column, value.as_py()):
        return True
    equal = (compute.equal(batch.column(0).cast(kind), value) for batch in file.iter_batches(columns=[column]))
    return all(compute.all(compute.fill_null(found, fill_value=False)).as_py() is not False for found in equal)


def _statistics_say(metadata: Any, column: str, value: Any) -> bool:
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    chunks = [group.column(at) for group in groups for at in range(group.num_columns)]
    found = [chunk.statistics for chunk in chunks if chunk.path_in_schema == column]
    return all(
        says is not None and says.has_min_max and says.has_null_count and not says.null_count
        and says.min == value and says.max == value
        for says in found
    )  # fmt: skip
