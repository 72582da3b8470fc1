"""Seconds and dollars of all clusters at once, by hand, on nodes that read 4 GB/s, write 2 GB/s and send 1 GB/s."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from planner.catalog import Straggler
from planner.cost_model.clusters import SWITCH_POWER_W, energy_j
from planner.cost_model.estimate import Estimates, estimate
from planner.cost_model.evidence import CERTAIN, RateDoubts
from planner.cost_model.prices import Offer, Reservations
from planner.cost_model.workload import JobContext
from planner.statistics.interruptions import Risk
from planner.statistics.scaling_curve import mean_slowdowns

Make = Callable[..., JobContext]
NODE = {"read": 4e9, "write": 2e9, "memory_bytes": 2 * 10**9}
SIGMA = 0.1


def certain(context: JobContext, *, shared_sigma: float = 0.0) -> JobContext:
    """Return the job on identical nodes that meet their stated rates and are filled to the brim."""
    network = replace(context.rates.network, stated=np.zeros(len(context.catalog.instances), bool))
    return replace(
        context,
        doubts=CERTAIN,
        rates=replace(context.rates, network=network),
        overheads=replace(context.overheads, shared_sigma=shared_sigma, skew=0.0, lost_nodes=0.0),
        spreads=replace(context.spreads, node_sigma={}, network=None),
    )


def estimated(
    context: JobContext,
    nodes: list[float],
    *,
    price: float = 3.6,
    budgeted: bool = False,
    reservations: Reservations | None = None,
) -> Estimates:
    count = len(context.catalog.instances)
    offer = Offer(
        region="here",
        pricing="on-demand",
        price_usd_per_hour=np.full(count, price),
        evidence=("spec",) * count,
        reservations=reservations,
    )
    return estimate(context, offer, nodes=np.array(nodes), budgeted=budgeted)


def test_how_many_are_evaluated_together_changes_nothing(make_context: Make) -> None:
    """10 nodes take 1,650 s, as below."""
    context = certain(make_context({"a": NODE}, max_nodes=70_000))
    sizes = [float(n) for n in range(1, 70_001)]
    many = estimated(context, sizes)
    picked = [7, 63_999, 64_000, 64_006, 64_007, 69_999]
    alone = estimated(context, [sizes[place] for place in picked])
    for together, apart in ((many.expected_s, alone.expected_s), (many.total_usd, alone.total_usd)):
        assert together[0, picked] == pytest.approx(apart[0], rel=1e-9)
    rows = estimated(certain(make_context({f"a{place}": NODE for place in range(65)})), [10.0, 20.0])
    on_disks = rows.expected_s[rows.fewest == 8]
    assert on_disks.tolist() == [[pytest.approx(1650), pytest.approx(850)]] * 65


def test_a_job_and_its_bill_by_hand(make_context: Make) -> None:
    """10 TB on 10 nodes: 1 TB a node is read and written in 750 s in either phase, 0.9 TB sent in 900 s.

    The overheads are 120 s of boot, 60 of installing, 120 of screening, 60 of teardown, 500 of generating and 250 of
    validating; a spare is paid until it is screened. A node costs a tenth of a cent a second.
    """
    context = certain(make_context({"a": NODE}))
    both = estimated(context, [7.0, 10.0])
    assert both.fewest[0] == 8
    assert both.expected_s[0].tolist() == [np.inf, pytest.approx(1650)]
    assert both.total_usd[0].tolist() == [np.inf, pytest.approx(10e-3 * (1650 + 1110) + 1e-3 * 300)]
    assert both.total_p95_usd is None


def test_what_volumes_hold_is_paid_for_as_long_as_the_nodes_are(make_context: Make) -> None:
    """20 TB, input and output, at $0.1 a GiB and 720 h. Ten nodes cost a cent a second, and a spare 30 cents."""
    volume = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "size_bytes_max": 1e15, "free_bytes_per_s": 5e8,
              "read_bytes_per_s_max": 5e8, "write_bytes_per_s_max": 5e8, "price_evidence": "spec",
              "limit_evidence": "spec"}  # fmt: skip
    context = certain(make_context({"a": NODE}, model="cloudsort", files={"volumes": [volume]}))
    volumes_usd, whole_usd = (float(estimated(context, [10.0], price=price).total_usd[0, 0]) for price in (0.0, 3.6))
    billed_s = (whole_usd - volumes_usd - 0.30) / 10e-3
    assert billed_s > 1000
    assert volumes_usd == pytest.approx(2e13 / 2**30 * 0.1 / 720 * billed_s / 3600)


def test_the_fewer_nodes_the_more_of_the_copies_cross_zones(make_context: Make) -> None:
    """1 TB at $1 a GiB: half of the shuffled data, and of the copies all on two nodes and 5/9 on ten."""
    files = {"transfers": [{"transfer": "zone", "price_usd_per_gib": 1.0}]}
    context = certain(make_context({"a": NODE}, model="daytona", data_bytes=10**12, files=files, zones=2))
    both = estimated(context, [2.0, 10.0], price=0.0)
    assert both.total_usd[0].tolist() == pytest.approx([1.5e12 / 2**30, (0.5 + 5 / 9) * 1e12 / 2**30])
    assert both.charges_usd[0] == pytest.approx(1e12 / 2**30)  # the least, on any number of nodes


def test_what_a_run_shares_lengthens_its_mean_and_its_95_percent(make_context: Make) -> None:
    """sigma 0.1: the mean is e^0.005 times the median, the 95% e^0.164485 times."""
    context = certain(make_context({"a": NODE}), shared_sigma=SIGMA)
    both = estimated(context, [10.0], budgeted=True)
    assert both.expected_s[0, 0] == pytest.approx(1650 * math.exp(0.005))
    assert both.total_usd[0, 0] == pytest.approx(10e-3 * (1650 * math.exp(0.005) + 1110) + 0.30)
    assert both.total_p95_usd is not None
    assert both.total_p95_usd[0, 0] == pytest.approx(10e-3 * (1650 * math.exp(0.164485) + 1110) + 0.30, rel=1e-6)


def test_nodes_beyond_a_reservation_cost_more(make_context: Make) -> None:
    """Two of ten, and the spare, cost $1 an hour more."""
    context = certain(make_context({"a": NODE}))
    reserved = Reservations(nodes=np.array([8.0]), above_usd_per_hour=np.array([1.0]))
    both = estimated(context, [10.0], reservations=reserved)
    assert both.total_usd[0, 0] == pytest.approx((10 * 3.6 + 2) * 2760 / 3600 + (3.6 + 1) * 300 / 3600)


def test_the_slowest_node_is_waited_for(make_context: Make) -> None:
    """With disks that differ by sigma 0.3, the slower of two nodes takes 2 e^0.045 Phi(0.3 / sqrt 2) = 1.22176 times as
    long as the median, which moves 1 TB in 2 x 750 s.
    """
    context = certain(make_context({"a": NODE}, data_bytes=2 * 10**12))
    context = replace(context, spreads=replace(context.spreads, node_sigma={"disk": 0.3}))
    network = replace(context.rates.network, flat=np.array([1e12]))
    context = replace(context, rates=replace(context.rates, network=network))
    assert estimated(context, [2.0]).expected_s[0, 0] == pytest.approx(1500 * 1.22176, rel=2e-4)


def test_the_networks_spread_counts_where_a_rate_is_not_that_of_the_slowest(make_context: Make) -> None:
    """Links that differ by sigma 0.3, between two nodes with 0.5 TB each that send half of it: 250 s."""
    context = certain(make_context({"a": NODE | {"read": 1e12, "write": 1e12}}, data_bytes=10**12))
    context = replace(context, spreads=replace(context.spreads, node_sigma={"network": 0.3}))
    sent_s, sorted_s = 250, 0.5e12 / 1.2e9 / 16
    assert estimated(context, [2.0]).expected_s[0, 0] == pytest.approx(sent_s * 1.22176 + sorted_s, rel=2e-4)
    slowest = replace(context.rates.network, slowest_of_n=np.array([True]))
    context = replace(context, rates=replace(context.rates, network=slowest))
    assert estimated(context, [2.0]).expected_s[0, 0] == pytest.approx(sent_s + sorted_s, rel=1e-6)


def tail(resource: str) -> tuple[Straggler, ...]:
    """Return a tail that makes half of the nodes take twice as long."""
    seen = {"zone": "", "slow_fraction": 0.5, "slow_factor": 2.0, "per": "node", "evidence": "measured", "source": "m"}
    return (Straggler(resource=resource, **seen),)  # type: ignore[arg-type]


@pytest.mark.parametrize("tailed", [0, 1, 2])
@pytest.mark.parametrize(
    ("resource", "slowest_of_n", "seconds"),
    [
        ("network", False, 500 * 1.75 + 375),
        ("network", True, 500 + 375),  # the measured rate is already the slowest node's
        ("local_read", False, 500 + 375 * 1.25),  # reading is a third of it: 1 + 0.75 / 3
        ("local_write", False, 375 * 1.5 + 375 * 1.5),  # more than the network's 500 s
    ],
)
def test_a_tail_counts_on_its_own_type_alone(
    make_context: Make, tailed: int, resource: str, slowest_of_n: bool, seconds: float
) -> None:
    """0.5 TB on each of two nodes: 375 s of disks in either phase, 500 s of network in the first. The slower of two is
    slow with chance 3/4.
    """
    types = dict.fromkeys(("a", "b", "c"), NODE | {"network_baseline_bytes_per_s": 5 * 10**8})
    context = certain(make_context(types, data_bytes=10**12))
    context = replace(context, spreads=replace(context.spreads, tails={tailed: tail(resource)}))
    slowest = replace(context.rates.network, slowest_of_n=np.full(3, slowest_of_n))
    context = replace(context, rates=replace(context.rates, network=slowest))
    expected_s = estimated(context, [2.0]).expected_s[context.layouts.first_of_types(), 0]
    by_hand = [seconds if place == tailed else 875 for place in range(3)]
    assert expected_s.tolist() == pytest.approx(by_hand, rel=1e-6)


@pytest.mark.parametrize("tailed", [False, True])
def test_doubtful_rates_are_slower_on_average(make_context: Make, tailed: bool) -> None:
    """Disks that take on average 1.2 times as long as claimed, a network that takes 1.5 times: 500 x 1.5 and 375 x 1.2;
    the same on a type with a tail on its object store, which this job does not use.
    """
    node = NODE | {"network_baseline_bytes_per_s": 5 * 10**8}
    context = certain(make_context({"a": node, "b": node}, data_bytes=10**12))
    slower = {"disk": np.full((2, 8), 1.2), "network": np.full((2, 8), 1.5)}
    context = replace(context, doubts=RateDoubts(slowdowns=slower))
    tails = {1: tail("volume_read")} if tailed else {}
    context = replace(context, spreads=replace(context.spreads, tails=tails))
    expected_s = estimated(context, [2.0]).expected_s[context.layouts.first_of_types(), 0]
    assert expected_s.tolist() == pytest.approx([750 + 450] * 2)


def test_spot_nodes_that_are_taken_back_begin_again(make_context: Make) -> None:
    """Ten nodes interrupted once in 10,000 s each: once in 1,000 s. The job takes 1,650 s after 500 of loading, which
    are lost too: (1000 + 100) x (e^2.15 - 1) - 500.
    """
    risk = Risk(per_node_s=1e-4, replacement_s=100, recovery="reload", evidence="assumed")
    context = replace(certain(make_context({"a": NODE})), risk=risk)
    assert estimated(context, [10.0]).expected_s[0, 0] == pytest.approx(1100 * (math.exp(2.15) - 1) - 500)


def test_charges_come_on_top(make_context: Make) -> None:
    """Two zones: half of 10 TB crosses between them at $0.02 a GiB."""
    files = {"transfers": [{"transfer": "zone", "price_usd_per_gib": 0.02}]}
    context = certain(make_context({"a": NODE}, files=files, zones=2))
    usd = 10e-3 * 2760 + 0.30 + 0.5e13 / 2**30 * 0.02
    assert estimated(context, [10.0]).total_usd[0, 0] == pytest.approx(usd)


def test_a_stated_network_is_slower_at_scale(make_context: Make) -> None:
    """By the scaling prior's mean; a measured one keeps its measured rate."""
    node = NODE | {"network_baseline_bytes_per_s": 5 * 10**8}
    context = certain(make_context({"a": node}, data_bytes=10**12))
    stated = replace(context.rates.network, stated=np.ones(1, bool))
    context = replace(
        context,
        rates=replace(context.rates, network=stated),
        spreads=replace(context.spreads, node_sigma={"cpu": 1e-9}),
    )
    slower = float(mean_slowdowns(np.array([100.0]).tobytes())[0])
    assert slower > 1.1
    sent_s, sorted_s = 0.99e10 / 5e8, 7.5
    assert estimated(context, [100.0]).expected_s[0, 0] == pytest.approx(sent_s * slower + sorted_s, rel=1e-6)


def test_the_order_of_types_does_not_matter(make_context: Make) -> None:
    """Types of 1, 4 and 2 disks of 1 TB hold 3 TB on 4, 1 and 2 nodes, in any order."""
    types = {name: NODE | {"local_disks": disks} for name, disks in (("a", 1), ("b", 4), ("c", 2))}
    context = certain(make_context(types, data_bytes=10**12))
    both, own = estimated(context, [1.0, 2.0, 3.0, 4.0]), context.layouts.first_of_types()
    assert both.fewest[own].tolist() == [4, 1, 2]
    assert np.isfinite(both.expected_s[own]).tolist() == [[False] * 3 + [True], [True] * 4, [False] + [True] * 3]
    # equal on equal numbers of nodes: 250 GB each in 2 x 187.5 s, and 187.5 GB sent in the same time
    assert both.expected_s[own, 3].tolist() == pytest.approx([375.0] * 3)


def test_energy_is_power_times_time(make_context: Make) -> None:
    """Ten nodes of 100 W and a switch of 1,300 W over 1,650 s."""
    context = replace(certain(make_context({"a": NODE})), power_w=np.array([100.0]))
    assert estimated(context, [10.0]).energy_j(np.array([0]))[0, 0] == pytest.approx(2300 * 1650)


def test_one_server_needs_no_switch_and_53_need_two() -> None:
    joules = energy_j(np.full(3, 10.0), nodes=np.array([1.0, 52.0, 53.0]), power_w=np.array([330.0]))
    assert joules == pytest.approx([3300, 52 * 3300 + 10 * SWITCH_POWER_W, 53 * 3300 + 20 * SWITCH_POWER_W])


def test_unknown_power_leaves_the_energy_unknown() -> None:
    assert np.isnan(energy_j(np.array([1.0]), nodes=np.array([2.0]), power_w=np.array([np.nan]))).all()
