"""Facts about each cloud as data: `planner/clouds/facts/CLOUD.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

_FOLDER: Final = Path(__file__).parents[1] / "facts"
Row = TypeVar("Row")


@cache
def facts_of(cloud: str) -> Mapping[str, Any]:
    """Return the tables of a cloud's file by name."""
    return tomllib.loads((_FOLDER / f"{cloud}.toml").read_text(encoding="utf-8"))


def table_of(cloud: str, name: str, row: type[Row]) -> Mapping[str, Row]:
    """Return a table of a cloud's file, each of its rows as a `row`. Raises TypeError for a field that `row` lacks."""
    return {key: row(**values) for key, values in facts_of(cloud)[name].items()}
