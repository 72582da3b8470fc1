"""GeoParquet's description of geometries (`geo` in a footer), united for files that are sorted into one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from planner.errors import BadInputError

_USUAL: Final[dict[str, Any]] = {"crs": {"authority": "OGC", "code": "CRS84"}, "edges": "planar"}
"""Meaning of fields that are missing."""
_SYSTEM: Final = ("encoding", "crs", "edges", "epoch")
"""Fields without which coordinates mean something else."""
_TYPES: Final = "geometry_types"


def united_geo(values: Sequence[bytes | None], names: Sequence[str]) -> bytes | None:
    """Return the first file's description, true of the rows of all files: the box of one would hide the others' rows.

    Fields that differ are left out, and types are those of all files, or unknown. Raises BadInputError for coordinates
    of unlike systems.
    """
    first = _columns(values[0])
    if first is None or all(value == values[0] for value in values):
        return values[0]
    others = [_columns(value) or {} for value in values[1:]]
    columns = {}
    for column, about in first.items():
        same = [other.get(column, {}) for other in others]
        for name, other in zip(names[1:], same, strict=True):
            _require_one_system(column, about, other, name=name, first=names[0])
        columns[column] = _common(about, same)
    return json.dumps(json.loads(values[0] or b"") | {"columns": columns}).encode()


def _columns(value: bytes | None) -> dict[str, dict[str, Any]] | None:
    """Return what is said about each column; None if this is no GeoParquet."""
    try:
        columns = json.loads(value or b"")["columns"]
    except (ValueError, TypeError, KeyError):
        return None
    is_geo = isinstance(columns, dict) and all(isinstance(about, dict) for about in columns.values())
    return columns if is_geo else None


def _require_one_system(
    column: str, one: Mapping[str, Any], other: Mapping[str, Any], *, name: str, first: str
) -> None:
    for field in _SYSTEM if other else ():
        if _meaning(one, field) != _meaning(other, field):
            raise BadInputError(
                f"{name}: its geometries in {column} have another {field} than those of {first}",
                ["bring the coordinates of all files to one system first"],
                code="mixed-coordinates",
            )


def _meaning(about: Mapping[str, Any], field: str) -> Any:
    value = about.get(field, _USUAL.get(field))
    return value.get("id", value) if isinstance(value, dict) else value


def _common(about: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    every = [about, *others]
    kept = {
        field: value
        for field, value in about.items()
        if field in _SYSTEM or all(other.get(field) == value for other in others)
    }
    types = [each.get(_TYPES) for each in every]
    known = sorted({kind for each in types for kind in each or ()}) if all(types) else []
    return kept | {_TYPES: known}
