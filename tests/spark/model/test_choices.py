"""The choice of a cluster."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from approvals import Approve
from refusals import refused
from spark_events import application_end, application_start, small_job

from planner.report.terminal.spark_answer import advice
from planner.spark.application.application import Application
from planner.spark.model.bounds import explain
from planner.spark.model.choices import select_cluster, work_of
from planner.spark.model.configuration import configuration, first_changes
from planner.spark.model.machines import Nodes, NodeType

Reader = Callable[[Sequence[dict[str, Any]]], Application]
Maker = Callable[..., NodeType]


def test_a_cheaper_type_of_the_same_speed_is_taken(read: Reader, machine: Maker) -> None:
    work = work_of(read(small_job()), Nodes(machine=machine(), count=2))
    plan = select_cluster(work, [machine(), machine("cheap", price_usd_per_hour=0.5)])
    assert plan.best is not None
    assert plan.best.name == "2 x cheap"
    assert plan.logged.cost_usd == pytest.approx(2 * 20 / 3600)
    assert plan.best.cost_usd == pytest.approx(20 / 3600)
    assert plan.best.chance_cheaper > 0.99
    assert plan.best.chance_in_time > 0.8  # of ending within the range of the cluster as it was
    assert (plan.deadline_s, plan.within_s) == (pytest.approx(20), plan.logged.prediction.high_s)
    assert not plan.keep


def test_a_move_needs_a_known_cause_and_a_sure_gain(read: Reader, machine: Maker) -> None:
    logged = Nodes(machine=machine(), count=2)
    sure = select_cluster(work_of(read(small_job()), logged), [machine("cheap", price_usd_per_hour=0.5)])
    assert not sure.keep and sure.best is not None and sure.best.chance_cheaper > 0.8
    waits = small_job()
    for event in waits:
        if event["Event"] == "SparkListenerTaskEnd":
            event["Task Metrics"]["Executor CPU Time"] = 0
    plan = select_cluster(work_of(read(waits), logged), [machine("cheap", price_usd_per_hour=0.5)])
    assert plan.work.steps.unexplained_share > 0.5 and plan.keep
    assert plan.cheapest.nodes.machine.instance_type == "cheap"


def test_no_move_is_made_on_what_failed(read: Reader, machine: Maker, approve: Approve) -> None:
    """How long it takes elsewhere until a job fails is unknown."""
    events = small_job()
    for event in events:
        if event["Event"] == "SparkListenerStageCompleted" and event["Stage Info"]["Stage ID"] == 0:
            event["Stage Info"]["Failure Reason"] = "Job aborted due to stage failure: Task 3 failed 4 times"
    work = work_of(read(events), Nodes(machine=machine(), count=2))
    plan = select_cluster(work, [machine("cheap", price_usd_per_hour=0.5)])
    assert work.steps.lost_share == pytest.approx(10 / 15) and plan.keep
    approve(advice(plan))


def test_of_the_curve_none_is_faster_and_cheaper_and_a_little_slower_one_is_named(read: Reader, machine: Maker) -> None:
    work = work_of(read(small_job(tasks=80)), Nodes(machine=machine(), count=2))
    tight = select_cluster(work, [machine("dear", price_usd_per_hour=3.0), machine()], deadline_s=0.97 * 155)
    costs = [choice.cost_usd for choice in tight.curve]
    times = [choice.prediction.duration_s for choice in tight.curve]
    assert costs == sorted(costs, reverse=True) and times == sorted(times) and len(set(times)) == len(times)
    fast, cheap = machine("fast", clock_ghz=4.0, price_usd_per_hour=3.0), machine("cheap", price_usd_per_hour=0.3)
    plan = select_cluster(work, [fast, cheap], nodes=2, deadline_s=0.97 * 155)
    assert plan.best is not None and plan.best.name == "2 x fast"
    assert plan.slower is not None and plan.slower.name == "2 x cheap"
    kept = select_cluster(work, [machine("same", price_usd_per_hour=1.0)], nodes=1)
    assert kept.keep and kept.slower is None  # half the machines for twice the time save nothing


def test_what_there_is_is_kept_where_nothing_saves_5_percent(read: Reader, machine: Maker) -> None:
    work = work_of(read(small_job()), Nodes(machine=machine(), count=2))
    plan = select_cluster(work, [machine("hardly cheaper", price_usd_per_hour=0.96)])
    assert plan.keep
    assert plan.best is plan.logged


def test_a_deadline_is_met_or_nothing_is(read: Reader, machine: Maker) -> None:
    work = work_of(read(small_job(tasks=80)), Nodes(machine=machine(), count=2))  # ten waves: 155 s
    plan = select_cluster(work, [machine()], deadline_s=60)
    assert plan.best is not None
    assert plan.best.prediction.duration_s <= 60
    surer = select_cluster(work, [machine()], deadline_s=60, confidence=0.95)
    assert surer.best is not None
    assert surer.best.chance_in_time >= 0.95
    assert surer.best.nodes.count > plan.best.nodes.count
    assert select_cluster(work, [machine()], deadline_s=4).best is None  # 5 s without any stage


def test_limits_on_nodes(read: Reader, machine: Maker) -> None:
    work = work_of(read(small_job()), Nodes(machine=machine(), count=2))
    plan = select_cluster(work, [machine("x")], nodes=3, deadline_s=60)
    assert [choice.nodes.count for choice in plan.choices] == [3]
    assert select_cluster(work, [machine("x")], max_vcpus=4).fastest.nodes.count <= 2
    assert select_cluster(work, [machine("x")], max_nodes=2).fastest.nodes.count <= 2


@pytest.mark.parametrize(
    ("figures", "reason"),
    [
        ({"price_usd_per_hour": math.nan}, "its price is unknown"),
        ({"clock_ghz": math.nan}, "nobody measured its processors"),
        ({"instance_type": "t4g.xlarge"}, "runs at its full speed on credit alone"),
        ({"vcpu": 2, "memory_bytes": 8e9}, "smaller than an executor of 4 cores"),
        ({"memory_bytes": 4e9}, "less memory for each core than it had; the log does not tell whether less would do"),
    ],
)
def test_what_is_left_out_has_its_reason(read: Reader, machine: Maker, figures: dict[str, Any], reason: str) -> None:
    work = work_of(read(small_job()), Nodes(machine=machine(), count=2))
    plan = select_cluster(work, [machine(**figures)])
    assert [rejection.reason for rejection in plan.rejected] == [reason]
    assert plan.keep


def test_a_log_without_stages_or_of_gpus_is_refused(read: Reader, machine: Maker) -> None:
    nodes = Nodes(machine=machine(), count=2)
    with refused("no-stage"):
        work_of(read([application_start(), application_end(1_700_000_001_000)]), nodes)
    with refused("gpu-log"):
        work_of(read(small_job(properties={"spark.plugins": "com.nvidia.spark.SQLPlugin"})), nodes)
    with refused("processors-unknown", "m.4"):
        work_of(read(small_job()), Nodes(machine=machine(clock_ghz=math.nan), count=2))


def test_where_the_logged_price_is_unknown_the_cheapest_in_time_is_taken(read: Reader, machine: Maker) -> None:
    work = work_of(read(small_job()), Nodes(machine=machine(price_usd_per_hour=math.nan), count=2))
    plan = select_cluster(work, [machine("x")])
    assert plan.best is not None
    assert (plan.best.name, plan.cheapest.nodes.machine.instance_type) == ("2 x x", "x")
    assert math.isnan(plan.best.chance_cheaper)


def test_by_hand(read: Reader, machine: Callable[..., NodeType]) -> None:
    work = work_of(read(small_job()), Nodes(machine=machine(), count=2))
    large = machine("large", vcpu=16, memory_bytes=64 * 2**30)
    assert configuration(work, Nodes(machine=large, count=3)) == {
        "spark.executor.instances": "6",  # two of 8 cores on each node
        "spark.executor.cores": "8",
        "spark.executor.memory": "23272m",  # 25 of 64 GiB x 0.8 / 2, over 1.1
        "spark.executor.memoryOverhead": "2328m",
        "spark.sql.shuffle.partitions": "96",  # twice 48; 3 would do for the 400 MB
        "spark.sql.adaptive.enabled": "true",
    }


def test_memory_is_that_of_executors_not_of_nodes(read: Reader, machine: Maker, approve: Approve) -> None:
    # executors of 4 cores and 14.3 GiB on nodes of 8 cores, half of them used by no executor
    log = read(small_job(properties={"spark.executor.memory": "13g"}))
    logged = Nodes(machine=machine(vcpu=8, memory_bytes=16e9), count=2)
    work = work_of(log, logged)
    plan = select_cluster(work, [machine("half used"), machine("all used", memory_bytes=8e9)])
    assert [rejection.instance_type for rejection in plan.rejected] == ["all used"]
    approve(plan.rejected[0].reason)


def test_python_workers_live_in_the_overhead(read: Reader, machine: Maker) -> None:
    nodes = Nodes(machine=machine(), count=2)
    work = replace(work_of(read(small_job()), nodes), python=True)
    assert configuration(work, nodes)["spark.executor.memory"] == "8045m"  # 11 of 16 GB x 0.8, over 1.4
    assert configuration(work, nodes)["spark.executor.memoryOverhead"] == "3219m"


def test_what_to_change_first_follows_from_the_bound(read: Reader, approve: Approve) -> None:
    (first,) = first_changes(explain(read(small_job(tasks=1))))
    approve(first)
