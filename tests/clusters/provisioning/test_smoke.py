"""A smoke test of each cloud: every kind of request, nothing left, and a transcript without names."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from emulated_cloud import QUICK, EmulatedCloud, Ended
from emulated_ec2 import EmulatedEc2
from emulated_machines import EmulatedMachines
from replayed_cloud import RUN, Replay

from planner.clusters.provisioning.order_from_plan import user_name
from planner.clusters.provisioning.smoke import small_choice
from planner.errors import BadInputError, InfeasibleError

SMALL = {"aws": "i4i.large", "gcp": "n2-standard-4+2x375GB", "azure": "Standard_L8s_v3"}
RECORDINGS = Path(__file__).parent / "recordings"
SECRETS = ("AKIAEXAMPLE", "the-secret-of-the-account", "123456789012", "203.0.113.7", "198.51.100.", "ssh-ed25519 ")


def smoke(cloud: EmulatedCloud, record: Path, *more: str) -> tuple[str, ...]:
    words = ("cluster", "smoke", "--cloud", cloud.cloud, "--region", cloud.region, "--instance", SMALL[cloud.cloud])
    return (*words, "--ssh-from", "203.0.113.7/32", "--record", str(record), "--yes", *more)


def transcript(record: Path) -> Path:
    (path,) = (path for path in record.iterdir() if not path.stem.endswith("-sort"))
    return path


@pytest.mark.soak
@pytest.mark.quick
def test_every_kind_of_request_is_made_and_written_down(cloud: EmulatedCloud, tmp_path: Path) -> None:
    ended = cloud.planner(*smoke(cloud, tmp_path / "record"))
    assert ended.code == 0, ended.text
    assert "steps went well" in ended.text and "NO " not in ended.text
    assert "its machines cost $" in ended.text
    assert cloud.writes <= {seen.action for seen in cloud.proxy.seen if cloud.is_meant(seen)}
    assert cloud.left() == {}
    text = transcript(tmp_path / "record").read_text("utf-8")
    about, *exchanges = [json.loads(line) for line in text.splitlines()]
    assert (about["cloud"], about["region"], about["instance"]) == (cloud.cloud, cloud.region, SMALL[cloud.cloud])
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
    ended = cloud.planner(*smoke(cloud, tmp_path / "record", "--json"))
    assert ended.code == 4, ended.text
    assert "launch: no place gave the cluster" in ended.text
    assert transcript(tmp_path / "record").exists() and cloud.left() == {}


@pytest.mark.soak
@pytest.mark.quick
def test_a_sort_that_cannot_begin_is_a_step_that_failed(
    ec2: EmulatedEc2, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are no wheels for the machines, so no second cluster is rented."""
    monkeypatch.setattr(ec2, "extra", {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)})
    ended = ec2.planner(*smoke(ec2, tmp_path / "record", "--sort", "--json"))
    assert ended.code == 4, ended.text
    assert "NO  sort 1GB: no wheels for Python" in ended.text and "launch: " not in ended.text.partition("sort 1GB")[2]
    assert ec2.left() == {}


@pytest.mark.soak
@pytest.mark.needs_root(why="machines are network namespaces")
def test_a_gigabyte_is_sorted_on_machines_that_are_logged_in_to(
    ec2: EmulatedEc2, machines: EmulatedMachines, wheels: Path, tmp_path: Path
) -> None:
    """The complete test: two clusters, the second with SSH servers, software, measurements, Ray and the sort."""
    words = smoke(ec2, tmp_path / "record", "--sort", "--wheelhouse", str(wheels), "--json")
    ended = ec2.planner(*words, policy=replace(QUICK, poll_s=0.2), within_s=900)
    assert ended.code == 0, ended.text
    answer = json.loads(ended.text[ended.text.index('{\n  "version"') :])
    sort = answer["steps"][-1]
    assert sort["name"] == "sort 1GB" and sort["ok"] and "for $" in sort["text"]
    assert "RunInstances" in next((tmp_path / "record").glob("r*-sort.jsonl")).read_text("utf-8")
    assert ec2.left() == {} and machines.are_gone()


@pytest.mark.soak
@pytest.mark.quick
def test_in_a_network_that_exists_nothing_of_it_is_touched_or_told(ec2: EmulatedEc2, tmp_path: Path) -> None:
    subnet, out = ec2.make_subnet("10.8.1.0/24", zone=ec2.zones[2]), tmp_path / "record"
    before = ec2.left()
    ended = ec2.planner(*smoke(ec2, out, "--subnet", subnet, "--no-public-address"))
    assert ended.code == 0 and "steps went well" in ended.text, ended.text
    assert ec2.left() == before
    text = transcript(out).read_text("utf-8")
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


@pytest.mark.soak
@pytest.mark.quick
def test_a_transcript_is_a_cloud_on_which_the_same_happens(cloud: EmulatedCloud, tmp_path: Path) -> None:
    cloud.world(spot_capacity=dict.fromkeys(cloud.zones, 0))
    first = cloud.planner(*smoke(cloud, tmp_path / "record", "--json"))
    cloud.world()
    again, unknown = replayed(cloud, transcript(tmp_path / "record"), tmp_path)
    assert unknown == [] and again.code == first.code == 0, again.text
    assert steps(again) == steps(first)
    assert cloud.left() == {}


@pytest.mark.soak
@pytest.mark.quick
@pytest.mark.parametrize("recording", [None, *sorted(RECORDINGS.glob("*.jsonl"))])
def test_recordings_of_accounts_replay(recording: Path | None, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The transcripts in the folder RECORDINGS, as `planner cluster smoke --record` writes them, and one made now."""
    if recording is None:
        ec2: EmulatedEc2 = request.getfixturevalue("ec2")
        ec2.planner(*smoke(ec2, tmp_path / "record"))
        recording = transcript(tmp_path / "record")
    name = json.loads(recording.read_text("utf-8").partition("\n")[0])["cloud"]
    again, unknown = replayed(request.getfixturevalue({"aws": "ec2"}.get(name, name)), recording, tmp_path)
    assert unknown == [] and again.code == 0, again.text


@pytest.mark.soak
@pytest.mark.quick
def test_a_request_that_was_not_recorded_is_named(ec2: EmulatedEc2, tmp_path: Path) -> None:
    ec2.planner(*smoke(ec2, tmp_path / "record"))
    whole = transcript(tmp_path / "record")
    part = tmp_path / "part.jsonl"
    part.write_text(
        "".join(line for line in whole.read_text("utf-8").splitlines(True) if "TerminateInstances" not in line), "utf-8"
    )
    again, unknown = replayed(ec2, part, tmp_path)
    assert again.code != 0 and {name.partition(":")[0] for name in unknown} == {"TerminateInstances"}


def replayed(cloud: EmulatedCloud, recording: Path, tmp_path: Path) -> tuple[Ended, list[str]]:
    """Repeat a recorded trial on the cloud of its transcript; return how it ended, and requests not recorded."""
    private = {user_name(): "person"}
    cloud.proxy.judge = replay = Replay(recording, cloud, private=private)
    words = ("--cloud", cloud.cloud, "--region", replay.about["region"], "--instance", replay.about["instance"])
    more = ("--ssh-from", "203.0.113.7/32", "--record", str(tmp_path / "again"), "--yes", "--json")
    return cloud.planner("cluster", "smoke", *words, *more), replay.unknown


def steps(ended: Ended) -> list[tuple[str, bool, str]]:
    """Return each step's name, whether it went well, and its result."""
    answer = json.loads(ended.text[ended.text.index('{\n  "version"') :].partition("\nerror")[0])
    return [(step["name"], step["ok"], RUN.sub("RUN", step["text"])) for step in answer["steps"]]
