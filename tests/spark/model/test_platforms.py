"""Platforms' fees and start-up times."""

from __future__ import annotations

import math
import re

import pytest

from planner.spark.model.configuration import executors_of
from planner.spark.model.platforms import platform_called, shipped_platforms


@pytest.mark.parametrize("name", sorted(shipped_platforms()))
def test_every_figure_has_a_date_and_a_source(name: str) -> None:
    fee = shipped_platforms()[name]
    assert re.fullmatch(r"20\d\d-\d\d", fee.as_of) and fee.source and fee.evidence in ("stated", "recalled")
    assert (fee.startup_s is not None) == bool(re.search(r"20\d\d-\d\d", fee.startup_source))


def test_a_run_shorter_than_the_least_charge_costs_as_much_as_that() -> None:
    glue = shipped_platforms()["Glue"]
    hourly = glue.usd_per_node_hour(vcpus=4, memory_bytes=16 << 30, on_demand_usd_per_hour=0.2)
    assert hourly == pytest.approx(0.44)
    assert glue.minimum_s == 60


def test_memory_left_on_a_node_is_what_the_platforms_publish() -> None:
    emr = platform_called("EMR")
    left = {gib: emr.free_mib(gib * 2**30) + emr.master_mib for gib in (16, 32, 64, 128)}
    assert left == {16: 12288, 32: 24576, 64: 57344, 128: 122880}
    databricks = executors_of(platform_called("Databricks"), vcpus=8, memory_bytes=64 * 2**30)
    assert 47016 - 1024 < databricks.heap_mib <= 47016  # the heap that it gives m5.4xlarge, in whole GiB
    unknown = executors_of(platform_called("EMR"), vcpus=8, memory_bytes=math.nan)
    assert unknown.properties(3) == {"spark.executor.instances": "3", "spark.executor.cores": "8"}


def test_a_node_with_little_memory_has_fewer_executors() -> None:
    few = executors_of(platform_called("EMR"), vcpus=32, memory_bytes=4 * 2**30)
    assert (few.per_node, few.heap_mib + few.overhead_mib) == (2, 1024)
    assert executors_of(platform_called("EMR"), vcpus=2, memory_bytes=2**30).per_node == 0
