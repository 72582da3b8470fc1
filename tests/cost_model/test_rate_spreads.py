"""A type's measured variation, and its network at fewer nodes, show in the plan's range of times."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from approvals import Approve

from planner import recommend as recommend_by
from planner.catalog import load_catalog
from planner.catalog.facts import Straggler
from planner.cost_model.evidence import Spreads, spreads_of
from planner.cost_model.work import Work
from planner.schemas.plan import Candidate

recommend = partial(recommend_by, engine="ideal")
"""The sums here use the equations alone."""

HEAD = "instance_type,quantity,bytes_per_s,disks,nodes,placement_group,aggregate,zone,as_of,instances,repeats,method"
SIGMAS = ",source,within_run_sigma,across_time_sigma,across_instances_sigma"
USUAL = {"disk": 0.055, "network": 0.055, "volumes": 0.055, "cpu": 0.02}
TYPE = "i4i.4xlarge"
ONE = np.ones(1)


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLANNER_MEASUREMENTS", str(tmp_path))
    return tmp_path / "aws.csv"


def measured(mine: Path, *rows: str) -> None:
    mine.write_text("\n".join([HEAD + SIGMAS, *rows]) + "\n")


def disk_row(mode: str, sigmas: str) -> str:
    return f"{TYPE},{mode},2e9,1,,,mean,here,2026-11-01,1,1,fio,a.json,{sigmas}"


def planned(*, nodes: int = 64) -> Candidate:
    best = recommend(data="10TB", model="indy", instances=[TYPE], catalogs=["aws"], nodes=nodes).best
    assert best is not None
    return best


@pytest.mark.parametrize(
    ("sigmas", "expected"),
    [
        ("0.5,,", None),  # within a run it averages out
        (",0.03,", 0.055),  # instances were not compared: never narrower than usual
        (",0.2,", 0.2),
        (",,0.01", 0.01),
        (",0.03,0.04", 0.05),
    ],
)
def test_variation_across_instances_and_time_adds_up_and_within_runs_does_not_count(
    mine: Path, sigmas: str, expected: float | None
) -> None:
    measured(mine, disk_row("read_only", sigmas))
    catalog = load_catalog("aws")
    spreads = spreads_of(catalog, node_sigma=USUAL, network=None, volumes_each=ONE)
    sigma = spreads.measured_sigma.get(catalog.instances.index(TYPE), {})
    assert sigma == ({} if expected is None else {"disk": pytest.approx(expected)})
    assert not spreads_of(catalog, node_sigma={}, network=None, volumes_each=ONE).measured_sigma


@pytest.mark.parametrize(
    ("per", "volumes", "slow"),
    [("node", 4, 0.05), ("volume", 1, 0.05), ("volume", 4, 0.18549375), ("volume", 0, 0.05), ("volume", np.nan, 0.05)],
)
def test_a_node_waits_for_the_slowest_of_its_volumes(per: str, volumes: float, slow: float) -> None:
    """When one volume in twenty is slow, 1 - 0.95^4 = 18.5% of nodes with four volumes have a slow one.

    A node with an unknown number counts as having one.
    """
    tail = Straggler(
        zone="z", resource="volume_read", slow_fraction=0.05, slow_factor=3, per=per, evidence="measured", source="made"
    )
    spreads = Spreads(node_sigma=USUAL, tails={0: (tail,)}, volumes_each=np.array([float(volumes)]))
    assert spreads.slow_nodes(tail, 0) == pytest.approx(slow)
    spread = spreads.of("volumes", type_row=0, slow_factor=lambda tail: tail.slow_factor)
    assert 1 - np.exp(spread.log_cdf_at(np.log(np.array([2.0])))[0]) == pytest.approx(slow, abs=1e-3)


def test_a_tail_slows_its_own_medium_and_direction_alone() -> None:
    """SoCC 2015, section 5.3, by hand: 330 c3.4xlarge read 100 TB of volumes at 243 MB/s in 1,247 s and write them at
    226 MB/s in 1,341 s. Slow readers take 3,741 s for the first; nothing slows the second, which reads local disks.
    """
    fast = {"network": 1e15, "local_read": 1e15, "local_write": 1e15}
    best = recommend(
        data="100TB",
        model="cloudsort",
        catalogs=["aws-2014"],
        instances=["c3.4xlarge"],
        nodes=330,
        assume=fast,
        head_room=0.0,
    ).best
    assert best is not None
    read_s, write_s = (phase.equation_s for phase in best.phases)
    assert (read_s, write_s) == (pytest.approx(1e14 / 330 / 243e6), pytest.approx(1e14 / 330 / 226e6))
    slowest_of_330 = best.time_s.expected / (3 * read_s + write_s)
    assert (
        1.10 < slowest_of_330 < 1.18
    )  # variation of nodes, runs and derived rates; with writes three times slower it would be 1.7


def test_the_time_of_a_slowed_direction() -> None:
    """In turn, 2 s of reading and 6 s of writing: reading at a third takes 6 + 6 s; at once, max(6, 6) s."""
    read, write = np.array([2.0]), np.array([6.0])
    in_turn = Work.alternating(np.ones(1), read_node_s=read, write_node_s=write)
    at_once = Work(total_bytes=np.ones(1), node_seconds=write, read_node_s=read, write_node_s=write)
    assert in_turn.slow_factor("read", factor=3, row=0) == pytest.approx(12 / 8)
    assert in_turn.slow_factor("write", factor=3, row=0) == pytest.approx(20 / 8)
    assert at_once.slow_factor("read", factor=3, row=0) == pytest.approx(1)
    assert at_once.slow_factor("write", factor=3, row=0) == pytest.approx(3)
    assert in_turn.slow_factor("", factor=3, row=0) == 3


def test_a_type_whose_instances_differ_more_takes_longer_but_by_the_equation(mine: Path) -> None:
    times = []
    for sigma in ("0.01", "0.2"):
        measured(mine, *(disk_row(mode, f",,{sigma}") for mode in ("read_only", "write_only")))
        times.append(planned().time_s)
    steady, varied = times
    assert varied.equation == steady.equation
    assert varied.p50 > 1.05 * steady.p50 and varied.expected > 1.05 * steady.expected


def network_rows(*nodes: int) -> list[str]:
    rate = "2e8"  # slow enough to decide
    return [f"{TYPE},network,{rate},,{n},yes,slowest_of_n,here,2026-11-01,{n},1,x,a.json,,," for n in nodes]


def test_an_extrapolated_network_widens_the_range_and_leaves_the_equation(mine: Path) -> None:
    measured(mine, *network_rows(2, 4, 8, 16, 64))
    within = planned(nodes=64)
    measured(mine, *network_rows(2, 4, 8))
    beyond = planned(nodes=64)
    assert any("extrapolated" in warning for warning in beyond.warnings)
    assert not any("network: extrapolated" in warning for warning in within.warnings)
    # flat up to eight nodes, the law predicts a small loss at 64
    assert 1 <= beyond.time_s.equation / within.time_s.equation < 1.2
    widths = [cluster.time_s.p95 / cluster.time_s.p50 - 1 for cluster in (within, beyond)]
    assert widths[1] > 1.3 * widths[0]


def test_a_stated_network_is_expected_to_lose_at_scale_as_a_measured_one_may(mine: Path, approve: Approve) -> None:
    """A document's rate is one point at best. The equation keeps it, the expected time and the 95% do not, so a type
    does not look worse once its network was measured to hold the stated rate.
    """
    slow = {"data": "10TB", "model": "indy", "instances": [TYPE], "catalogs": ["aws"], "nodes": 64}
    stated = recommend(**slow, scale={"network": 0.1}).best
    rate = load_catalog("aws").instances.network_baseline_bytes_per_s[load_catalog("aws").instances.index(TYPE)]
    measured(mine, *[row.replace("2e8", str(float(rate))) for row in network_rows(2, 8, 64)])
    held = recommend(**slow, scale={"network": 0.1}).best
    assert stated is not None and held is not None
    assert stated.phases[0].bottleneck == held.phases[0].bottleneck == "network"
    assert stated.time_s.equation == pytest.approx(held.time_s.equation)
    assert stated.time_s.expected > 1.1 * held.time_s.expected
    assert stated.time_s.p95 > 1.3 * held.time_s.p95
    approve(stated.warnings)


def test_on_one_node_and_for_the_papers_nothing_is_lost_at_scale() -> None:
    alone = recommend(data="1TB", model="indy", instances=[TYPE], catalogs=["aws"], nodes=1).best
    papers = recommend(data="1TB", model="indy", instances=[TYPE], catalogs=["aws"], nodes=64, paper=True).best
    assert alone is not None and papers is not None
    assert not any("how it scales" in warning for warning in (*alone.warnings, *papers.warnings))
    assert papers.time_s.p95 == pytest.approx(papers.time_s.equation)


def test_a_measured_rate_of_sorting_counts_for_its_type(mine: Path) -> None:
    measured(mine, f"{TYPE},sort,1e6,,,,median,here,2026-11-01,1,5,bench,a.json,,,")
    slow = planned()
    assert slow.phases[-1].bottleneck == "cpu"
    nodes, vcpus = 64, float(load_catalog("aws").instances.vcpu[load_catalog("aws").instances.index(TYPE)])
    assert slow.phases[-1].equation_s == pytest.approx(10e12 / nodes / vcpus / 1e6, rel=0.01)
    assert np.isnan(load_catalog("aws").sort_bytes_per_s_per_vcpu).sum() == len(load_catalog("aws").instances) - 1


def test_spares_are_planned_by_what_was_measured_and_paid_until_they_are_sent_away(mine: Path) -> None:
    default = planned()
    assert default.spares == 2  # one in fifty
    modes = ("read_only", "write_only")
    measured(mine, *(disk_row(mode, ",,0.3") for mode in modes))
    varied = planned()
    bill = {line.name: line.usd for line in varied.bill}
    assert varied.spares > 10
    paid_s = sum(varied.overheads_s[name] for name in ("boot", "install", "screen"))
    screening_h = math.ceil(paid_s) / 3600  # whole seconds
    root_usd = bill["root volumes"] * 3600 / varied.whole_run_s / varied.nodes
    assert bill["spares"] == pytest.approx(varied.spares * (varied.price_usd_per_hour + root_usd) * screening_h)
    assert sum(line.usd for line in varied.bill) == pytest.approx(varied.cost_usd.total)
    # the slowest of 64 would take 2.1 times as long as the median
    assert varied.time_s.expected < 1.7 * varied.time_s.equation
    measured(mine, *(disk_row(mode, ",,0.001") for mode in modes))
    assert planned().spares == 0
    measured(mine, *(disk_row(mode, ",0.4,0.3") for mode in modes))
    assert planned().spares == 2  # most of it varies with time
