"""Times on other clusters, by hand: the small job is 2 + 10 + 5 + 3 s on two nodes of four cores."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spark_events import small_job

from planner.spark.application.application import Application
from planner.spark.model.choices import work_of
from planner.spark.model.machines import Nodes, NodeType
from planner.spark.model.prediction import Work, link_waits_s, shipped_assumptions

Reader = Callable[[Sequence[dict[str, Any]]], Application]
Maker = Callable[..., NodeType]


@pytest.fixture
def work(read: Reader, machine: Maker) -> Work:
    return work_of(read(small_job()), Nodes(machine=machine(), count=2))


def test_the_logged_cluster_takes_what_it_took(work: Work) -> None:
    assert work.predict(work.logged).duration_s == pytest.approx(20)


def test_the_same_machines_under_another_name_take_as_long(work: Work, machine: Maker) -> None:
    prediction = work.predict(Nodes(machine=machine("other"), count=2))
    assert prediction.duration_s == pytest.approx(20)
    assert prediction.low_s < 20 < prediction.high_s
    assert math.sqrt(prediction.low_s * prediction.high_s) == pytest.approx(20)


def test_half_the_slots_take_two_waves(work: Work, machine: Maker) -> None:
    # a single node fetches nothing from others: 5 - 1.5 s a task of the second stage
    assert work.predict(Nodes(machine=machine(), count=1)).duration_s == pytest.approx(5 + 2 * 10 + 2 * 3.5)


def test_half_of_a_processor_doubles_what_computes(work: Work, machine: Maker) -> None:
    limited = work.predict(Nodes(machine=machine("limited", cpu_share=0.5), count=2))
    assert limited.duration_s == pytest.approx(20 + (8 + 0.1 + 0.5) + (2 + 0.1))


def test_faster_cores_shorten_what_computes(work: Work, machine: Maker) -> None:
    # four times the measured speed is twice as fast for Spark: 8.1 of 10 s and 2 of 5 s compute, and 0.5 and 0.1 s
    # collect garbage
    faster = work.predict(Nodes(machine=machine("fast", clock_ghz=8.0), count=2))
    assert shipped_assumptions().speed_exponent == 0.5
    assert faster.duration_s == pytest.approx(20 - (8 + 0.1 + 0.5) / 2 - (2 + 0.1) / 2)


def test_a_slow_network_makes_tasks_wait(work: Work, machine: Maker) -> None:
    slower = machine("slow", network_bytes_per_s=10e6)  # 1.5 s of waits become 150 s at a hundredth of the rate
    assert work.predict(Nodes(machine=slower, count=2)).duration_s == pytest.approx(20 - 1.5 + 150)


def test_no_stage_beats_its_bytes_over_the_network(read: Reader, machine: Maker) -> None:
    events = small_job()
    for event in events:
        if "Task Metrics" in event:
            event["Task Metrics"]["Shuffle Read Metrics"]["Fetch Wait Time"] = 0
    work = work_of(read(events), Nodes(machine=machine(), count=2))
    slower = machine("slow", network_bytes_per_s=10e6)
    # each task of the second stage fetched 40 MB in 0.04 s; half of the 400 MB is on the other node, so it will fetch
    # 25 MB in 2.5 s. Its other work takes 5 s, and four tasks share a link
    before = (4 * 0.04 - 5 + math.sqrt(4.84**2 + 4 * 0.04 * 5)) / 2
    waits = (5 + math.sqrt(75)) / 2 - before
    assert work.predict(Nodes(machine=slower, count=2)).duration_s == pytest.approx(2 + 10 + (5 + waits) + 3)
    assert 5 + waits > 10  # 200 MB over 2 x 10 MB/s


def test_no_stage_beats_its_blocks_over_the_volumes(read: Reader, machine: Maker) -> None:
    events = small_job()
    for event in events:
        if event["Event"] == "SparkListenerTaskEnd" and event["Stage ID"] == 1:
            event["Task Metrics"]["Shuffle Read Metrics"]["Local Blocks Fetched"] = 8999  # and a remote one
    work = work_of(read(events), Nodes(machine=machine(memory_bytes=5e8), count=2))
    volumes = Nodes(machine=machine("volumes", memory_bytes=5e8, disk_ops_per_s=3000.0), count=2)
    # eight tasks take 72,000 blocks from two volumes; the 200 MB that executors leave hold half of their 400 MB
    assert work.predict(volumes).duration_s == pytest.approx(20 - 5 + 36_000 / 6000)
    roomy = Nodes(machine=machine("roomy", memory_bytes=1e9, disk_ops_per_s=3000.0), count=2)
    assert work.predict(roomy).duration_s <= 20


def test_unknown_rates_change_nothing(work: Work, machine: Maker) -> None:
    unknown = machine("dark", network_bytes_per_s=math.nan, disk_bytes_per_s=math.nan)
    assert work.predict(Nodes(machine=unknown, count=2)).duration_s == pytest.approx(20)


def test_memory_ends_a_spill(read: Reader, machine: Maker) -> None:
    events = small_job()
    for event in events:
        metrics = event.get("Task Metrics", {})
        if metrics.get("Disk Bytes Spilled"):
            metrics["Output Metrics"]["Bytes Written"] = 0  # then the waits are the spill's
    work = work_of(read(events), Nodes(machine=machine(), count=2))
    prediction = work.predict(Nodes(machine=machine("large", memory_bytes=64e9), count=2))
    assert prediction.ends_spill
    # 1.3 s of waits end, and garbage collection is halved: 0.5 and 0.1 s
    assert prediction.duration_s == pytest.approx(20 - 1.3 - 0.5 / 2 - 0.1 / 2)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(nodes=st.integers(1, 40), clock=st.floats(0.5, 8), rate=st.floats(1e6, 1e10))
def test_more_of_anything_never_takes_longer(work: Work, machine: Maker, nodes: int, clock: float, rate: float) -> None:
    def seconds(**figures: float) -> float:
        made = machine("x", **{"clock_ghz": clock, "network_bytes_per_s": rate, "disk_bytes_per_s": rate, **figures})
        return work.predict(Nodes(machine=made, count=nodes)).duration_s

    least = seconds() * (1 + 1e-9)
    assert seconds(clock_ghz=2 * clock) <= least
    assert seconds(network_bytes_per_s=2 * rate) <= least
    assert seconds(disk_bytes_per_s=2 * rate) <= least
    assert seconds(memory_bytes=64e9) <= least


def waits(transfer_s: float, other_s: float, *, tasks: int, slots: int) -> float:
    arrays = [np.array([float(x)]) for x in (transfer_s, other_s, tasks, slots)]
    return float(link_waits_s(transfer_s=arrays[0], other_s=arrays[1], tasks=arrays[2], slots_per_node=arrays[3])[0])


@pytest.mark.parametrize(
    ("transfer_s", "other_s", "slots", "seconds"),
    [
        (10, 50, 1, 10),  # one at a time: no task waits for another
        (10, 0, 4, 40),  # tasks that only fetch: each of four waits for all four
        (0, 50, 4, 0),
        # a transfer of 2 s and 3 s of computing: two slots are crowded by 2 x 2 - 3 = 1, (1 + sqrt(1 + 24)) / 2 = 3 s
        (20, 30, 2, 30),
    ],
)
def test_ten_tasks(transfer_s: float, other_s: float, slots: int, seconds: float) -> None:
    assert waits(transfer_s, other_s, tasks=10, slots=slots) == pytest.approx(seconds)


@given(st.floats(0.01, 1e4), st.floats(0, 1e4), st.integers(1, 1000), st.integers(1, 64))
def test_between_the_transfers_alone_and_all_at_once(transfer_s: float, other_s: float, tasks: int, slots: int) -> None:
    seconds = waits(transfer_s, other_s, tasks=tasks, slots=slots)
    assert transfer_s * (1 - 1e-9) <= seconds <= slots * transfer_s * (1 + 1e-9)
    # no link is busy for more than the whole time
    assert (seconds + other_s) / slots >= transfer_s * (1 - 1e-9)


def test_figures_that_nobody_knows_do_not_make_the_same_machines_others(read: Reader, machine: Maker) -> None:
    def nodes() -> Nodes:
        return Nodes(machine=machine(on_demand_usd_per_hour=float("nan"), disk_ops_per_s=float("nan")), count=2)

    work = work_of(read(small_job()), nodes())
    assert work.predict(nodes()) == work.predict(work.logged)
    assert work.predict(Nodes(machine=nodes().machine, count=3)) != work.predict(work.logged)
