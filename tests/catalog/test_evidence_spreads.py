"""Pairs of claimed and observed rates become eight equally likely slowdowns, by hand and for the shipped file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from planner.catalog.evidence_spreads import COMPARISONS, comparisons, load_spreads, slowdowns_by_claim
from planner.catalog.tables import read_table

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
    """Of three, 1, 2 and 3, an eighth is 0.375 of a value: the third eighth is 0.25 of the first and 0.125 of the
    second, (0.25 x 1 + 0.125 x 2) / 0.375 = 4/3.
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
