"""Platforms' fees and start-up times."""

from __future__ import annotations

import re

import pytest

from planner.spark.model.platform_fees import shipped_fees


@pytest.mark.parametrize("name", sorted(shipped_fees()))
def test_every_figure_has_a_date_and_a_source(name: str) -> None:
    fee = shipped_fees()[name]
    assert re.fullmatch(r"20\d\d-\d\d", fee.as_of) and fee.source and fee.evidence in ("stated", "recalled")
    assert (fee.startup_s is not None) == bool(re.search(r"20\d\d-\d\d", fee.startup_source))


def test_a_run_shorter_than_the_least_charge_costs_as_much_as_that() -> None:
    glue = shipped_fees()["Glue"]
    hourly = glue.usd_per_node_hour(vcpus=4, memory_bytes=16 << 30, on_demand_usd_per_hour=0.2)
    assert hourly == pytest.approx(0.44)
    assert glue.minimum_s == 60
