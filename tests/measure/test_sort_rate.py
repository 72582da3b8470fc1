"""The rate of sorting in memory."""

from __future__ import annotations

import json

import pytest

from planner.errors import BadInputError
from planner.measure.sort_rate import bench_sort


def test_the_rate_is_per_vcpu_and_the_median_of_the_repeats() -> None:
    found = bench_sort(data_bytes=10_000_050, threads=2, repeats=3, machine_type="m.large")
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (told["instrument"], told["data_bytes"], told["threads"]) == ("sortbench", 10_000_000, 2)
    assert len(told["rates_bytes_per_s"]) == told["repeats"] == 3
    assert told["bytes_per_s"] == sorted(told["rates_bytes_per_s"])[1]
    assert told["bytes_per_s_per_vcpu"] * 2 == told["bytes_per_s"] > 0


@pytest.mark.parametrize("arguments", [{"data_bytes": 99}, {"threads": 0}, {"repeats": 0}])
def test_impossible_arguments_are_refused(arguments: dict[str, int]) -> None:
    with pytest.raises(BadInputError):
        bench_sort(**{"data_bytes": 1000, "threads": 1, "repeats": 1, **arguments})


def test_too_little_memory_is_said() -> None:
    with pytest.raises(BadInputError, match="smaller --size"):
        bench_sort(data_bytes=10**17, threads=1)
