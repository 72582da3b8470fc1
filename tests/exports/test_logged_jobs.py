"""A logged job as a platform's file: its region, its name, its replacements, and room for its shuffle."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
import yaml
from command_line import call
from spark_events import small_job


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


def exported(path: Path, *words: str, platform: str = "dataproc", **how: object) -> str:
    log = logged(path, **how)  # type: ignore[arg-type]
    return call("plan-log", log, "--ran-on", "n2-standard-8 x 4", "--nodes", "3", "--to", platform, *words)


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


def test_a_node_without_local_disks_has_room_for_the_shuffle(tmp_path: Path) -> None:
    only = ("--instance", "e2-standard-8")
    small, large = (
        yaml.safe_load(exported(tmp_path, *only, shuffle_bytes=size))["config"]["workerConfig"]["diskConfig"]
        for size in (10**6, 10**11)
    )
    assert small["bootDiskSizeGb"] == 100
    assert large["bootDiskSizeGb"] * 3 * 10**9 >= 8 * 10**11  # of eight tasks, on three nodes
