"""A smoke test of each cloud: every kind of request, nothing left, and a transcript without names."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from emulated_cloud import QUICK, EmulatedCloud
from emulated_ec2 import EmulatedEc2
from emulated_machines import EmulatedMachines

from planner.clusters.provisioning.smoke import small_choice
from planner.errors import BadInputError, InfeasibleError

SMALL = {"aws": "i4i.large", "gcp": "n2-standard-4+2x375GB", "azure": "Standard_L8s_v3"}
SECRETS = ("AKIAEXAMPLE", "the-secret-of-the-account", "123456789012", "203.0.113.7", "198.51.100.", "ssh-ed25519 ")


def smoke(cloud: EmulatedCloud, out: Path, *more: str) -> tuple[str, ...]:
    words = ("cluster", "smoke", "--cloud", cloud.cloud, "--region", cloud.region, "--instance", SMALL[cloud.cloud])
    return (*words, "--ssh-from", "203.0.113.7/32", "--out", str(out), "--yes", *more)


@pytest.mark.soak
@pytest.mark.quick
def test_every_kind_of_request_is_made_and_written_down(cloud: EmulatedCloud, tmp_path: Path) -> None:
    out = tmp_path / "smoke.jsonl"
    ended = cloud.planner(*smoke(cloud, out))
    assert ended.code == 0, ended.text
    assert "steps went well" in ended.text and "NO " not in ended.text
    assert "its machines cost $" in ended.text
    assert cloud.writes <= {seen.action for seen in cloud.proxy.seen if cloud.is_meant(seen)}
    assert cloud.left() == {}
    text = out.read_text("utf-8")
    exchanges = [json.loads(line) for line in text.splitlines()]
    assert len(exchanges) >= 30 and {exchange["status"] for exchange in exchanges} <= {
        0,
        200,
        201,
        202,
        204,
        400,
        404,
        409,
        412,
    }
    assert [secret for secret in SECRETS if secret in text] == []
    assert re.search(r"<address-\d+>/32", text) and "planner-run" in text


@pytest.mark.soak
@pytest.mark.quick
def test_what_is_refused_is_written_down_and_nothing_is_left(cloud: EmulatedCloud, tmp_path: Path) -> None:
    cloud.world(spot_capacity=dict.fromkeys(cloud.zones, 0), capacity=dict.fromkeys(cloud.zones, 1))
    out = tmp_path / "smoke.jsonl"
    ended = cloud.planner(*smoke(cloud, out, "--json"))
    assert ended.code == 4, ended.text
    assert "launch: no place gave the cluster" in ended.text
    assert out.exists() and cloud.left() == {}


@pytest.mark.soak
@pytest.mark.quick
def test_a_sort_that_cannot_begin_is_a_step_that_failed(
    ec2: EmulatedEc2, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are no wheels for the machines, so no second cluster is rented."""
    monkeypatch.setattr(ec2, "extra", {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)})
    ended = ec2.planner(*smoke(ec2, tmp_path / "smoke.jsonl", "--sort", "--json"))
    assert ended.code == 4, ended.text
    assert "NO  sort 1GB: no wheels for Python" in ended.text and "launch: " not in ended.text.partition("sort 1GB")[2]
    assert ec2.left() == {}


@pytest.mark.soak
@pytest.mark.needs_root(why="machines are network namespaces")
def test_a_gigabyte_is_sorted_on_machines_that_are_logged_in_to(
    ec2: EmulatedEc2, machines: EmulatedMachines, wheels: Path, tmp_path: Path
) -> None:
    """The complete test: two clusters, the second with SSH servers, software, measurements, Ray and the sort."""
    words = smoke(ec2, tmp_path / "smoke.jsonl", "--sort", "--wheelhouse", str(wheels), "--json")
    ended = ec2.planner(*words, policy=replace(QUICK, poll_s=0.2), within_s=900)
    assert ended.code == 0, ended.text
    answer = json.loads(ended.text[ended.text.index('{\n  "version"') :])
    sort = answer["steps"][-1]
    assert sort["name"] == "sort 1GB" and sort["ok"] and "for $" in sort["text"]
    assert ec2.left() == {} and machines.are_gone()


@pytest.mark.soak
@pytest.mark.quick
def test_in_a_network_that_exists_nothing_of_it_is_touched_or_told(ec2: EmulatedEc2, tmp_path: Path) -> None:
    subnet, out = ec2.make_subnet("10.8.1.0/24", zone=ec2.zones[2]), tmp_path / "smoke.jsonl"
    before = ec2.left()
    ended = ec2.planner(*smoke(ec2, out, "--subnet", subnet, "--no-public-address"))
    assert ended.code == 0 and "steps went well" in ended.text, ended.text
    assert ec2.left() == before
    text = out.read_text("utf-8")
    assert "<subnet-1>" in text and subnet not in text


def test_the_cheapest_type_with_disks_or_the_one_that_was_named() -> None:
    """Two i4i.large at $0.172 for a quarter of an hour, root volumes at $2.40 a month, one address: 2 x 0.172 / 4,
    2 x 2.4 / 720 / 4 and 0.005 / 4.
    """
    named = small_choice("aws", region="us-east-1", instance="i4i.large")
    assert (named.nodes, named.total_usd) == (2, pytest.approx(0.086 + 0.0016667 + 0.00125, rel=1e-4))
    for cloud in ("aws", "gcp", "azure"):
        assert small_choice(cloud, region=None, instance=None).total_usd <= 1.0
    with pytest.raises(InfeasibleError, match=r"over \$1.00"):
        small_choice("aws", region=None, instance="i4i.32xlarge")
    with pytest.raises(BadInputError, match="no such type"):
        small_choice("aws", region=None, instance="i4i.tiny")
