"""An application planned on the shipped catalogs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from approvals import Approve
from refusals import refused
from spark_events import (
    START_MS,
    application_end,
    application_start,
    executor_added,
    metrics,
    small_job,
    stage_completed,
    task_end,
)  # fmt: skip

from planner.errors import BadInputError
from planner.report.terminal.spark_answer import answer_lines, fee_text, notes
from planner.report.terminal.spark_explanation import explanation_lines
from planner.schemas.plan import Request
from planner.spark.application.application import Application
from planner.spark.model.bounds import explain
from planner.spark.model.from_log import catalogs_of, logged_nodes, plan_application
from planner.spark.model.machines import Nodes, parse_ran_on

Reader = Callable[[Sequence[dict[str, Any]]], Application]
REQUEST = Request(data_bytes=1, instances=("m5.*", "m6i.*", "m7g.*"))
TYPE = {"spark.databricks.clusterUsageTags.clusterNodeType": "m5.xlarge"}


@pytest.mark.parametrize(
    ("text", "name", "count"),
    [("m5.4xlarge x 4", "m5.4xlarge", 4), ("4 x m5.4xlarge", "m5.4xlarge", 4),
     ("m5.4xlarge*4", "m5.4xlarge", 4), ("10 m5.2xlarge", "m5.2xlarge", 10),
     ("Standard_E8ds_v4", "Standard_E8ds_v4", None), ("n2-standard-8+2x375GB x 3", "n2-standard-8+2x375GB", 3)],
)  # fmt: skip
def test_how_a_cluster_is_written(text: str, name: str, count: int | None) -> None:
    assert parse_ran_on(text) == (name, count)


@pytest.mark.parametrize("text", ["", "4 nodes", "x 4", "m5.xlarge x 0", "m5.xlarge x four"])
def test_what_is_no_cluster_is_refused(text: str) -> None:
    with pytest.raises(BadInputError, match="--ran-on"):
        parse_ran_on(text)


def test_what_the_log_does_not_tell_is_asked_for(read: Reader) -> None:
    with refused("machines-unknown", "--ran-on"):
        plan_application(read(small_job()), REQUEST)
    with refused("unknown-type", "x9.nano"):
        plan_application(read(small_job()), REQUEST, ran_on="x9.nano x 2")
    with refused("unknown-type", "--instance", "m5.4xlarge", field="--instance"):
        plan_application(read(small_job()), replace(REQUEST, instances=("m5.4xlargo",)), ran_on="m5.4xlarge x 2")


def test_the_type_of_the_log_counts_and_the_user_before_it(read: Reader) -> None:
    application = read(small_job(properties=TYPE))
    logged = logged_nodes(application, REQUEST, ran_on=None)
    assert (logged.nodes.name, logged.nodes_source) == ("2 x m5.xlarge", "log")
    told = logged_nodes(application, REQUEST, ran_on="m6i.xlarge x 3")
    assert (told.nodes.name, told.nodes_source) == ("3 x m6i.xlarge", "--ran-on")


def test_a_plan_from_the_shipped_catalog(read: Reader) -> None:
    plan = plan_application(read(small_job(properties=TYPE, tasks=80)), REQUEST)
    assert plan.logged.cost_usd == pytest.approx(2 * 0.192 * plan.deadline_s / 3600)
    assert plan.best is not None
    assert plan.best.cost_usd < plan.logged.cost_usd
    assert plan.best.prediction.duration_s <= plan.deadline_s
    names = {choice.nodes.machine.instance_type.partition(".")[0] for choice in plan.choices}
    assert names <= {"m5", "m6i", "m7g"}
    assert "not asked for" in {rejection.reason.partition(" (")[0] for rejection in plan.rejected}


@pytest.mark.parametrize("key", ["sql.streaming.queryId", "spark.streaming.internal.batchTime"])
def test_the_batches_of_a_stream_are_told(read: Reader, key: str, approve: Approve) -> None:
    events = small_job(properties=TYPE)
    for event in events:
        if event["Event"] == "SparkListenerJobStart":
            event["Properties"] = {key: "1"}
    application = read(events)
    plan = plan_application(application, REQUEST)
    told = next(notes(application, plan, explain(application)))
    approve(told)
    assert told in " ".join(explanation_lines(application, explain(application), width=1000))
    whole = read(small_job(properties=TYPE))
    assert "of a stream" not in " ".join(notes(whole, plan, explain(whole)))


def test_a_cluster_that_contradicts_the_log_is_questioned(read: Reader) -> None:
    application = read(small_job(properties=TYPE))  # 2 hosts, and the log names m5.xlarge

    def asks(ran_on: str | None) -> list[str]:
        plan = plan_application(application, REQUEST, ran_on=ran_on)
        return [note for note in notes(application, plan, explain(application)) if "--ran-on says" in note]

    assert asks(None) == asks("m5.xlarge x 2") == []
    (question,) = asks("m6i.xlarge x 3")  # 3 x 4 virtual CPUs
    assert "names m5.xlarge" in question and "3 x m6i.xlarge, 12 virtual CPUs: is that" in question
    assert "saw executors on 2 hosts" in asks("m5.xlarge x 1")[0]
    assert len(asks("m5.xlarge x 30")) == 1  # 120 virtual CPUs, most of them never seen


def test_a_platforms_fee_is_a_line_and_an_unknown_one_is_said(read: Reader, approve: Approve) -> None:
    def fees(properties: dict[str, str]) -> list[str]:
        application = read(small_job(properties=properties))
        plan = plan_application(application, REQUEST, ran_on="m5.xlarge x 2")
        text = fee_text(application.cluster.platform, plan)
        shown = answer_lines(application, plan, explain(application))
        assert text in " ".join(" ".join(shown).split())  # however many notes there are
        return [text]

    approve(fees({}))
    (emr,) = fees({"spark.emr.default.executor.memory": "4g"})
    # 2 x a quarter of $0.192 an hour, for at least a minute: the job took 20 s
    approve(emr)
    assert "2026-11" in emr
    (elsewhere,) = fees({"spark.dataproc.engine": "default"})
    approve(elsewhere)
    (photon,) = fees({"spark.databricks.clusterUsageTags.sparkVersion": "15.4.x-photon-scala2.12"})
    approve(photon)
    assert "a DBU costs $0.20" in photon
    (glue,) = fees({"spark.glue.JOB_NAME": "a"})
    approve(glue)


@pytest.mark.parametrize(
    ("properties", "fee_usd_per_hour"),
    [({}, 0.0), ({"spark.emr.default.executor.memory": "4g"}, 0.048), ({"spark.dataproc.engine": "default"}, 0.0)],
    ids=["no platform", "EMR", "a platform of another cloud"],
)
def test_a_known_fee_is_in_every_cost(read: Reader, properties: dict[str, str], fee_usd_per_hour: float) -> None:
    """Two m5.xlarge at $0.192; EMR takes a quarter of the price, for a minute at least."""
    plan = plan_application(read(small_job(properties=properties)), REQUEST, ran_on="m5.xlarge x 2")
    lasted_s = plan.logged.prediction.duration_s
    expected = 2 * (0.192 * lasted_s + fee_usd_per_hour * max(60, lasted_s)) / 3600
    assert plan.logged.cost_usd == pytest.approx(expected)


def test_no_cluster_of_dataproc_has_one_worker(read: Reader) -> None:
    """Dataproc takes two at least; of a job as small as this, one machine would do."""
    application = read(small_job(properties={"spark.dataproc.engine": "default"}))
    plan = plan_application(application, replace(REQUEST, catalogs=("gcp",), instances=()), ran_on="n2-standard-4 x 2")
    assert {choice.nodes.count for choice in plan.curve} and min(choice.nodes.count for choice in plan.curve) == 2


def test_no_cluster_is_predicted_faster_than_the_longest_of_many_tasks(read: Reader) -> None:
    """640 tasks of 5 s on 16 slots, and one of 200 s on the first: it ends late, but before the others."""
    begins = [0, *(5000 * (place // 15) for place in range(639))]
    lasts = [200_000, *([5000] * 639)]
    tasks = [
        task_end(
            number, stage=0, launch_ms=START_MS + begin, finish_ms=START_MS + begin + run_ms,
            did=metrics(run_ms=run_ms, cpu_ms=run_ms),
        )
        for number, (begin, run_ms) in enumerate(zip(begins, lasts, strict=True))
    ]  # fmt: skip
    end_ms = max(begin + run_ms for begin, run_ms in zip(begins, lasts, strict=True))
    events = [
        application_start(), executor_added("1", host="a", cores=16), *tasks,
        stage_completed(0, tasks=640, at_ms=START_MS, end_ms=START_MS + end_ms), application_end(START_MS + end_ms),
    ]  # fmt: skip
    plan = plan_application(read(events), REQUEST, ran_on="m5.4xlarge x 1")
    work = plan.work
    for nodes in (2, 8, 32):
        assert work.predict(Nodes(machine=work.logged.machine, count=nodes)).duration_s >= 180
    assert sum(work.timeline.steps[0].durations) == pytest.approx(200 + 639 * 5, rel=0.02)


def test_where_nobody_chooses_machines_the_platforms_own_price_decides(read: Reader) -> None:
    plan = plan_application(read(small_job(properties={"spark.glue.JOB_NAME": "a"})), REQUEST, ran_on="m5.xlarge x 2")
    assert {choice.nodes.machine.instance_type for choice in plan.choices} <= {"m5.xlarge"}
    # Glue takes $0.44 for 4 vCPUs and an hour, for at least a minute
    assert plan.logged.cost_usd == pytest.approx(2 * 0.44 * 60 / 3600)


def test_the_platform_of_a_log_fixes_cloud_and_types(read: Reader) -> None:
    dataproc = read(small_job(properties={"spark.dataproc.listeners": "x"}))
    assert catalogs_of(dataproc, ("aws",), ran_on=["n2-standard-4 x 2"]) == ("gcp",)
    assert catalogs_of(dataproc, ("aws",)) == ("gcp",)
    assert catalogs_of(read(small_job()), ("aws",), ran_on=["n2-standard-4 x 2"]) == ("gcp",)
    assert catalogs_of(read(small_job()), ("azure", "aws")) == ("azure", "aws")
    assert catalogs_of(dataproc, ("aws",), ran_on=["m5.xlarge x 2"]) == ("aws",)
    emr = read(small_job(properties={"spark.emr.default.executor.memory": "4g"}))
    plan = plan_application(emr, Request(data_bytes=1, instances=("m5.*", "i8ge.*")), ran_on="m5.xlarge x 2")
    assert {each.reason for each in plan.rejected if each.instance_type.startswith("i8ge.")} == {
        "EMR does not document it"
    }
