"""The trial of the sort's own path on the real disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.errors import IoFailureError
from planner.measurement.instruments.machine import free_bytes, measure_machine, sample_size


@pytest.mark.parametrize("copies", [1, 2])
def test_a_trial_measures_and_leaves_nothing(tmp_path: Path, copies: int) -> None:
    machine = measure_machine(tmp_path, sample_bytes=2_000_000, copies=copies, repeats=1)
    assert machine.read_bytes_per_s > 0
    assert machine.write_bytes_per_s > 0
    assert machine.vcpu >= 1
    assert machine.disk_free_bytes > 0
    assert list(tmp_path.iterdir()) == []


def test_a_sample_is_half_the_data_within_bounds() -> None:
    assert sample_size(10**9) == 500_000_000
    assert sample_size(10**3) == 64_000_000
    assert sample_size(10**13) == 512_000_000
    assert sample_size(999_999_999) % 100 == 0


def test_a_directory_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(IoFailureError, match="name a directory"):
        free_bytes(tmp_path / "gone")
