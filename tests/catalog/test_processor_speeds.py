"""Speeds of virtual CPUs: measured on the type, its family or its generation, with the threads of a core."""

from __future__ import annotations

import numpy as np
import pytest

from planner.catalog import load_catalog
from planner.catalog.processors.speeds import THREAD_SHARE, processor_speeds
from planner.catalog.shipped_tables import measured_cores


def test_two_threads_of_a_core_each_count_for_two_thirds_of_it() -> None:
    """m5.8xlarge has two threads to a core, c8g.8xlarge one."""
    cores = {core.instance_type: core for core in measured_cores() if core.cloud == "aws"}
    assert (cores["m5.8xlarge"].threads, cores["c8g.8xlarge"].threads) == (2, 1)
    speeds = processor_speeds("aws", np.array(["m5.8xlarge", "c8g.8xlarge"]), np.array(["m5", "c8g"]))
    expected = [cores["m5.8xlarge"].zstd1_bytes_per_s * THREAD_SHARE, cores["c8g.8xlarge"].zstd1_bytes_per_s]
    assert speeds.bytes_per_s.tolist() == pytest.approx(expected)
    assert speeds.basis.tolist() == ["type", "type"]


def test_a_type_without_its_own_measurement_takes_that_of_its_family_then_of_its_generation_then_none() -> None:
    types = np.array(["m9g.8xlarge", "m9g.of-no-measured-size", "c9g.8xlarge", "mac-m4.metal"])
    speeds = processor_speeds("aws", types, np.array(["m9g", "m9g", "c9g", "mac-m4"]))
    assert speeds.basis.tolist() == ["type", "family", "generation", ""]
    assert speeds.bytes_per_s[:3].tolist() == pytest.approx([speeds.bytes_per_s[0]] * 3)
    assert np.isnan(speeds.bytes_per_s[3])
    assert (np.diff(speeds.sigma) > 0).all()


@pytest.mark.parametrize(("cloud", "share"), [("aws", 0.99), ("gcp", 0.9), ("azure", 0.95), ("oci", 0.0)])
def test_most_types_of_the_shipped_catalogs_have_a_speed(cloud: str, share: float) -> None:
    speeds = load_catalog(cloud).processor_speeds
    assert np.isfinite(speeds.bytes_per_s).mean() >= share
    assert (speeds.sigma > 0).all()


def test_a_generation_left_out_is_foreseen_within_the_range_of_its_family(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of types planned by others of their generation, nine in ten or more lie within the stated range."""
    catalog = load_catalog("aws")
    known = catalog.processor_speeds.basis == "type"
    truth, families = catalog.processor_speeds.bytes_per_s[known], catalog.instances.family[known]
    names, held = catalog.instances.cloud_type[known], []
    for family in sorted(set(families.tolist())):
        hidden = np.where(families == family, np.char.add(names, "-hidden"), names)
        foreseen = processor_speeds("aws", hidden, np.where(families == family, "", families))
        rows = (families == family) & (foreseen.basis == "generation")
        held += (np.abs(np.log(truth / foreseen.bytes_per_s)) < 1.645 * foreseen.sigma)[rows].tolist()
    assert len(held) > 900
    assert np.mean(held) >= 0.9
