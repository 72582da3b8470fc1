"""Reasons for a recommendation, in sentences whose numbers can be recomputed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from approvals import Approve

from planner import Recommendation
from planner import recommend as recommend_by
from planner.cost_model.model_reader import load_model
from planner.report.terminal.reasons import explain, reasons
from planner.units import format_duration

recommend = partial(recommend_by, engine="ideal")
"""The sums here are those of the equations alone."""

Make = Callable[..., str]
FAST = {"read": 2e10, "write": 2e10, "vcpu": 64}


def ask(catalog: str, **given: Any) -> Recommendation:
    return recommend(**({"data": "10TB", "model": "indy", "catalogs": (catalog,), "objective": "cost"} | given))


def say(answered: Recommendation) -> str:
    return "\n".join(reasons(answered.plan, answered.contrast()))


def test_what_a_phase_waits_for_and_what_comes_next(make_catalog: Make, approve: Approve) -> None:
    answered = ask(make_catalog({"a": {"read": 1e10, "write": 5e9}}), data="1TB", nodes=10)
    text, best = say(answered), answered.best
    assert best is not None
    first, second = best.phases
    share, disks_s = first.time_s / (first.time_s + second.time_s), first.resources["local_disks"].time_s
    waits = f"({share:.0%} of the sort) waits {format_duration(first.time_s)} for network"
    assert f"Phase “map and shuffle” {waits}; local disks would take {format_duration(disks_s)}." in text
    approve(text)
    assert "Twice as fast, processors" in text
    approve(text)
    assert "Twice the data: time +" in text


def test_reasons_are_of_the_whole_run_as_the_bottleneck_is() -> None:
    """A faster network would save most in the sort alone; generating and validating wait for the disks, too."""
    answered = recommend_by(data="100TB", model="indy", catalogs=["aws"], instances=["i8g.8xlarge"], nodes=55)
    best = answered.best
    assert best is not None and best.bottleneck == "local"
    made = answered.contrast().reliefs["local"]
    assert f"With the local disks twice as fast: time {made.whole_run_s / best.whole_run_s - 1:+.0%}, bill" in say(
        answered
    )
    assert "cpu" not in say(answered)


def test_data_that_would_not_fit_twice(make_catalog: Make, approve: Approve) -> None:
    approve(say(ask(make_catalog({"a": FAST}), nodes=9)))


def test_why_what_storage_alone_suggests_lost(make_catalog: Make, approve: Approve) -> None:
    """`thin` has equally good disks for half the price, and a tenth of the network."""
    types = {"even": FAST, "thin": FAST | {"price": 0.5, "network_baseline_bytes_per_s": 10**8}}
    answered = ask(make_catalog(types))
    assert answered.best is not None
    assert answered.best.instance_type == "even"
    text = say(answered)
    approve(text)
    assert "By storage alone" not in say(ask(make_catalog({"even": FAST})))


def test_what_storage_alone_suggests_may_not_be_feasible(make_catalog: Make, approve: Approve) -> None:
    types = {"even": FAST, "thin": FAST | {"price": 0.5, "network_baseline_bytes_per_s": 10**6}}
    approve(say(ask(make_catalog(types), deadline="1h", max_nodes=50)))


@pytest.mark.parametrize(
    ("objective", "aim"),
    [
        ("balanced", "within 5% of the least total cost"),
        ("cost", "least total cost"),
        ("time", "the fastest"),
        ("energy", "the least energy"),
    ],
)
def test_every_objective_has_words(make_catalog: Make, objective: str, aim: str) -> None:
    answered = ask(make_catalog({"a": FAST}), objective=objective, assume={"power:a": 330})
    assert aim in reasons(answered.plan, answered.contrast())[0]


def test_nothing_feasible_has_no_reasons(make_catalog: Make) -> None:
    assert say(ask(make_catalog({"a": FAST}), deadline=1.0)) == ""


def test_the_verdict_and_the_notes_agree_on_what_is_measured(make_catalog: Make, approve: Approve) -> None:
    """The phases wait for slow measured disks; the network, only assumed, decides nothing, and both texts state so."""
    answered = ask(make_catalog({"a": {"read": 1e8, "write": 1e8}}), assume={"network": "5GB/s"})
    approve(say(answered))
    assert answered.best is not None
    approve(answered.best.warnings)
    waiting = ask(make_catalog({"a": FAST}), assume={"network": "100MB/s"})
    approve(say(waiting))
    assert waiting.best is not None
    assert "network: assumed, not measured" in waiting.best.warnings


def test_what_has_no_bytes_has_no_rate_in_the_sum() -> None:
    """The driver orders tasks: its seconds stand alone, without a quotient of bytes and rate."""
    answered = recommend_by(data="100TB", model="indy", catalogs=["aws"], instances=["i4i.8xlarge"], nodes=1000)
    best = answered.best
    assert best is not None
    lines = explain(answered.plan, load_model("indy")).splitlines()
    driver_s = best.phases[0].resources["driver"].equation_s
    assert f"  handing out tasks: {driver_s:.1f} s" in lines
    assert not [line for line in lines if " 0 B/s" in line]
