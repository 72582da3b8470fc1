"""Catalogs refreshed by the user from a cloud's API: shapes and prices that replace the shipped ones.

They are in the user's data directory, each version next to its predecessor; `current` names the active one and is
replaced atomically. They contain only data of a cloud's API: blank cells are filled from the shipped row of the same
type, regions that were not read keep their shipped prices, and measurements, volumes and the rest are the shipped ones.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from planner.catalog.columns import EVIDENCE
from planner.catalog.manifest import FILE_NAME, Manifest
from planner.catalog.tables import Table
from planner.config.paths import catalogs_directory, user_directory

REFRESHABLE: Final = ("aws", "azure", "gcp")
"""The clouds, and catalogs, that can be refreshed."""
PUBLIC: Final = ("aws", "azure")
"""Clouds with public price lists."""
CURRENT: Final = "current"


def refresh_command(name: str, pricing: str = "on-demand", *, region: str = "") -> str:
    """Return the command that refreshes a catalog's prices, without an account for a public list; '' for none."""
    if name not in REFRESHABLE:
        return ""
    where = f" --region {shlex.quote(region)}" if region else ""
    public = " --public" if name in PUBLIC and (name, pricing) != ("aws", "spot") else ""
    return f"planner catalog refresh --cloud {name}{where}{public}"


def refreshed_directory(name: str) -> Path:
    """Return the directory of the versions of a refreshed catalog; it need not exist."""
    return user_directory("catalogs") / name


def current_version(directory: Path) -> Path | None:
    """Return the directory that replaces a shipped catalog's shapes and prices, None without one."""
    if directory.parent != catalogs_directory():
        return None
    current = refreshed_directory(directory.name) / CURRENT
    return current.resolve() if (current / FILE_NAME).is_file() else None


def lay_over(
    tables: Mapping[str, Table], refreshed: Mapping[str, Table], *, manifest: Manifest, newer: Manifest
) -> tuple[dict[str, Table], Manifest]:
    """Return a shipped catalog's tables and head with the refreshed shapes and prices in place of its own."""
    shapes = _add_rest(
        _fill_blanks(refreshed["instances"], tables["instances"]), tables["instances"], ("instance_type",)
    )
    shapes = _listed_generations(shapes, tables["previous_generations"])
    prices = _add_rest(refreshed["prices"], tables["prices"], ("region",))
    head = replace(manifest, prices_as_of=newer.prices_as_of, sources={**manifest.sources, **newer.sources})
    return {**tables, "instances": shapes, "prices": prices}, head


def _listed_generations(shapes: Table, listed: Table) -> Table:
    """Take current types from the vendor's list if the catalog has it: EC2's API lists m5 as previous."""
    if not len(listed):
        return shapes
    current = ~np.isin(shapes["family"], listed["family"])
    return replace(shapes, columns={**shapes.columns, "current_generation": current})


def _fill_blanks(newer: Table, older: Table) -> Table:
    """Fill blank cells from the older row of the same type; a row with values of both has the weaker evidence."""
    rows = {name: row for row, name in enumerate(older["instance_type"].tolist())}
    at = np.array([rows.get(name, -1) for name in newer["instance_type"].tolist()], dtype=int)
    columns, helped = dict(newer.columns), np.zeros(len(at), bool)
    for name, values in newer.columns.items():
        blank = (np.isnan(values) if values.dtype.kind == "f" else values == "") & (at >= 0)
        if values.dtype.kind not in "fU" or not blank.any() or not len(older):
            continue
        theirs = older[name][at]
        blank &= ~(np.isnan(theirs) if theirs.dtype.kind == "f" else theirs == "")
        columns[name] = np.where(blank, theirs, values)
        helped |= blank
    pairs = zip(newer["evidence"].tolist(), older["evidence"][at].tolist() if len(older) else [], strict=False)
    weaker = np.array([max(pair, key=EVIDENCE.index) for pair in pairs], dtype=np.str_)
    if helped.any():
        columns["evidence"] = np.where(helped, weaker, newer["evidence"])
    return replace(newer, columns=columns)


def _add_rest(newer: Table, older: Table, key: Sequence[str]) -> Table:
    """Return the newer rows and the older rows with other keys."""
    listed = {_key(newer, row, key) for row in range(len(newer))}
    remaining = [row for row in range(len(older)) if _key(older, row, key) not in listed]
    columns = {name: np.concatenate([values, older[name][remaining]]) for name, values in newer.columns.items()}
    return replace(newer, columns=columns, lines=[*newer.lines, *(older.lines[row] for row in remaining)])


def _key(table: Table, row: int, names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(table[name][row].item() for name in names)
