"""Distribution of a job's time by hand, from phases whose resources are given as a plan shows them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from planner.cost_model.duration import (
    PlannedSpares,
    Undisturbed,
    disturbed,
    loading_s,
    planned_spares,
    quantile_over_mean,
)
from planner.cost_model.rate_doubts import CERTAIN, RateDoubts
from planner.cost_model.workload import JobContext
from planner.schemas.plan import PhaseEstimate, ResourceUse
from planner.statistics.interruptions import Risk
from planner.statistics.order_statistics import slowest_mean
from planner.statistics.scaling_curve import ScalingCurve, mean_slowdowns, prior_curve
from planner.statistics.spare_nodes import spares_for

Make = Callable[..., JobContext]
NODE = {"read": 4e9, "write": 2e9, "memory_bytes": 2 * 10**9}
NONE = PlannedSpares(count=0, paid_s=0, screened=False)


def phase(name: str, **seconds: float) -> PhaseEstimate:
    uses = {
        resource: ResourceUse(bytes_per_node=1, bytes_per_s=1, time_s=s, equation_s=s)
        for resource, s in seconds.items()
    }
    bottleneck = max(seconds, key=lambda resource: seconds[resource])
    return PhaseEstimate(
        name=name, time_s=seconds[bottleneck], equation_s=seconds[bottleneck], bottleneck=bottleneck, resources=uses
    )


MAP, REDUCE = "map and shuffle", "sort and reduce"
PHASES = (phase(MAP, local_disks=300.0, network=100.0), phase(REDUCE, local_disks=200.0, cpu=50.0))


@pytest.fixture
def certain(make_context: Make) -> JobContext:
    """A job of 10 TB on identical nodes that meet their stated rates."""
    context = make_context({"a": NODE}).only(0)
    network = replace(context.rates.network, stated=np.zeros(1, bool))
    return replace(
        context,
        doubts=CERTAIN,
        rates=replace(context.rates, network=network),
        overheads=replace(context.overheads, shared_sigma=0.0),
        spreads=replace(context.spreads, node_sigma={}),
    )


def mean_s(context: JobContext, phases: tuple[PhaseEstimate, ...], nodes: int, spares: PlannedSpares = NONE) -> float:
    return Undisturbed.of(context, phases, nodes, spares=spares).total.mean_s


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
    assert float(Undisturbed.of(context, SENDING, 1, spares=NONE).total.quantile_s(0.95)) == pytest.approx(
        150, rel=2e-3
    )
    slowest_of_8 = float(prior_curve().slowdowns(2, count=8)[-1])
    late_s = float(Undisturbed.of(context, SENDING, 2, spares=NONE).total.quantile_s(0.95))
    assert slowest_of_8 > 1.05
    assert late_s == pytest.approx(100 * slowest_of_8 + 50, rel=2e-3)
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
        spares = planned_spares(context, PHASES, 100)
        assert (spares.count, spares.paid_s, spares.screened) == (2, 300, False)
        assert planned_spares(context, PHASES, 10).count == 1
    assert planned_spares(differing(certain, 0.3), PHASES, 1) == PlannedSpares(count=0, paid_s=300, screened=False)


def test_nodes_are_screened_by_what_decides_the_longest_phase(certain: JobContext) -> None:
    """120 s of boot, 60 of installing, 120 of screening are paid; disks are not screened if the network is slowest."""
    spares = planned_spares(differing(certain, 0.5), PHASES, 20)
    assert (spares.paid_s, spares.screened) == (300, True)
    assert spares.count > 2
    limited = planned_spares(replace(differing(certain, 0.5), most_machines=21), PHASES, 20)
    assert (limited.count, limited.screened) == (1, True)
    sending = (phase(MAP, network=301.0, local_disks=300.0), PHASES[1])
    assert not planned_spares(differing(certain, 0.5), sending, 20).screened
    assert planned_spares(differing(certain, 0.5), sending[1:] + PHASES[:1], 20).screened


def test_spares_are_worth_more_the_longer_the_job(certain: JobContext) -> None:
    """A spare costs 300 s of one node; its saving grows with the whole job, all phases included."""
    context, counts = differing(certain, 0.3), []
    for map_s, reduce_s in ((30.0, 20.0), (300.0, 20.0), (300.0, 290.0)):
        phases = (phase(MAP, local_disks=map_s), phase(REDUCE, local_disks=reduce_s))
        counts.append(planned_spares(context, phases, 20).count)
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
    by_standing = mean_s(context, PHASES, 20, PlannedSpares(count=20, paid_s=1, screened=False))
    assert by_standing == pytest.approx(alone)
    screened = mean_s(context, PHASES, 20, PlannedSpares(count=20, paid_s=1, screened=True))
    assert 490 < screened < 520
    other = replace(context, spreads=replace(context.spreads, measured_sigma={0: {"disk": 0.3, "cpu": 0.3}}))
    busy = (PHASES[0], phase(REDUCE, cpu=200.0))
    cpu_s = 200 * float(slowest_mean(other.spread("cpu", None), 20.0))
    screened_s = mean_s(other, busy, 20, PlannedSpares(count=20, paid_s=1, screened=True))
    assert screened_s == pytest.approx(300 * screened / 500 + cpu_s, rel=5e-3)


def test_interruptions_come_on_top(certain: JobContext) -> None:
    """Ten nodes interrupted once in 10,000 s each; 500 s of generating 10 TB at 2 GB/s and 500 s of work are repeated:
    (1000 + 100) x (e^1 - 1) - 500.
    """
    assert loading_s(certain, 10) == pytest.approx(500)
    risk = Risk(per_node_s=1e-4, replacement_s=100, recovery="reload", evidence="assumed")
    whole = Undisturbed.of(certain, PHASES, 10, spares=NONE).total
    assert disturbed(certain, whole, 10) is whole
    risky = replace(certain, risk=risk)
    assert disturbed(risky, whole, 10).mean_s == pytest.approx(1100 * (np.e - 1) - 500, rel=0.02)


def test_how_much_later_a_quantile_is_than_the_mean() -> None:
    """e^(1.64485 x 0.1 - 0.1^2 / 2); no difference without variation."""
    assert quantile_over_mean(0.95, shared_sigma=0.1) == pytest.approx(math.exp(0.164485 - 0.005), rel=1e-5)
    assert quantile_over_mean(0.5, shared_sigma=0.2) == pytest.approx((0.5 + 0.45 * 0.5) * math.exp(-0.02))
    assert quantile_over_mean(0.8, shared_sigma=0) == 1
    assert quantile_over_mean(0.95, shared_sigma=0) == 1
