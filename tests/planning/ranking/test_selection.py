"""The order of several clusters, computed by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import planner
from planner.api.recommend import answer
from planner.arrays import Flags
from planner.cost_model.clusters import energy_j
from planner.planning.candidates.candidates import candidate
from planner.planning.ranking.selection import Cells, Figures, Limit, limit_above, narrowed, order
from planner.schemas.plan import Candidate, Objective, Rule

NODES = np.array([1.0, 2.0, 3.0])
TIMES = np.array([[1000.0, 600.0, 500.0], [900.0, 550.0, 400.0]])
ENERGIES = energy_j(TIMES, nodes=NODES, power_w=np.array([[100.0], [1000.0]]))
CELLS = Cells(
    time_s=TIMES,
    total_usd=np.array([[10.0, 10.2, 12.0], [11.0, 13.0, 20.0]]),
    energy_j=ENERGIES,
    charges_usd=np.zeros(2),
)
SECOND = np.array([[False], [True]])


def only(cells: Cells, good: Flags) -> Cells:
    """Return the cells of which only some are admissible."""
    energies = cells.energy_j if cells.energy_j is not None else cells.time_s
    figures = {"time_s": cells.time_s, "total_usd": cells.total_usd, "energy_j": energies}
    return replace(cells, **{name: np.where(good, figure, np.inf) for name, figure in figures.items()})


def best(cells: Cells, objective: Rule, limit: Limit) -> tuple[int, int] | None:
    """Return row and column of the best cluster of all layouts."""
    picks = cells.best(objective, limit=limit)
    return (int(picks.rows[0]), int(picks.columns[0])) if picks.found[0] else None


def limit_of(cells: Cells) -> Limit:
    """Return the limit above the cheapest cluster of all layouts."""
    return Limit(**{name: float(amount[0]) for name, amount in vars(cells.limits()).items()})


def cells_of(time_s: list[float], total_usd: list[float]) -> Cells:
    """Return the sizes of one layout."""
    return Cells(
        time_s=np.array([time_s]), total_usd=np.array([total_usd]), energy_j=None, charges_usd=np.zeros(len(time_s))
    )


@pytest.mark.parametrize(
    ("objective", "row", "column"), [("balanced", 0, 1), ("cost", 0, 0), ("time", 1, 2), ("energy", 0, 0)]
)
def test_each_objective_has_its_best_cluster(objective: Objective, row: int, column: int) -> None:
    """Balanced takes the fastest within 5% of $10; 3 nodes of 100 W and a switch of 1300 W take 800 kJ in 500 s."""
    assert best(CELLS, objective, Limit(usd=10.5)) == (row, column)


def test_balanced_does_not_pay_for_the_last_percent_of_time() -> None:
    """All of 1,000, 650 and 595 s are within 5% of $10; the second costs less than the third and takes 55 s longer."""
    for second_s, column in ((650.0, 1), (656.0, 2)):
        near = cells_of([1000.0, second_s, 595.0], [10.0, 10.2, 10.4])
        assert best(near, "balanced", Limit(usd=10.5)) == (0, column)


def test_a_type_above_the_least_shows_its_own_fastest_within_the_slack() -> None:
    assert best(only(CELLS, SECOND), "balanced", Limit(usd=1.05)) == (1, 0)


def test_what_is_not_admissible_is_never_chosen() -> None:
    nothing = only(CELLS, np.zeros((2, 3), bool))
    assert best(nothing, "time", Limit(usd=10.5)) is None
    assert not nothing.cheapest.found.any()
    assert not nothing.within(Limit(usd=np.inf)).any()


def test_charges_do_not_widen_the_slack() -> None:
    """$8 of $10 are traffic: 5% of the other $2 are $0.10, so $10.20 for the faster cluster is too much."""
    charged = replace(CELLS, charges_usd=np.array([8.0, 8.0]))
    limit = limit_of(charged)
    assert limit == Limit(usd=pytest.approx(10.1), least_usd=10.0, time_s=1000)
    assert best(charged, "balanced", limit) == (0, 0)
    assert best(only(charged, SECOND), "balanced", limit) == (1, 0)


def test_energy_decides_between_a_fast_cluster_and_a_frugal_one() -> None:
    """One node has no switch. Row 0: 100 W x 1,000 s = 100 kJ, (200 + 1300) x 600 = 900 kJ; row 1: 1000 W x 900 s.

    Without the first: three nodes of row 0, (300 + 1300) W x 500 s = 800 kJ, come before all others.
    """
    assert ENERGIES[0].tolist() == [1e5, 9e5, 8e5]
    assert ENERGIES[1].tolist() == [9e5, 3300 * 550, 4300 * 400]
    without = np.ones((2, 3), bool)
    without[0, 0] = False
    assert best(only(CELLS, without), "energy", Limit(usd=10.5)) == (0, 2)


def test_of_equal_costs_the_faster_comes_first_and_of_equal_times_the_cheaper() -> None:
    alike = cells_of([50.0, 50.0, 60.0, 70.0], [10.0, 9.0, 8.0, 8.0])
    assert best(alike, "time", Limit(usd=9)) == (0, 1)
    assert best(alike, "cost", Limit(usd=9)) == (0, 2)


def test_the_slack_leaves_out_what_no_cluster_changes() -> None:
    """$6 of $10 are charges; the slack is 5% of the other $4."""
    assert limit_above(10, charges_usd=6) == pytest.approx(10.2)
    assert limit_above(10, charges_usd=0) == pytest.approx(10.5)
    charged = replace(CELLS, charges_usd=np.array([6.0, 8.0]))
    assert limit_of(charged) == Limit(usd=pytest.approx(10.2), least_usd=10, time_s=1000)
    second = only(charged, SECOND)
    assert limit_of(second) == Limit(usd=pytest.approx(11.15), least_usd=11, time_s=900)
    # its own cheapest, $11, is above the limit: 11 + 5% of 3, which every larger cluster exceeds
    assert best(second, "balanced", Limit(usd=10.2)) == (1, 0)
    dearer = replace(charged, total_usd=np.array([[10.0, 10.2, 12.0], [11.0, 11.15, 11.16]]))
    assert best(only(dearer, SECOND), "balanced", Limit(usd=10.2)) == (1, 1)


def test_the_slack_is_that_of_the_layout_that_costs_least() -> None:
    """$6 of the first layout's $10 are charges: the limit is 10 + 5% of 4 = $10.2; three nodes for $10.4 exceed it."""
    two = replace(
        CELLS,
        time_s=np.array([[1000.0, 600.0, 500.0], [2000.0, 2000.0, 2000.0]]),
        total_usd=np.array([[10.0, 10.2, 10.4], [10.1, 10.1, 10.1]]),
        charges_usd=np.array([6.0, 0.0]),
    )
    assert best(two, "balanced", Limit(usd=1)) == (0, 1)


@pytest.fixture
def candidate_of(make_job: Callable[..., Any]) -> Callable[..., Candidate]:
    context, region, _ = make_job({"a": {"read": 4e9, "write": 2e9}})
    plain = candidate(context, row=0, nodes=10, offer=region.offer)

    def make(name: str, *, seconds: float, usd: float, joules: float | None = None) -> Candidate:
        return replace(
            plain,
            instance_type=name,
            time_s=replace(plain.time_s, expected=seconds),
            cost_usd=replace(plain.cost_usd, total=usd, charges=0.0),
            energy_j=joules,
        )

    return make


@pytest.mark.parametrize(
    ("objective", "names"),
    [
        ("balanced", ["quick", "cheap", "fast", "dear"]),  # within $10.5 by time, the others by cost
        ("cost", ["cheap", "quick", "fast", "dear"]),
        ("time", ["fast", "dear", "quick", "cheap"]),  # the first two are equally fast: the cheaper before the dearer
        ("energy", ["dear", "cheap", "fast", "quick"]),  # the last two are unknown: by time
    ],
)
def test_candidates_in_order(candidate_of: Callable[..., Candidate], objective: Objective, names: list[str]) -> None:
    all_of_them = [
        candidate_of("cheap", seconds=1000, usd=10, joules=2e3),
        candidate_of("quick", seconds=900, usd=10.5),
        candidate_of("dear", seconds=500, usd=30, joules=1e3),
        candidate_of("fast", seconds=500, usd=20),
    ]
    assert [entry.instance_type for entry in order(all_of_them, objective)] == names
    assert order([], objective) == []


def test_of_candidates_as_fast_within_a_percent_the_cheaper_comes_first(candidate_of: Callable[..., Candidate]) -> None:
    """The fastest of all, at $12, is beyond 5% of $10, so 6,050 s count as 6,000 s, and 6,070 s (1.2%) do not."""
    beyond, fastest = candidate_of("beyond", seconds=5000, usd=12), candidate_of("fastest", seconds=6000, usd=10.4)
    alike, slower = candidate_of("alike", seconds=6050, usd=10.1), candidate_of("slower", seconds=6070, usd=10)
    in_order = order([beyond, slower, fastest, alike], "balanced")
    assert [entry.instance_type for entry in in_order] == ["alike", "fastest", "slower", "beyond"]


def test_bare_metal_counts_as_slower_and_dearer_by_half_a_percent(candidate_of: Callable[..., Candidate]) -> None:
    """At 100.4 s and $10.04 i.metal loses to neither of two that take 100.9 s or cost $10.09; at 99.6 s and $9.96 it
    beats 100 s and $10 by cost only: 99.6 x 1.005 = 100.1.
    """
    metal = candidate_of("i.metal", seconds=99.6, usd=9.96)
    plain = candidate_of("plain", seconds=100, usd=10)
    for objective in ("cost", "time"):
        assert order([metal, plain], objective) == [plain, metal]
    better = candidate_of("i.metal", seconds=98.5, usd=9.9)
    for objective in ("cost", "time"):
        assert order([plain, better], objective) == [better, plain]


def test_a_bill_that_is_known_in_part_does_not_come_first_for_costing_less(
    candidate_of: Callable[..., Candidate],
) -> None:
    """Within the slack of the fully known bill only clusters with a fully known bill count as near. Their fastest sets
    the reference: 6,000 s, so 6,050 s for less come first.
    """
    fast, cheap = candidate_of("fast", seconds=6000, usd=10.4), candidate_of("cheap", seconds=6050, usd=10.1)
    in_part = candidate_of("part", seconds=2000, usd=9)
    in_part = replace(in_part, cost_usd=replace(in_part.cost_usd, at_least=True))
    assert [entry.instance_type for entry in order([in_part, fast, cheap], "balanced")] == ["cheap", "fast", "part"]
    assert [entry.instance_type for entry in order([in_part, fast, cheap], "cost")] == ["cheap", "fast", "part"]


def test_beyond_the_slack_the_cheaper_comes_first_then_the_faster(candidate_of: Callable[..., Candidate]) -> None:
    """A type whose cheapest cluster costs exactly the limit is shown at its fastest up to that limit."""
    least = candidate_of("least", seconds=1000, usd=10)
    dearer = (("a", 900, 12), ("b", 100, 13), ("c", 800, 12))
    beyond = [candidate_of(name, seconds=seconds, usd=usd) for name, seconds, usd in dearer]
    assert [entry.instance_type for entry in order([*beyond, least], "balanced")] == ["least", "c", "a", "b"]
    dearer_cells = replace(CELLS, total_usd=np.array([[10.0, 10.2, 12.0], [10.5, 10.5, 10.6]]))
    assert best(only(dearer_cells, SECOND), "balanced", Limit(usd=10.5)) == (1, 1)


def test_figures_stand_for_a_candidate(candidate_of: Callable[..., Candidate]) -> None:
    """Figures are ordered as the candidates that they are of; bare metal counts as half a percent worse."""
    metal, plain = candidate_of("i.metal", seconds=100, usd=10, joules=5), candidate_of("plain", seconds=100, usd=10)
    figures = Figures.of([metal, plain])
    assert (figures.ranked_s[0], figures.ranked_usd[0], figures.energy_j[0]) == pytest.approx((100.5, 10.05, 5))
    assert figures.in_order("cost").tolist() == [1, 0]
    assert order([metal, plain], "cost") == [plain, metal]
    assert order([metal], "cost", beside=[plain]) == [metal]


def test_an_hour_is_worth_25_cents_and_a_minute_no_money(candidate_of: Callable[..., Candidate]) -> None:
    """0.4 hours saved are worth $0.09 on top of $1 but not $0.11; the last minute is not worth a cent."""
    slow = candidate_of("slow", seconds=1800, usd=1.0)
    last_minute = candidate_of("slower by a minute", seconds=419, usd=1.08)
    for usd, first in ((1.09, "quick"), (1.11, "slow")):
        quick = candidate_of("quick", seconds=360, usd=usd)
        assert order([slow, quick], "balanced")[0].instance_type == first
    assert order([slow, candidate_of("quick", seconds=360, usd=1.09), last_minute], "balanced")[0] == last_minute


def test_the_cluster_is_planned_again_as_it_was() -> None:
    asked = planner.recommend("10TB", model="all", catalogs=["aws", "gcp"], exclude=["i8g.*"], deadline="2h")
    best = asked.best
    assert best is not None
    again = answer(narrowed(asked.plan.request, best, nodes=best.nodes)).best
    assert again is not None
    place = (best.model, best.cloud, best.region, best.instance_type, best.nodes)
    assert (again.model, again.cloud, again.region, again.instance_type, again.nodes) == place
    assert again.time_s == best.time_s
