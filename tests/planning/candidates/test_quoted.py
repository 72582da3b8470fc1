"""A sort in the units of the field, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner import recommend
from planner.planning.candidates.quoted import with_quoted
from planner.schemas.plan import Candidate, Plan


def minute_sort() -> Plan:
    """1,353 GB on 66 nodes of TritonSort: 20.5 GB x (1/1.25e9 + 1/1.434e9) s = 30.696 s for each node."""
    return recommend(
        data="1353GB", model="minutesort", catalogs=("tritonsort-2011",), instances=("dl380g6",), nodes=66, paper=True
    ).plan


def best_of(plan: Plan) -> Candidate:
    assert plan.best is not None
    return plan.best


def test_rates_and_records_for_each_joule() -> None:
    seconds = 20.5e9 * (1 / 1.25e9 + 1 / 1.434e9)
    quoted = best_of(minute_sort()).quoted
    assert quoted is not None
    assert quoted.tb_per_min == pytest.approx(1.353 / seconds * 60) == pytest.approx(2.6447, rel=1e-4)
    assert quoted.mb_per_s_per_node == pytest.approx(20_500 / seconds) == pytest.approx(667.85, rel=1e-4)
    joules = (66 * 330 + 2 * 1300) * seconds  # 66 nodes need two switches of 52 ports
    assert quoted.records_per_j == pytest.approx(13.53e9 / joules)
    assert quoted.usd_per_tb == quoted.usd_per_tb_total == 0


def test_dollars_for_each_terabyte_and_joules_unknown() -> None:
    """SoCC 2015's estimate of i2.8xlarge in a placement group: $324.52 for 100 TB."""
    best = best_of(
        recommend(
            data="100TB", model="indy", catalogs=("aws-2014",), instances=("i2.8xlarge",), nodes=178, paper=True
        ).plan
    )
    assert best.quoted is not None
    assert best.quoted.usd_per_tb == pytest.approx(3.2452, rel=1e-4)
    assert best.quoted.records_per_j is None


def test_a_job_that_takes_no_time_has_none() -> None:
    best = best_of(minute_sort())
    idle = replace(best, quoted=None, time_s=replace(best.time_s, expected=0.0))
    assert with_quoted(idle, data_bytes=1e9).quoted is None


def test_frames_and_json_have_them() -> None:
    from planner.report.frames import candidates_frame

    plan = minute_sort()
    best = best_of(plan)
    assert best.quoted is not None
    assert candidates_frame(plan).tb_per_min[0] == best.quoted.tb_per_min
    assert Plan.from_json(plan.to_json()) == plan
