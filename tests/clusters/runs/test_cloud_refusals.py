"""Requests that `planner run --cloud` refuses before they cost anything, and the output of its dry run."""

from __future__ import annotations

import json

import pytest
from emulated_ec2 import EmulatedEc2

from planner.clusters.runs.cloud import check_runnable, types_with_disks
from planner.errors import BadInputError

JOB = ("run", "--cloud", "aws", "--data", "100GB", "--model", "indy", "--nodes", "2")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--cloud", "awss"), 2, "--cloud: 'awss' is none of aws, gcp, azure"),
        (("--data", "150B"), 2, "not a whole number of 100-byte records"),
        (("--model", "cloudsort"), 2, "not on local disks"),
        (("--instance", "m5.large"), 2, "has local disks"),
        (("--wheelhouse", "/nowhere"), 2, "--wheelhouse /nowhere: no such directory"),
        (("--instance", "c6gd.medium"), 2, "c6gd.medium is too small Ray and the sort need 2 vCPUs and 4 GiB"),
        (("--region", "us-east-1,us-esat-1"), 2, "us-esat-1: there is none of this name in aws. Did you mean"),
        (("--reservation", ""), 2, "--reservation is empty: give it a value, or leave it out"),
        (("--max-hours", "1e9h"), 2, "--max-hours 1e9h: machines live 2880h at most"),
        (("--pricing", "reserved"), 2, "use one of on-demand, spot"),
    ],
)
def test_refused_before_anything_is_asked_of_the_cloud(
    ec2: EmulatedEc2, words: tuple[str, ...], code: int, message: str
) -> None:
    at = JOB.index(words[0]) if words[0] in JOB else len(JOB)  # an option takes one value, so this one replaces JOB's
    ended = ec2.planner(*JOB[:at], *JOB[at + 2 :], "--ssh-from", "203.0.113.7/32", "--yes", *words)
    assert (ended.code, message in " ".join(ended.text.split())) == (code, True), ended.text
    assert ec2.proxy.seen == [] and ec2.runs() == []


def test_with_nobody_to_ask_no_software_is_fetched(ec2: EmulatedEc2, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither wheels nor an index can be found here, which would be named if they were looked for."""
    monkeypatch.setattr(ec2, "extra", {"PIP_NO_INDEX": "1"})
    ended = ec2.planner(*JOB, "--ssh-from", "203.0.113.7/32")
    assert ended.code == 2 and "nothing was done: nobody to ask; --yes answers the question" in ended.text, ended.text
    assert "collecting the software" not in ended.text and ec2.runs() == []


def test_a_dry_run_prints_the_requests_of_launch_and_end(ec2: EmulatedEc2) -> None:
    ended = ec2.planner(*JOB, "--dry-run", "--json")
    assert ended.code == 0, ended.text
    decided = json.loads(ended.text)
    assert decided["cost_usd"] > 0 and decided["nodes"] >= 1
    planned = [request["operation"] for request in decided["requests"]]
    assert planned.count("run_instances") == 2 and "terminate_instances" in planned
    assert ec2.left() == {} and ec2.runs() == []


def test_jobs_that_run() -> None:
    for model in ("indy", "daytona"):
        check_runnable(model, data_bytes=100, input=None, output=None)
    check_runnable("object-store", data_bytes=None, input="s3://b/in", output="s3://b/out")


def test_types_with_disks() -> None:
    assert types_with_disks("aws", ["i4i.4xlarge", "i4i.16xlarge", "m5.large"]) == ("i4i.16xlarge", "i4i.4xlarge")
    assert len(types_with_disks("aws", [])) > 40
    with pytest.raises(BadInputError, match="Did you mean"):
        types_with_disks("aws", ["i4i.15xlarge"])
