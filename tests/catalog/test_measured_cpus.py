"""Measured speed of one core, in the GHz that calibration counts in."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from planner.catalog import load_catalog
from planner.catalog.evidence_spreads import measured_clocks_ghz
from planner.errors import BadInputError

ROOT = Path(__file__).parents[2]


def test_a_core_that_compresses_130_mb_per_s_counts_as_2_ghz(tmp_path: Path) -> None:
    path = tmp_path / "cpu_measured.csv"
    path.write_text("cloud,instance_type,zstd1_bytes_per_s,as_of\naws,a,130000000,2024-06-04\n")
    assert measured_clocks_ghz("aws", path) == {"a": pytest.approx(130 / 65)}
    assert measured_clocks_ghz("gcp", path) == {}


def test_a_broken_figure_is_named(tmp_path: Path) -> None:
    path = tmp_path / "cpu_measured.csv"
    path.write_text("cloud,instance_type,zstd1_bytes_per_s,as_of\naws,a,-1,2024-06-04\n")
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
