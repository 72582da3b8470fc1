"""The formulas of a page: numbers for each byte, by hand; what cannot be written so is refused in words."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import planner
from planner.cost_model.model_reader import load_engine
from planner.errors import BadInputError

Make = Callable[..., str]


def test_a_row_has_seconds_and_nodes_for_each_byte_by_hand(make_catalog: Make) -> None:
    """Under indy a disk of 2 GB/s either way reads and writes each byte once: 1/2e9 + 1/2e9 = 1e-9 s a phase. Both
    groups share a disk of 1 TB less 2% for the file system: (1 + 1) / 0.98e12 nodes a byte.
    """
    catalog = make_catalog({"a": {"read": 2e9, "write": 2e9}})
    answer = planner.recommend("10TB", model="indy", catalog=[catalog], engine="ideal")
    formulas = answer.formulas()
    (grid,) = formulas["grids"]
    row = grid["rows"][0]
    assert [phase["local_disks"]["node_s"] for phase in row["phases"]] == pytest.approx([1e-9, 1e-9])
    used = {use["spread"] for phase in row["phases"] for use in phase.values()}
    assert used == set(range(len(grid["spreads"]))), "every use has a spread of the list"
    assert answer.best is not None
    needed, capacity = sum(answer.best.needed_bytes.values()), answer.best.capacity_bytes["data"]
    assert capacity is not None
    assert row["disks"] == pytest.approx(needed * answer.best.nodes / capacity / 1e13)
    assert (row["type"], row["price"]) == ("a", answer.best.price_usd_per_hour)
    assert formulas["request"]["data_bytes"] == 10**13 and grid["engine"] is None


def test_what_sends_takes_its_share_of_the_processors() -> None:
    """Of the phase's processor seconds for a byte, by the engine's file: to partition it, and to send it."""
    engine = load_engine("ray")
    send_s, partition_s = engine.send_s_per_byte, engine.cpu_s_per_byte["partition"]
    (grid,) = planner.recommend("10TB", model="indy", instance="i4i.4xlarge", engine="ray").formulas()["grids"]
    assert [phase["sent_share"] for phase in grid["phases"]] == [pytest.approx(send_s / (send_s + partition_s)), 0]


def test_a_network_that_nobody_measured_leaves_one_node_where_that_is_asked() -> None:
    for evidence, most in (("any", None), ("spec", None), ("measured", 1.0)):
        answer = planner.recommend("1TB", model="indy", instance="i4i.4xlarge", evidence=evidence)
        (grid,) = answer.formulas()["grids"]
        assert [(row["most"], row["extrapolated"], row["stated"]) for row in grid["rows"]] == [(most, False, True)]


def test_formulas_are_few_and_plain_json() -> None:
    answer = planner.recommend("100TB")
    formulas = answer.formulas()
    types = {row["type"] for grid in formulas["grids"] for row in grid["rows"]}
    assert {candidate.instance_type for candidate in answer.candidates} <= types and len(types) == 24
    assert len(json.dumps(formulas, allow_nan=False)) < 200_000


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"model": "cloudsort", "instance": "c7*"}, "block volumes"),
        ({"model": "object-store", "instance": "i4i.*"}, "object store"),
        ({"model": "indy", "catalog": "gcp", "pricing": "spot", "interruptions": 0.05}, "spot nodes"),
        ({"model": "indy", "objective": "energy", "assume": {"power:*": 300}}, "energy"),
    ],
)
def test_what_formulas_do_not_hold_for_is_refused(asked: dict[str, Any], reason: str) -> None:
    answer = planner.recommend("10TB", **asked)
    assert answer.best is not None
    with pytest.raises(BadInputError, match=reason):
        answer.formulas()


@pytest.mark.parametrize(("longer", "dearer"), [(1.0012, 1.0), (1.0, 1.0012), (1.01, 1.01)])
def test_a_plan_that_the_formulas_do_not_give_is_refused(longer: float, dearer: float) -> None:
    """So are plans with a profile, and those that were kept while prices changed: a thousandth is too much."""
    answer = planner.recommend("10TB", instance="i4i.8xlarge")
    best = answer.best
    assert best is not None
    slower = replace(
        best,
        time_s=replace(best.time_s, expected=best.time_s.expected * longer),
        cost_usd=replace(best.cost_usd, total=best.cost_usd.total * dearer),
    )
    with pytest.raises(BadInputError, match="with a profile"):
        planner.Recommendation(replace(answer.plan, best=slower, candidates=(slower,))).formulas()
