"""A logged job as a platform's file: its region, its name, its replacements, and room for its shuffle."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
import yaml
from command_line import call
from spark_events import lines, small_job

from planner.spark.model.platforms import platform_called


def logged(path: Path, *, name: str = "2024-11 nightly", shuffle_bytes: int = 0) -> str:
    """Write the log of a small job under a name, each of whose tasks writes so much shuffle, and return its path."""
    events = small_job(properties={"spark.dataproc.listeners": "x"})
    for event in events:
        if "App Name" in event:
            event["App Name"] = name
        if shuffle_bytes and event.get("Task Metrics"):
            event["Task Metrics"]["Shuffle Write Metrics"]["Shuffle Bytes Written"] = shuffle_bytes
    with gzip.open(path / "app.gz", "wt") as file:
        file.writelines(json.dumps(event) + "\n" for event in events)
    return str(path / "app.gz")


ON_DATAPROC = ("--ran-on", "n2-standard-8 x 4", "--nodes", "3")


def exported(path: Path, *words: str, platform: str = "dataproc", **how: object) -> str:
    log = logged(path, **how)  # type: ignore[arg-type]
    return call("plan-log", log, *ON_DATAPROC, "--to", platform, *words)


def test_the_name_begins_with_a_letter_and_replacements_are_named_once_and_alike(tmp_path: Path) -> None:
    made = exported(tmp_path)
    assert yaml.safe_load(made)["clusterName"].startswith("job-2024-11-nightly")
    types = re.findall(r"^ +- (\w+-\w+-\d+)$", made, flags=re.MULTILINE)
    chosen = re.search(r"planned 3 x (\S+)", made)
    assert chosen is not None and len(types) == len(set(types)) > 1
    assert max(int(name.rpartition("-")[2]) for name in types) <= 2 * int(chosen[1].rpartition("-")[2])


@pytest.mark.parametrize(
    ("regions", "cheaper"),
    [("us-central1", "us-central1"), ("europe-west1", "europe-west1"), ("europe-west1,us-central1", "us-central1")],
)
def test_the_region_is_that_of_the_chosen_machines(tmp_path: Path, regions: str, cheaper: str) -> None:
    assert f"(gcp {cheaper}, on-demand)" in exported(tmp_path, "--region", regions)


def test_the_fee_that_comes_on_top_is_not_in_the_cost(tmp_path: Path) -> None:
    made = exported(tmp_path, "--instance", "n2-standard-32")
    cost = re.search(r"In all \$([\d.]+)\. Dataproc's fee of", " ".join(made.replace("\n#", "").split()))
    told = call("plan-log", logged(tmp_path), *ON_DATAPROC, "--instance", "n2-standard-32", "--json")
    best, platforms = (json.loads(told)[name] for name in ("best", "platforms"))
    (fee_usd,) = [each["fee_usd"] for each in platforms if each["platform"] == "Dataproc"]
    assert cost is not None and float(cost[1]) + fee_usd == pytest.approx(best["cost_usd"], rel=0.01)


def test_a_log_of_no_platform_is_planned_on_the_one_that_takes_its_file(tmp_path: Path) -> None:
    """The cheapest type is one that EMR does not have; Dataproc takes two workers at least."""
    log = tmp_path / "app"
    log.write_bytes(lines(small_job(tasks=80)))
    on = ("plan-log", str(log), "--ran-on")
    anywhere = json.loads(call(*on, "m5.2xlarge x 1", "--instance", "m9g.*,m5.*", "--json"))["best"]["instance_type"]
    assert not platform_called("EMR").accepts(anywhere, cloud="aws")
    assert "InstanceFleets" in call(*on, "m5.2xlarge x 1", "--instance", "m9g.*,m5.*", "--to", "emr")
    made = yaml.safe_load(call(*on, "e2-standard-8 x 2", "--to", "dataproc"))
    assert made["config"]["workerConfig"]["numInstances"] >= 2


def test_a_node_without_local_disks_has_room_for_the_shuffle(tmp_path: Path) -> None:
    only = ("--instance", "e2-standard-8")
    small, large = (
        yaml.safe_load(exported(tmp_path, *only, shuffle_bytes=size))["config"]["workerConfig"]["diskConfig"]
        for size in (10**6, 10**11)
    )
    assert small["bootDiskSizeGb"] == 100
    assert large["bootDiskSizeGb"] * 3 * 10**9 >= 8 * 10**11  # of eight tasks, on three nodes
