"""Rates of local disks computed from similar disks: on made-up tables and on the shipped catalogs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalog import load_catalog
from planner.catalog.disk_derivation import accuracy, derive_all, disk_table, factors, generation_of, leave_out, line_of

ROOT = Path(__file__).resolve().parents[2]
UNKNOWN = {"read_rate": np.nan, "write_rate": np.nan, "read_evidence": "", "write_evidence": ""}


def disks(name: str, *, reads: float = np.nan, writes: float = np.nan, **given: Any) -> dict[str, Any]:
    """Return a table row: a type with one 1-TB disk, its figures unknown unless given."""
    family = name.partition(".")[0]
    named = {"family": family, "generation": generation_of(family), "line": line_of(family)}
    shape = {**named, "kind": "nvme", "disks": 1.0, "disk_bytes": 1e12}
    stated = {"read_operations": reads, "write_operations": writes}
    return {"instance_type": name, **shape, **stated, **UNKNOWN, **given}


def measured(read: float, write: float, evidence: str = "measured") -> dict[str, Any]:
    """Return the known figures of a type with these rates."""
    return {"read_rate": read, "write_rate": write, "read_evidence": evidence, "write_evidence": evidence}


def table(*rows: dict[str, Any]) -> pd.DataFrame:
    """Return a table like that of `disk_table`."""
    return pd.DataFrame(rows).set_index("instance_type")


def derived(*rows: dict[str, Any]) -> pd.DataFrame:
    """Return the computed rates by type and mode."""
    return derive_all(table(*rows)).set_index(["instance_type", "mode"])


@given(times=st.floats(0.01, 100), disks_of_it=st.integers(1, 24))
def test_a_rate_is_the_stated_operations_times_the_bytes_of_each_as_measured(times: float, disks_of_it: int) -> None:
    known = disks("m6gd.large", reads=1e5, writes=5e4, **measured(6e8, 2e8))
    wanted = disks("m6gd.xlarge", reads=1e5 * times, writes=5e4 * times, disks=float(disks_of_it))
    found = derived(known, wanted)
    assert found.at[("m6gd.xlarge", "read"), "bytes_per_s"] == pytest.approx(6e8 * times)
    assert found.at[("m6gd.xlarge", "write"), "bytes_per_s"] == pytest.approx(2e8 * times)


def test_disks_of_the_own_generation_come_before_more_similar_ones() -> None:
    own = disks("m6gd.large", reads=1e5, writes=5e4, **measured(6e8, 2e8))
    stranger = disks("i9.large", reads=2e5, writes=2e5, **measured(9e8, 9e8))
    found = derived(own, stranger, disks("c6gd.large", reads=2e5, writes=2e5))
    assert found.at[("c6gd.large", "read"), "like"] == "m6gd.large"
    assert found.at[("c6gd.large", "read"), "basis"] == "near"


def test_disks_of_another_generation_are_far_even_if_the_cloud_states_the_same_of_them() -> None:
    known = disks("m6gd.large", reads=1e5, writes=5e4, **measured(6e8, 2e8))
    found = derived(known, disks("c6gd.large", reads=1e5, writes=5e4), disks("m7gd.large", reads=1e5, writes=5e4))
    assert found.at[("c6gd.large", "read"), "basis"] == "near"
    assert found.at[("m7gd.large", "read"), "basis"] == "far"


def test_the_same_line_of_processors_comes_before_the_same_make() -> None:
    alike = disks("m6id.large", reads=1e5, writes=5e4, **measured(5e8, 2e8))
    own = disks("m6gd.large", reads=1e5, writes=4e4, **measured(6e8, 3e8))
    found = derived(alike, own, disks("m8gd.large", reads=1e5, writes=5e4))
    assert found.at[("m8gd.large", "read"), "like"] == "m6gd.large"


def test_the_same_make_comes_before_disks_of_the_same_size() -> None:
    alike = disks("i9.large", reads=16e5, writes=8e5, disks=16.0, **measured(8e9, 4e9))
    as_large = disks("i8.large", reads=1e5, writes=6e4, **measured(4e8, 3e8))
    found = derived(alike, as_large, disks("m6gd.large", reads=1e5, writes=5e4))
    assert found.at[("m6gd.large", "read"), "like"] == "i9.large"


def test_disks_without_stated_operations_scale_with_their_number() -> None:
    known = disks("d2.xlarge", kind="hdd", disks=3.0, **measured(6e8, 3e8, "recalled"))
    found = derived(known, disks("d2.8xlarge", kind="hdd", disks=24.0), disks("d2.odd", kind="ssd", disks=24.0))
    assert found.at[("d2.8xlarge", "read"), "bytes_per_s"] == pytest.approx(48e8)
    assert found.at[("d2.8xlarge", "read"), "evidence"] == "recalled"
    assert found.at[("d2.8xlarge", "read"), "basis"] == "number"
    assert "d2.odd" not in found.index.get_level_values(0)


def test_writing_is_what_the_cloud_states_of_the_same_disks() -> None:
    both = disks("D6.large", kind="", **measured(4e8, 1e8, "spec"))
    reading = disks("D5.large", kind="", read_rate=4e8, read_evidence="spec")
    others = [disks("D4.large", kind="", disks=2.0), disks("D3.large", kind=""), disks("D2.large", kind="ssd")]
    slower = {"read_rate": 3e8, "read_evidence": "spec"}
    found = derived(both, reading, *({**row, **slower} for row in others))
    assert set(found.index) == {("D5.large", "write")}
    assert found.at[("D5.large", "write"), "bytes_per_s"] == pytest.approx(1e8)
    assert found.at[("D5.large", "write"), "evidence"] == "derived"


def test_nothing_is_made_of_nothing() -> None:
    assert derived(disks("x1.large"), disks("m6gd.large", reads=1e5, writes=5e4)).empty


def test_what_is_left_out_takes_no_part() -> None:
    rows = [disks(f"m6gd.{n}", reads=1e5, writes=5e4, **measured(n * 1e8, 1e8)) for n in (1, 2)]
    twin = disks("i9.large", reads=1e5, writes=5e4, **measured(5e8, 1e8))
    found = leave_out(table(*rows, twin), by="instance_type").set_index(["instance_type", "mode"])
    assert found.at[("m6gd.1", "read"), "bytes_per_s"] == pytest.approx(2e8)
    assert found.at[("m6gd.1", "read"), "observed_bytes_per_s"] == pytest.approx(1e8)
    assert set(leave_out(table(*rows, twin), by="family")["like"]) == {"i9.large", "m6gd.1"}
    assert leave_out(table(*rows, twin), by="make").empty


@pytest.mark.parametrize(
    ("family", "generation"),
    [
        ("m6gd", "6gd"),
        ("c6gd", "6gd"),
        ("x2iedn", "2ied"),
        ("i4i", "i4i"),
        ("c3", "c3"),
        ("VM.DenseIO.E5", "DenseIO.E5"),
        ("BM.DenseIO.E5.128", "DenseIO.E5"),
    ],
)
def test_families_with_disks_of_one_make_are_one_generation(family: str, generation: str) -> None:
    assert generation_of(family) == generation


def test_a_new_generation_follows_its_line_of_processors_and_its_range_is_that_of_generations() -> None:
    catalog = load_catalog("aws")
    table = disk_table(catalog)
    found = derive_all(table).set_index(["instance_type", "mode"])
    for family, line in (("m8gd", "gd."), ("m9gd", "gd."), ("m8id", "id."), ("m7gd", "gd.")):
        of = found[[name.startswith(f"{family}.") for name, _ in found.index]]
        assert not of.empty and all(line in like for like in of["like"]) and set(of["basis"]) == {"far"}
    left = accuracy(factors({"aws": table})).loc[:, "aws", :]
    assert left.at[("generation", "far"), "in_range"] > 0.85


def test_known_rates_are_found_again_within_their_range() -> None:
    found = accuracy(factors({"aws": disk_table(load_catalog("aws"))})).loc[:, "aws", :]
    assert found.at[("instance_type", "near"), "median_error"] < 0.02
    assert found.at[("family", "near"), "median_error"] < 0.05
    assert found.at[("make", "far"), "median_error"] < 0.1
    for left_out, basis in (("instance_type", "near"), ("family", "near"), ("make", "far")):
        assert found.at[(left_out, basis), "in_range"] > 0.85


def test_the_shipped_rates_are_current() -> None:
    script = ROOT / "scripts" / "write_derived_disks.py"
    assert subprocess.run([sys.executable, script, "--check"], check=False).returncode == 0
