"""Times of runs on platforms: a published sample, each format by its fields, and refused input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from planner.errors import BadInputError
from planner.schemas.platform_runs import PlatformRun, read_platform_run

DATA = Path(__file__).parent / "data"


def read(*documents: Any) -> PlatformRun:
    return read_platform_run({f"f{n}": json.dumps(document) for n, document in enumerate(documents)})


def step(**status: Any) -> dict[str, Any]:
    times = {"StartDateTime": 1399400600.5, "EndDateTime": 1399401200.5}
    return {"Step": {"Name": "sort", "Status": {"State": "COMPLETED", "Timeline": times} | status}}


def dataproc_job(state: str = "DONE") -> dict[str, Any]:
    history = [{"state": name, "stateStartTime": f"2026-11-27T10:{at}Z"} for name, at in (
        ("PENDING", "00:00"), ("SETUP_DONE", "00:01"), ("RUNNING", "00:02.5"))]  # fmt: skip
    status = {"state": state, "stateStartTime": "2026-11-27T10:10:02.500Z"}
    return {
        "reference": {"jobId": "job-1"},
        "placement": {"clusterName": "c"},
        "status": status,
        "statusHistory": history,
    }


DATAPROC_CLUSTER = {
    "clusterName": "c",
    "config": {"workerConfig": {"numInstances": 4, "machineTypeUri": "https://g/machineTypes/n2-standard-8"}},
    "status": {"state": "RUNNING", "stateStartTime": "2026-11-27T09:51:30Z"},
    "statusHistory": [{"state": "CREATING", "stateStartTime": "2026-11-27T09:50:00Z"}],
}


def databricks_run(**more: Any) -> dict[str, Any]:
    return {
        "run_id": 7,
        "run_name": "sort",
        "state": {"life_cycle_state": "TERMINATED", "result_state": "SUCCESS"},
        "setup_duration": 120_000,
        "execution_duration": 600_000,
        "cluster_spec": {"new_cluster": {"node_type_id": "i3.xlarge", "num_workers": 4}},
        **more,
    }


def test_a_published_step_and_cluster_are_one_run() -> None:
    names = ("emr-describe-cluster.json", "emr-describe-step.json")
    run = read_platform_run({name: (DATA / name).read_text("utf-8") for name in names})
    assert (run.platform, run.job) == ("EMR", "Setup hive")
    assert run.job_s == pytest.approx(65.522)  # 19:13:24.959 to 19:14:30.481
    assert run.boot_s == pytest.approx(295.812)
    assert run.machines is not None
    assert (run.machines.nodes, run.machines.instance_type) == (2, "m1.small")


def test_dataproc_in_json_and_in_yaml() -> None:
    run = read(dataproc_job(), DATAPROC_CLUSTER)
    assert (run.platform, run.job, run.job_s, run.boot_s) == ("Dataproc", "job-1", 600.0, 90.0)
    assert run.machines is not None and str(run.machines.nodes) + run.machines.instance_type == "4n2-standard-8"
    texts = {"job": yaml.safe_dump(dataproc_job()), "cluster": yaml.safe_dump(DATAPROC_CLUSTER)}
    assert read_platform_run(texts) == run
    unquoted = {name: text.replace("'", "") for name, text in texts.items()}  # YAML's own dates
    assert read_platform_run(unquoted) == run


def test_a_published_dataproc_cluster_took_so_long_to_come_up() -> None:
    name = "dataproc-clusters-describe.yaml"
    job = json.dumps(dataproc_job())
    run = read_platform_run({"job": job, name: (DATA / name).read_text("utf-8")})
    assert run.boot_s == pytest.approx(200.8787)  # its first start, 18:02:00.300 to 18:05:21.179, not its second
    assert run.machines is not None and (run.machines.nodes, run.machines.instance_type) == (2, "n1-standard-8")


def test_a_published_databricks_cluster_goes_with_its_run() -> None:
    name = "databricks-clusters-get.json"
    run = read_platform_run(
        {"run": json.dumps(databricks_run(cluster_spec={})), name: (DATA / name).read_text("utf-8")}
    )
    assert run.machines is not None and (run.machines.nodes, run.machines.instance_type) == (4, "m6gd.2xlarge")


def test_a_databricks_job_cluster_is_found_by_its_key() -> None:
    task = {"execution_duration": 300_000, "setup_duration": 60_000, "job_cluster_key": "planned"}
    clusters = [
        {"job_cluster_key": "other", "new_cluster": {"node_type_id": "m5.large", "num_workers": 1}},
        {"job_cluster_key": "planned", "new_cluster": {"node_type_id": "i3.xlarge", "num_workers": 6}},
    ]
    run = read(databricks_run(execution_duration=0, cluster_spec={}, tasks=[task], job_clusters=clusters))
    assert run.machines is not None and (run.machines.nodes, run.machines.instance_type) == (6, "i3.xlarge")


def test_databricks_durations_are_milliseconds() -> None:
    run = read(databricks_run())
    assert (run.job_s, run.boot_s) == (600.0, 120.0)
    assert run.machines is not None and (run.machines.nodes, run.machines.instance_type) == (4, "i3.xlarge")
    task = {"execution_duration": 300_000, "setup_duration": 60_000}
    assert read(databricks_run(execution_duration=0, tasks=[task])).job_s == 300.0


@pytest.mark.parametrize(
    ("documents", "said"),
    [
        ([step(State="FAILED")], "the job is FAILED, not COMPLETED"),
        ([dataproc_job("ERROR")], "the job is ERROR, not DONE"),
        ([databricks_run(state={"life_cycle_state": "RUNNING"})], "the job is of no state, not SUCCESS"),
        ([databricks_run(tasks=[{}, {}])], "2 tasks"),
        ([{"Steps": [{}, {}]}], "2 steps; print one"),
        ([step(Timeline={"StartDateTime": 2.0, "EndDateTime": 1.0})], "not after its start"),
        ([step(Timeline={"StartDateTime": 2.0})], "incomplete description"),
        ([step(Timeline={"StartDateTime": "2026-01-01T00:00:00", "EndDateTime": 1.0})], "no time zone"),
        ([step(), step()], "a second job"),
        ([step(), databricks_run()], "of Databricks, and another file of EMR"),
        ([DATAPROC_CLUSTER], "no file describes the job"),
        ([{"a": 1}], "no job or cluster in a known format"),
    ],
)
def test_what_tells_no_time_is_refused(documents: list[Any], said: str) -> None:
    with pytest.raises(BadInputError) as raised:
        read(*documents)
    assert said in str(raised.value)
