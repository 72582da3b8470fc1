"""The table of simulated beside planned sorts: what it says of a cluster, and whether it is current."""

from __future__ import annotations

import csv
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from planner.catalog.evidence_spreads import GAPS, Gap, nearest_gap
from planner.config.paths import catalogs_directory

ROOT = Path(__file__).resolve().parents[2]


def script() -> ModuleType:
    """Return the script that writes the table."""
    spec = importlib.util.spec_from_file_location("gaps", ROOT / "scripts" / "write_simulation_gaps.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows() -> list[dict[str, str]]:
    """Return the shipped table."""
    with (catalogs_directory() / f"{GAPS.name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("shape", [("indy", "bursting", 12, 5e9), ("daytona", "steady", 4, 50e9)])
def test_rows_made_again_are_those_of_the_table(shape: tuple[str, str, int, float]) -> None:
    made = script().row(*shape).split(",")
    (shipped,) = [row for row in rows() if list(row.values())[:4] == made[:4]]
    assert [float(value) for value in made[4:]] == pytest.approx(
        [float(v) for v in list(shipped.values())[4:]], abs=2e-3
    )


def test_the_nearest_cluster_speaks_for_others() -> None:
    (twelve,) = [r for r in rows() if list(r.values())[:4] == ["indy", "bursting", "12", "5000000000"]]
    near = nearest_gap(model="indy", links="bursting", nodes=14, node_bytes=4e9)
    assert near is not None
    assert near.simulated_over_p50 == float(twelve["simulated_over_p50"])
    assert nearest_gap(model="framework", links="steady", nodes=14, node_bytes=4e9) is None


def test_a_gap_is_beyond_the_range_above_the_95_percent_and_as_far_below_the_median() -> None:
    for times, expected in ((1.31, True), (1.29, False), (0.78, False), (0.76, True)):
        assert Gap(simulated_over_p50=times, p95_over_p50=1.3).is_beyond_range == expected
