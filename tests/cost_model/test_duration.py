"""Distribution of a job's time by hand, from phases whose resources are given as a plan shows them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from planner.cost_model.duration import JobTimes, PhaseUses, PlannedSpares, planned_spares, quantile_over_mean
from planner.cost_model.evidence import CERTAIN, RateDoubts
from planner.cost_model.model import Phase
from planner.cost_model.workload import JobContext
from planner.statistics.interruptions import Risk
from planner.statistics.order_statistics import slowest_mean
from planner.statistics.scaling_curve import ScalingCurve, mean_slowdowns, prior_curve
from planner.statistics.spare_nodes import spares_for

Make = Callable[..., JobContext]
NODE = {"read": 4e9, "write": 2e9, "memory_bytes": 2 * 10**9}


def spares(count: int, screened: str = "") -> PlannedSpares:
    return PlannedSpares(count=np.array([float(count)]), screened=[screened])


NONE = spares(0)


def phase(name: str, **seconds: float) -> PhaseUses:
    """Return the work of a phase of one cluster, by its seconds."""
    alone = {resource: np.array([s]) for resource, s in seconds.items()}
    return PhaseUses(phase=Phase(name=name), nodes=np.ones(1), bytes_per_node=alone, seconds=alone)


MAP, REDUCE = "map and shuffle", "sort and reduce"
PHASES = (phase(MAP, local_disks=300.0, network=100.0), phase(REDUCE, local_disks=200.0, cpu=50.0))


@pytest.fixture
def certain(make_context: Make) -> JobContext:
    """A job of 10 TB on identical nodes that meet their stated rates."""
    context = make_context({"a": NODE}).only(np.array([0]))
    network = replace(context.rates.network, stated=np.zeros(1, bool))
    return replace(
        context,
        doubts=CERTAIN,
        rates=replace(context.rates, network=network),
        overheads=replace(context.overheads, shared_sigma=0.0),
        spreads=replace(context.spreads, node_sigma={}),
    )


def times(context: JobContext, phases: Sequence[PhaseUses], nodes: int, planned: PlannedSpares = NONE) -> JobTimes:
    return JobTimes.of(context, phases, np.array([float(nodes)]), spares=planned)


def mean_s(context: JobContext, phases: Sequence[PhaseUses], nodes: int, planned: PlannedSpares = NONE) -> float:
    return float(times(context, phases, nodes, planned).expected_s[0])


def late_s(context: JobContext, phases: Sequence[PhaseUses], nodes: int) -> float:
    return float(times(context, phases, nodes).whole.quantile_s([0.95])[0, 0])


def planned(context: JobContext, phases: Sequence[PhaseUses], nodes: int) -> tuple[float, bool]:
    """Return the number of spares, and whether they are screened."""
    made = planned_spares(context, phases, np.array([float(nodes)]))
    return float(made.count[0]), bool(made.screened[0])


def differing(context: JobContext, sigma: float, *, lasts: bool = True) -> JobContext:
    """Return the job on disks measured to differ between instances."""
    lasting = {0: frozenset({"disk"})} if lasts else {}
    spreads = replace(context.spreads, measured_sigma={0: {"disk": sigma}}, lasting=lasting)
    return replace(context, spreads=spreads)


def test_phases_follow_each_other(certain: JobContext) -> None:
    assert mean_s(certain, PHASES, 10) == pytest.approx(500, rel=1e-3)
    shared = replace(certain, overheads=replace(certain.overheads, shared_sigma=0.2))
    assert mean_s(shared, PHASES, 10) == pytest.approx(500 * np.exp(0.02), rel=2e-3)


def test_a_phase_waits_for_its_slowest_node(certain: JobContext) -> None:
    """The slower of two disks that differ by sigma 0.3 takes 2 e^0.045 Phi(0.3 / sqrt 2) = 1.22176 times as long."""
    assert mean_s(differing(certain, 0.3), PHASES, 2) == pytest.approx(500 * 1.22176, rel=2e-3)


def test_each_resource_is_slower_by_its_own_doubt(certain: JobContext) -> None:
    """Disks that take twice as long in two cases of eight: (6 x 500 + 2 x 1000) / 8; a network that always takes four
    times as long shows in the first phase alone.
    """
    disk = np.array([[1.0] * 6 + [2.0] * 2])
    doubtful = replace(certain, doubts=RateDoubts(slowdowns={"disk": disk}))
    assert mean_s(doubtful, PHASES, 10) == pytest.approx(625, rel=2e-3)
    doubtful = replace(certain, doubts=RateDoubts(slowdowns={"network": np.full((1, 8), 4.0)}))
    assert mean_s(doubtful, PHASES, 10) == pytest.approx(400 + 200, rel=2e-3)


SENDING = (phase(MAP, network=100.0), phase(REDUCE, cpu=50.0))


def test_a_stated_network_is_slower_at_scale_on_average(certain: JobContext) -> None:
    """By `mean_slowdowns`, alone and times the claim's own error; a single node sends nothing."""
    stated = replace(certain.rates.network, stated=np.ones(1, bool))
    context = replace(
        certain,
        rates=replace(certain.rates, network=stated),
        spreads=replace(certain.spreads, node_sigma={"cpu": 1e-9}),
    )
    slower = float(mean_slowdowns(np.array([100.0]).tobytes())[0])
    assert mean_s(context, SENDING, 100) == pytest.approx(100 * slower + 50, rel=2e-3)
    assert late_s(context, SENDING, 1) == pytest.approx(150, rel=2e-3)
    slowest_of_8 = float(prior_curve().slowdowns(2, count=8)[-1])
    assert slowest_of_8 > 1.05
    assert late_s(context, SENDING, 2) == pytest.approx(100 * slowest_of_8 + 50, rel=2e-3)
    twice = replace(context, doubts=RateDoubts(slowdowns={"network": np.full((1, 8), 2.0)}))
    assert mean_s(twice, SENDING, 100) == pytest.approx(200 * slower + 50, rel=2e-3)


def test_a_measured_network_is_in_doubt_only_beyond_its_points(certain: JobContext) -> None:
    curve = ScalingCurve.through([2, 8], [1e9, 9e8])
    network = replace(certain.rates.network, curves={0: curve})
    context = replace(
        certain,
        rates=replace(certain.rates, network=network),
        spreads=replace(certain.spreads, node_sigma={"cpu": 1e-9}),
    )
    assert mean_s(context, SENDING, 8) == pytest.approx(150, rel=2e-3)
    slower = float(curve.slowdowns(64, count=8).mean())
    assert mean_s(context, SENDING, 64) == pytest.approx(100 * slower + 50, rel=2e-3)
    papers = replace(context, spreads=replace(context.spreads, node_sigma={}))
    assert mean_s(papers, SENDING, 64) == pytest.approx(150, rel=2e-3)


def test_the_network_of_the_slowest_node_does_not_vary_again(certain: JobContext) -> None:
    """Links of two nodes that differ by sigma 0.3 take 1.22176 times as long, unless the slowest was measured."""
    context = replace(certain, spreads=replace(certain.spreads, measured_sigma={0: {"network": 0.3}}))
    assert mean_s(context, SENDING, 2) == pytest.approx(100 * 1.22176 + 50, rel=2e-3)
    slowest = replace(context.rates.network, slowest_of_n=np.ones(1, bool))
    context = replace(context, rates=replace(context.rates, network=slowest))
    assert mean_s(context, SENDING, 2) == pytest.approx(150, rel=2e-3)


def test_start_up_does_not_vary(certain: JobContext) -> None:
    context = differing(certain, 0.3)
    assert mean_s(context, (phase(MAP, start_up=30.0), phase(REDUCE, one_stream=20.0)), 2) == pytest.approx(
        50, rel=1e-3
    )


def test_unscreened_spares_are_the_usual_share(certain: JobContext) -> None:
    """One node in fifty, rounded up: two for a hundred, one for ten; none for a single node, however much it varies."""
    for context in (certain, differing(certain, 0.3, lasts=False)):
        assert planned(context, PHASES, 100) == (2, False)
        assert planned(context, PHASES, 10) == (1, False)
    assert planned(differing(certain, 0.3), PHASES, 1) == (0, False)


def test_nodes_are_screened_by_what_decides_the_longest_phase(certain: JobContext) -> None:
    """Disks are not screened if the network is slowest."""
    count, screened = planned(differing(certain, 0.5), PHASES, 20)
    assert screened and count > 2
    assert planned(replace(differing(certain, 0.5), most_machines=21), PHASES, 20) == (1, True)
    sending = (phase(MAP, network=301.0, local_disks=300.0), PHASES[1])
    assert not planned(differing(certain, 0.5), sending, 20)[1]
    assert planned(differing(certain, 0.5), (*sending[1:], *PHASES[:1]), 20)[1]


def test_spares_are_worth_more_the_longer_the_job(certain: JobContext) -> None:
    """A spare costs 300 s of one node; its saving grows with the whole job, all phases included."""
    context, counts = differing(certain, 0.3), []
    for map_s, reduce_s in ((30.0, 20.0), (300.0, 20.0), (300.0, 290.0)):
        phases = (phase(MAP, local_disks=map_s), phase(REDUCE, local_disks=reduce_s))
        counts.append(planned(context, phases, 20)[0])
        assert counts[-1] == spares_for(
            context.spread("local_disks", None), nodes=20, work_s=map_s + reduce_s, screen_s=300
        )
    assert counts == sorted(set(counts))


def test_screened_spares_stand_in_for_the_slowest(certain: JobContext) -> None:
    """With as many spares as nodes the slowest node kept is at most the median; standby spares change nothing, nor does
    any spare on resources that were not screened.
    """
    context = differing(certain, 0.3)
    alone = mean_s(context, PHASES, 20)
    assert alone == pytest.approx(500 * float(slowest_mean(context.spread("local_disks", None), 20.0)), rel=3e-3)
    by_standing = mean_s(context, PHASES, 20, spares(20))
    assert by_standing == pytest.approx(alone)
    screened = mean_s(context, PHASES, 20, spares(20, "local_disks"))
    assert 490 < screened < 520
    other = replace(context, spreads=replace(context.spreads, measured_sigma={0: {"disk": 0.3, "cpu": 0.3}}))
    busy = (PHASES[0], phase(REDUCE, cpu=200.0))
    cpu_s = 200 * float(slowest_mean(other.spread("cpu", None), 20.0))
    screened_s = mean_s(other, busy, 20, spares(20, "local_disks"))
    assert screened_s == pytest.approx(300 * screened / 500 + cpu_s, rel=5e-3)


def test_interruptions_come_on_top(certain: JobContext) -> None:
    """Ten nodes interrupted once in 10,000 s each; 500 s of generating 10 TB at 2 GB/s and 500 s of work are repeated:
    (1000 + 100) x (e^1 - 1) - 500.
    """
    risk = Risk(per_node_s=1e-4, replacement_s=100, recovery="reload", evidence="assumed")
    spared, risky = times(certain, PHASES, 10), times(replace(certain, risk=risk), PHASES, 10)
    assert spared.whole is spared.undisturbed
    assert risky.phases_s == spared.phases_s
    assert risky.expected_s == pytest.approx(1100 * (np.e - 1) - 500)
    assert risky.delay_s == pytest.approx(risky.expected_s - 500)


def test_what_helps_a_phase_most_is_its_bottleneck(certain: JobContext) -> None:
    """Of a network of 100 s and disks of 95 s that vary widely, faster disks save more; nothing limits nothing."""
    context = differing(certain, 0.3)
    made = times(context, (phase(MAP, network=100.0, local_disks=95.0), phase(REDUCE, cpu=0.0)), 20)
    assert [made.bottleneck(number, 0) for number in (0, 1)] == ["local_disks", "nothing"]
    assert made.alone_s(0, 0) == pytest.approx(
        {"network": 100, "local_disks": 95 * float(slowest_mean(context.spread("local_disks", None), 20.0))}
    )
    assert mean_s(context, (phase(MAP, network=100.0, local_disks=20.0),), 20) == pytest.approx(100, rel=1e-3)


def test_how_much_later_a_quantile_is_than_the_mean() -> None:
    """e^(1.64485 x 0.1 - 0.1^2 / 2); no difference without variation."""
    assert quantile_over_mean(0.95, shared_sigma=0.1) == pytest.approx(math.exp(0.164485 - 0.005), rel=1e-5)
    assert quantile_over_mean(0.5, shared_sigma=0.2) == pytest.approx((0.5 + 0.45 * 0.5) * math.exp(-0.02))
    assert quantile_over_mean(0.8, shared_sigma=0) == 1
    assert quantile_over_mean(0.95, shared_sigma=0) == 1
