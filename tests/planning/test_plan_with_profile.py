"""Plans whose times come from real runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest
from approvals import Approve

from planner import recommend as recommend_by
from planner.api.recommend import Recommendation, answer
from planner.calibration import JobRow, Profile
from planner.cost_model.known_times import what_if_ratio
from planner.errors import BadInputError
from planner.report.terminal.short_answer import short_answer
from planner.schemas.plan import Request
from planner.stores import profiles

recommend = partial(recommend_by, engine="ideal")
"""The sums here are those of the equations alone."""

Make = Callable[..., str]


def answer_with_profile(request: Request, profile: str) -> Recommendation:
    return answer(request, profile=profile)


RUNS = [
    {"instance_type": "a", "nodes": nodes, "data_gb": gb, "runtime_s": 60 + 40 * gb / nodes}
    for nodes, gb in ((4, 100), (8, 100), (16, 100), (8, 200), (16, 400), (4, 50))
]


@pytest.fixture
def request_for(make_catalog: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Request]:
    """Store a profile of RUNS and return a maker of requests on its catalog."""
    monkeypatch.setenv("PLANNER_PROFILES", str(tmp_path / "profiles"))
    catalog = make_catalog({"a": {"read": 2e9, "write": 1e9}, "b": {"read": 1e9, "write": 1e9, "price": 2}})
    profiles.save_profile(profiles.calibrate(RUNS, model="framework", name="mine", catalog=catalog))

    def make(**given: object) -> Request:
        return Request(**({"data_bytes": 10**11, "model": "indy", "catalogs": (catalog,)} | given))  # type: ignore[arg-type]

    return make


def test_times_are_the_profiles_and_the_equation_stays_visible(request_for: Callable[..., Request]) -> None:
    asked = request_for(nodes=8, instances=("a",))
    calibrated = answer_with_profile(asked, "mine").best
    plain = recommend(data="100GB", model="indy", catalogs=asked.catalogs, nodes=8, instances=("a",)).best
    assert calibrated is not None
    assert plain is not None
    assert calibrated.time_s.equation == plain.time_s.equation
    assert calibrated.time_s.p50 == pytest.approx(60 + 40 * 100 / 8, rel=0.15)
    assert calibrated.time_s.p95 > calibrated.time_s.p50
    assert calibrated.cost_usd.expected == pytest.approx(8 * calibrated.time_s.expected / 3600)
    assert calibrated.cost_usd.p50 == pytest.approx(8 * calibrated.time_s.p50 / 3600)
    assert calibrated.cost_usd.p95 == pytest.approx(8 * calibrated.time_s.p95 / 3600)


def test_a_what_if_keeps_the_profile(request_for: Callable[..., Request]) -> None:
    first = answer_with_profile(request_for(nodes=8, instances=("a",)), "mine")
    asked = request_for(nodes=8, instances=("a",), data_bytes=2 * 10**11)
    more = first.what_if(data="200GB")
    assert more.best is not None
    assert more.best == answer_with_profile(asked, "mine").best
    assert more.best.time_s.p50 == pytest.approx(60 + 40 * 200 / 8, rel=0.15)
    assert more.what_if(data="100GB").plan.best == first.best == first.without_what_ifs().best
    assert first.reliefs(1.0)["network"].time_s.p50 == pytest.approx(60 + 40 * 100 / 8, rel=0.15)


def test_a_deadline_holds_the_upper_end_of_the_range_to_it(request_for: Callable[..., Request]) -> None:
    best = answer_with_profile(request_for(deadline_s=660.0), "mine").best
    assert best is not None
    assert best.time_s.p95 <= 660


def test_what_cannot_be_met_is_rejected_with_how_near_it_comes(request_for: Callable[..., Request]) -> None:
    plan = answer_with_profile(request_for(deadline_s=1.0), "mine")
    assert plan.best is None
    assert all(r.nearness is not None and r.nearness > 1 for r in plan.rejected)


def test_an_unknown_profile_is_named(request_for: Callable[..., Request]) -> None:
    with pytest.raises(BadInputError, match="there are mine"):
        answer_with_profile(request_for(), "yours")


def test_the_bill_is_that_of_the_profiles_time(request_for: Callable[..., Request]) -> None:
    asked = request_for(nodes=8, instances=("a",), zones=2)
    calibrated = answer_with_profile(asked, "mine").best
    assert calibrated is not None
    lines = {line.name: line.usd for line in calibrated.bill}
    assert sum(usd or 0.0 for usd in lines.values()) == pytest.approx(calibrated.cost_usd.total)
    assert lines["job"] == pytest.approx(calibrated.cost_usd.expected)
    booted_and_screened_s = sum(calibrated.overheads_s[name] for name in ("boot", "install", "screen"))
    assert lines["spares"] == pytest.approx(booted_and_screened_s / 3600)
    assert lines["traffic between zones"]


def test_a_budget_holds_the_upper_end_of_the_bill(request_for: Callable[..., Request]) -> None:
    free = answer_with_profile(request_for(nodes=8, instances=("a",)), "mine").best
    assert free is not None
    assert free.cost_usd.total_p95 > free.cost_usd.total
    budget = (free.cost_usd.total + free.cost_usd.total_p95) / 2
    assert answer_with_profile(request_for(nodes=8, instances=("a",), budget_usd=budget), "mine").best is None


@pytest.mark.parametrize(
    "what_if",
    [{"assume": {"network": 1e7}}, {"scale": {"local": 0.1}}, {"network_distribution": "A"}],
    ids=["assumed", "scaled", "drawn"],
)
def test_a_what_if_changes_the_profiles_time_as_the_equations_have_it(
    request_for: Callable[..., Request], what_if: dict[str, object]
) -> None:
    """At 10 MB/s eight nodes shuffle 100 GB in 1e11 / 8 x 7/8 / 1e7 = 1,094 s; the disks took 18.75 s a phase."""
    clusters = {"nodes": 8, "instances": ("a",)}
    as_is, changed = (answer_with_profile(request_for(**clusters, **more), "mine").best for more in ({}, what_if))
    asked = request_for(**clusters, **what_if)
    equations = [
        recommend(data="100GB", model="indy", catalogs=asked.catalogs, nodes=8, instances=("a",), **more).best
        for more in ({}, what_if)
    ]
    assert as_is and changed and equations[0] and equations[1]
    ratio = equations[1].time_s.expected / equations[0].time_s.expected
    assert ratio > 2
    assert changed.time_s.p50 == pytest.approx(as_is.time_s.p50 * ratio)
    assert changed.time_s.p95 / changed.time_s.p50 > 1.2 * as_is.time_s.p95 / as_is.time_s.p50
    assert any(f"{ratio:.2f} times as long" in warning for warning in changed.warnings)


def test_a_price_is_no_change_of_time(request_for: Callable[..., Request]) -> None:
    clusters = {"nodes": 8, "instances": ("a",)}
    as_is, cheaper = (
        answer_with_profile(request_for(**clusters, **more), "mine").best for more in ({}, {"scale": {"price": 0.5}})
    )
    assert as_is and cheaper
    assert cheaper.time_s == as_is.time_s


def test_energy_is_that_of_the_profiles_time(request_for: Callable[..., Request]) -> None:
    """Eight nodes of 100 W and a switch of 1,300 W, for the profile's time; unknown without the power."""
    calibrated = answer_with_profile(request_for(nodes=8, instances=("a",), assume={"power": 100.0}), "mine").best
    assert calibrated is not None
    assert calibrated.energy_j == pytest.approx(2100 * calibrated.time_s.expected)
    unknown = answer_with_profile(request_for(nodes=8, instances=("a",)), "mine").best
    assert unknown is not None
    assert unknown.energy_j is None


def test_a_what_if_stretches_the_profile_as_the_equations_and_widens_it(request_for: Callable[..., Request]) -> None:
    """With r the ratio of the equations' times, the median becomes r times as long, and the 95% gains half of ln r, at
    1.645 spreads: ln(high / median) becomes the root of its square plus (1.645 x 0.5 x ln r)^2.
    """
    asked = request_for(nodes=8, instances=("a",))
    slower = replace(asked, scale={"local": 0.25})
    before, after = (answer_with_profile(request, "mine").best for request in (asked, slower))
    assert before is not None and after is not None
    equations = [
        recommend(data="100GB", model="indy", catalogs=asked.catalogs, nodes=8, instances=("a",), scale=scale).best
        for scale in ({}, {"local": 0.25})
    ]
    assert equations[0] is not None and equations[1] is not None
    ratio = equations[1].time_s.expected / equations[0].time_s.expected
    assert ratio > 2
    assert after.time_s.p50 == pytest.approx(ratio * before.time_s.p50)
    z = NormalDist().inv_cdf(0.95)
    width = math.hypot(math.log(before.time_s.p95 / before.time_s.expected), z * 0.5 * math.log(ratio))
    assert after.time_s.p95 == pytest.approx(after.time_s.expected * math.exp(width))
    assert any(f"the what-if makes it {ratio:.2f} times as long" in warning for warning in after.warnings)
    dearer = answer_with_profile(replace(asked, scale={"price": 2.0}), "mine").best
    assert dearer is not None
    assert dearer.time_s == before.time_s
    assert dearer.cost_usd.total == pytest.approx(2 * before.cost_usd.total)


def test_sizes_are_the_fewest_nodes_and_24_steps_from_one_to_the_most(
    request_for: Callable[..., Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps of a constant factor: 100^(k/23) for k = 0 to 23, rounded; 100 GB fit on one node."""
    tried: list[int] = []
    mixture = Profile.mixture

    def noted(profile: Profile, jobs: list[JobRow], **given: Any) -> Any:
        tried.extend(job.nodes for job in jobs)
        return mixture(profile, jobs, **given)

    monkeypatch.setattr(Profile, "mixture", noted)
    answer_with_profile(request_for(instances=("a",), max_nodes=100), "mine")
    assert set(tried) == {round(100 ** (step / 23)) for step in range(24)}


@pytest.mark.parametrize("objective", ["balanced", "cost", "time"])
def test_how_many_are_shown_changes_no_choice(request_for: Callable[..., Request], objective: str) -> None:
    best, *others = (answer_with_profile(request_for(objective=objective, top=top), "mine") for top in (1, 2, 30))
    assert len(best.candidates) == 1
    first, *rest = [
        (of.instance_type, of.nodes, of.time_s, of.cost_usd) for of in (best.best, *(o.best for o in others)) if of
    ]
    assert rest == [first] * 2


def test_the_limit_is_what_helps_most_by_the_profiles_own_what_ifs(request_for: Callable[..., Request]) -> None:
    answered = answer_with_profile(request_for(nodes=8, instances=("a",)), "mine")
    best = answered.best
    assert best is not None
    for name, saved_s in best.reliefs_s.items():
        made = answered.what_if(**{name: 2}).best
        assert made is not None
        whole_s = [of.time_s.expected + sum(of.overheads_s.values()) for of in (best, made)]
        assert saved_s == pytest.approx(max(0.0, whole_s[0] - whole_s[1]), abs=1e-6 * whole_s[0])
    assert best.bottleneck == max(best.reliefs_s, key=lambda name: best.reliefs_s[name])


def test_no_point_of_the_frontier_is_dominated(request_for: Callable[..., Request]) -> None:
    points = answer_with_profile(request_for(), "mine").frontier
    costs = [point.cost_usd_total for point in sorted(points, key=lambda point: point.time_s)]
    assert len(points) > 2 and costs == sorted(costs, reverse=True)


@pytest.mark.parametrize(
    ("before_s", "after_s", "ratio"),
    [
        (100, 200, 2.0),  # more than the 100 s added would make it: 1,600 / 1,500
        (17_500, 34_750, 12.5),  # 17,250 s of shuffling do not fit in the 1,471 s that doubling would add
        (200, 100, 0.5),
        (100, 100, 1.0),
    ],
)
def test_a_what_if_adds_all_the_seconds_that_the_equations_add(before_s: float, after_s: float, ratio: float) -> None:
    assert what_if_ratio(1500.0, before_s, after_s) == ratio


def test_a_wide_range_of_a_type_that_never_ran_names_the_run_that_settles_it(
    request_for: Callable[..., Request], approve: Approve
) -> None:
    asked = request_for(nodes=8)
    few = profiles.calibrate(RUNS[:1], model="framework", name="few", catalog=asked.catalogs[0])
    profiles.save_profile(few)
    bests = {name: answer_with_profile(replace(asked, instances=(name,)), "few").best for name in ("a", "b")}
    told = {name: [text for text in best.warnings if "never ran" in text] for name, best in bests.items() if best}
    assert told["a"] == []
    approve(told["b"][0])
    assert " x b with " in told["b"][0]


def test_the_short_answer_says_whose_times_they_are_and_that_a_type_never_ran(
    request_for: Callable[..., Request],
) -> None:
    ran, new = (answer_with_profile(request_for(instances=(name,)), "mine").plan for name in ("a", "b"))
    said = "Times: the profile's; the bottleneck follows from the equations."
    texts = [" ".join(" ".join(short_answer(plan, width=80)).split()) for plan in (ran, new)]
    assert said in texts[0] and "never ran" not in texts[0]
    assert f"{said} b never ran, and its range spans a factor of" in texts[1]
    plain = recommend(data="100GB", model="indy", catalogs=request_for().catalogs).plan
    assert "Times:" not in " ".join(short_answer(plain, width=80))


def test_several_clouds_are_planned_together_and_their_best_has_reliefs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANNER_PROFILES", str(tmp_path / "profiles"))
    run = {"instance_type": "m5.4xlarge", "nodes": 4, "data_gb": 100, "runtime_s": 300}
    profiles.save_profile(profiles.calibrate([run], model="spark", name="mine"))
    plan = recommend_by("1TB", cloud="aws,gcp", nodes=8, profile="mine", top=40).plan
    assert {of.cloud for of in plan.candidates} == {"aws", "gcp"}
    assert plan.best is not None and plan.best.reliefs_s[plan.best.bottleneck] > 0


def test_a_profile_of_copies_takes_as_many_as_the_model_writes(request_for: Callable[..., Request]) -> None:
    """A run's report has its copies where there are two; others have one. No option has to say it."""
    runs = [
        run | ({"replicas": 2, "runtime_s": 1.5 * run["runtime_s"]} if at % 2 else {}) for at, run in enumerate(RUNS)
    ]
    profiles.save_profile(profiles.calibrate(runs, model="framework", name="copies", catalog=request_for().catalogs[0]))
    asked = request_for(nodes=8, instances=("a",))
    one, two = (answer_with_profile(replace(asked, model=model), "copies").best for model in ("indy", "daytona"))
    assert one and two and two.time_s.p50 > one.time_s.p50
