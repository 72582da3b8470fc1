"""The rate of sorting in memory."""

from __future__ import annotations

import json

import pytest

from planner.errors import BadInputError
from planner.measurement.instruments.sort_rate import bench_sort


def test_the_rate_is_per_vcpu_and_the_median_of_the_repeats() -> None:
    rate = bench_sort(data_bytes=10_000_050, threads=2, repeats=3, machine_type="m.large")
    document = json.loads(json.dumps(rate.to_dict(), allow_nan=False))
    assert (document["instrument"], document["data_bytes"], document["threads"]) == ("sortbench", 10_000_000, 2)
    assert len(document["rates_bytes_per_s"]) == document["repeats"] == 3
    assert document["bytes_per_s"] == sorted(document["rates_bytes_per_s"])[1]
    assert document["bytes_per_s_per_vcpu"] * 2 == document["bytes_per_s"] > 0


@pytest.mark.parametrize("arguments", [{"data_bytes": 99}, {"threads": 0}, {"repeats": 0}])
def test_impossible_arguments_are_refused(arguments: dict[str, int]) -> None:
    with pytest.raises(BadInputError):
        bench_sort(**{"data_bytes": 1000, "threads": 1, "repeats": 1, **arguments})


def test_too_little_memory_is_said() -> None:
    with pytest.raises(BadInputError, match="smaller --size"):
        bench_sort(data_bytes=10**17, threads=1)
