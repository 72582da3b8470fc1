"""Pairs of claimed and observed rates become eight equally likely slowdowns, by hand and for the shipped file."""

from __future__ import annotations

import csv
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from planner.catalog import load_catalog
from planner.catalog.shipped_tables import (
    COMPARISONS,
    GAPS,
    Gap,
    comparisons,
    load_spreads,
    measured_clocks_ghz,
    nearest_gap,
    slowdowns_by_claim,
)
from planner.catalog.tables import read_table
from planner.config.paths import catalogs_directory
from planner.errors import BadInputError
from tests.marks import QUICK_SOAK

ROOT = Path(__file__).resolve().parents[2]


def pairs(path: Path, *observed: float) -> Path:
    rows = [f"network,spec,aws,any.large,100,{rate},a page,a trial" for rate in observed]
    path.write_text("\n".join([",".join(COMPARISONS.names), *rows]) + "\n")
    return path


def test_sixteen_pairs_make_eight_means_of_two(tmp_path: Path) -> None:
    """Claimed 100, observed 100 / 1, 100 / 2 ... 100 / 16: slowdowns 1 to 16, two by two 1.5, 3.5 ... 15.5."""
    path = pairs(tmp_path / "pairs.csv", *(100 / slowdown for slowdown in range(16, 0, -1)))
    count, slowdowns = slowdowns_by_claim(read_table(path, COMPARISONS))["network", "spec"]
    assert count == 16
    assert slowdowns.tolist() == pytest.approx([1.5, 3.5, 5.5, 7.5, 9.5, 11.5, 13.5, 15.5])


def test_a_value_on_a_border_counts_in_part_on_either_side(tmp_path: Path) -> None:
    """An eighth of the three values 1, 2 and 3 is 0.375 of a value: the third eighth is 0.25 of the first and 0.125 of
    the second, (0.25 x 1 + 0.125 x 2) / 0.375 = 4/3.
    """
    path = pairs(tmp_path / "pairs.csv", 100, 50, 100 / 3)
    _, slowdowns = slowdowns_by_claim(read_table(path, COMPARISONS))["network", "spec"]
    assert slowdowns[2] == pytest.approx(4 / 3)
    assert slowdowns.mean() == pytest.approx(2)


def test_the_means_of_the_shipped_values_are_those_of_the_pairs() -> None:
    table = comparisons()
    ratios = table["claimed_bytes_per_s"] / table["observed_bytes_per_s"]
    for (resource, evidence), slowdowns in load_spreads().items():
        of_claim = (table["resource"] == resource) & (table["evidence"] == evidence)
        assert slowdowns.mean() == pytest.approx(ratios[of_claim].mean(), abs=1e-4)
        assert (np.diff(slowdowns) >= 0).all()


def test_the_shipped_values_are_current() -> None:
    script = ROOT / "scripts" / "write_evidence_spreads.py"
    assert subprocess.run([sys.executable, script, "--check"], check=False).returncode == 0


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


@pytest.mark.parametrize(
    "shape",
    [pytest.param(("indy", "bursting", 12, 5e9), marks=QUICK_SOAK, id="bursting"), ("daytona", "steady", 4, 5e9)],
)
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


def test_a_core_that_compresses_130_mb_per_s_counts_as_2_ghz(tmp_path: Path) -> None:
    path = tmp_path / "cpu_measured.csv"
    path.write_text("cloud,instance_type,zstd1_bytes_per_s,threads_per_core,as_of\naws,a,130000000,2,2024-06-04\n")
    assert measured_clocks_ghz("aws", path) == {"a": pytest.approx(130 / 65)}
    assert measured_clocks_ghz("gcp", path) == {}


def test_a_broken_figure_is_named(tmp_path: Path) -> None:
    path = tmp_path / "cpu_measured.csv"
    path.write_text("cloud,instance_type,zstd1_bytes_per_s,threads_per_core,as_of\naws,a,-1,2,2024-06-04\n")
    with pytest.raises(BadInputError, match="cpu_measured"):
        measured_clocks_ghz("aws", path)


def test_measured_speed_agrees_with_stated_clocks() -> None:
    with (ROOT / "benchmarks" / "sizing" / "data" / "specs.csv").open(newline="") as file:
        stated = {row["type"]: float(row["ghz"]) for row in csv.DictReader(file)}
    measured = measured_clocks_ghz("aws")
    ratio = np.array([measured[name] / ghz for name, ghz in stated.items()])
    assert np.median(ratio) == pytest.approx(1, abs=0.03)
    assert ((ratio > 0.93) & (ratio < 1.07)).sum() == len(ratio) - 1


@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp"])
def test_every_measured_type_is_in_the_catalog(cloud: str) -> None:
    assert measured_clocks_ghz(cloud).keys() <= set(load_catalog(cloud).instances.instance_type.tolist())
