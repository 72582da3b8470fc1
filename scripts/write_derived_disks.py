"""Write the rates of local disks that are computed from similar disks into the disks.csv of every catalog.

Usage: python scripts/write_derived_disks.py [--check | --accuracy]; --check compares the files instead of writing them,
--accuracy leaves out each known rate in turn and compares it with its computed one.
"""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path

import pandas as pd

from planner.catalog.columns import DERIVED_SOURCE
from planner.catalog.disk_derivation import MODES, accuracy, derive_all, disk_table, factors, ranges
from planner.catalog.loading import load_catalog
from planner.config.paths import catalogs_directory

CATALOGS = ("aws", "azure", "gcp", "oci")

METHODS = {
    "near": "computed from the operations stated, and disks of the same generation",
    "far": "computed from the operations stated, and the most similar disks of another generation",
    "number": "computed from one disk, times their number",
    "twin": "as stated of types with the same disks and the same rate in the other direction",
}


_ADDED = (
    ("disks", "mode"),
    ("low_bytes_per_s", "bytes_per_s"),
    ("high_bytes_per_s", "low_bytes_per_s"),
    ("note", "method"),
)
"""Columns that a file without computed rows may lack, each with the one before it."""


def derived_rows(table: pd.DataFrame, spread: pd.DataFrame, *, as_of: str) -> list[dict[str, str]]:
    """Return rows of disks.csv for all types of a cloud whose rates can be computed."""
    rows = []
    for found in derive_all(table).itertuples():
        low, high = spread.loc[found.basis, ["low", "high"]]
        rows.append(
            {
                "instance_type": found.instance_type,
                "mode": MODES[found.mode],
                "disks": f"{table.at[found.instance_type, 'disks']:.0f}",
                "bytes_per_s": _rounded(found.bytes_per_s),
                "low_bytes_per_s": _rounded(found.bytes_per_s * low),
                "high_bytes_per_s": _rounded(found.bytes_per_s * high),
                "aggregate": "mean",
                "method": METHODS[found.basis],
                "note": f"like {found.like}",
                "evidence": found.evidence,
                "source": DERIVED_SOURCE,
                "as_of": as_of,
            }
        )
    return rows


def _rounded(bytes_per_s: float) -> str:
    """Return a rate to four digits: more would overstate its precision."""
    return f"{float(f'{bytes_per_s:.4g}'):.0f}"


def text(path: Path, rows: list[dict[str, str]]) -> str:
    """Return the expected text of a disks.csv: its own rows, then the computed ones."""
    with path.open(newline="", encoding="utf-8") as file:
        own = [row for row in csv.DictReader(file) if row["source"] != DERIVED_SOURCE]
    columns = list(own[0])
    for column, after in _ADDED if rows else ():
        if column not in columns:
            columns.insert(columns.index(after) + 1, column)
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows([*own, *rows])
    return out.getvalue()


def main() -> int:
    """Write the files, report whether they are current, or print the errors of computed rates."""
    tables = {name: disk_table(load_catalog(name)) for name in CATALOGS}
    if "--accuracy" in sys.argv:
        print(accuracy(factors(tables)).round(4).to_string())
        return 0
    spread, current = ranges(factors(tables)), True
    for name, table in tables.items():
        path = catalogs_directory() / name / "disks.csv"
        own = load_catalog(name).tables["disks"]
        as_of = str(own["as_of"][own["source"] != DERIVED_SOURCE].max())
        wanted = text(path, derived_rows(table, spread, as_of=as_of))
        if "--check" in sys.argv:
            current &= path.read_text("utf-8") == wanted
        else:
            path.write_text(wanted, "utf-8")
    return 0 if current else 1


if __name__ == "__main__":
    sys.exit(main())
