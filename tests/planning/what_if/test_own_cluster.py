"""The user's own machines: the time they take, how many are needed, how many still help."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from approvals import Approve

import planner
from planner.errors import BadInputError
from planner.planning.what_if.own_cluster import OwnCluster, OwnMachines
from planner.report.terminal.further_answers import own_text


@pytest.mark.parametrize(
    "text", ["20 x m5d.12xlarge", "20xm5d.12xlarge", "m5d.12xlarge x 20", "20 * m5d.12xlarge", " 20 x m5d.12xlarge "]
)
def test_machines_are_read_in_either_order(text: str) -> None:
    assert OwnMachines.parse(text) == OwnMachines(nodes=20, instance_type="m5d.12xlarge")
    assert str(OwnMachines.parse(text)) == "20 x m5d.12xlarge"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("m5d.12xlarge", "write it as"),
        ("", "write it as"),
        ("0 x m5d.12xlarge", "from 1 to"),
        ("20 x m5d.12xlarge, 5 x i4i.large", "one type of machine"),
        ("20 x m5d.12xlarge + i4i.large x 3", "one type of machine"),
        ("20,30 x m5d.12xlarge", "name one number of machines"),
        ("20, 30 x m5d.12xlarge", "name one number of machines"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, said: str) -> None:
    with pytest.raises(BadInputError, match=said):
        OwnMachines.parse(text)


@pytest.fixture(scope="module")
def own() -> OwnCluster:
    return planner.own("20 x m5d.12xlarge", "3TB")


def test_the_cluster_is_the_one_planned_with_as_many_nodes(own: OwnCluster) -> None:
    assert own.cluster == planner.recommend("3TB", instance="m5d.12xlarge", nodes=20, top=1).best
    assert own.recommended == planner.recommend("3TB").best and own.nodes_needed is None


def test_more_machines_are_looked_at_until_they_hardly_help(own: OwnCluster) -> None:
    times = {cluster.nodes: cluster.whole_run_s for cluster in own.sizes}
    assert list(times)[:3] == [20, 30, 45]
    most = own.helps_up_to
    assert most is not None and most in times
    rising = list(times.items())
    for (smaller, before_s), (_, after_s) in pairwise(rising):
        assert (after_s <= 0.95 * before_s) is (smaller < most)


def test_too_few_machines_name_how_many_are_enough() -> None:
    own = planner.own("20 x m5d.12xlarge", "300TB", instance="i8g.8xlarge")
    assert own.cluster is None and "--nodes" not in own.reason
    needed = own.nodes_needed
    assert needed is not None and own.sizes[0].nodes == needed
    assert f"needs {needed} nodes to hold the data" in own.reason
    assert f"{needed:,} of them would; their bottleneck: " in own_text(own, planner.recommend("300TB").plan)
    assert planner.own(f"{needed} x m5d.12xlarge", "300TB", instance="i8g.8xlarge").cluster is not None
    assert planner.own(f"{needed - 1} x m5d.12xlarge", "300TB", instance="i8g.8xlarge").cluster is None


def test_limits_of_what_may_be_rented_are_not_those_of_machines_that_are_there() -> None:
    asked = {"instance": "i8g.8xlarge", "arch": "arm64", "max_vcpus": 200, "max_nodes": 10, "capacity": {"m5d.*": 3}}
    own = planner.own("20 x m5d.12xlarge", "3TB", **asked)
    assert own.cluster is not None and own.cluster.nodes == 20


def test_machines_that_cannot_do_it_at_any_number_have_the_reason_alone() -> None:
    own = planner.own("20 x m5.24xlarge", "3TB", instance="i8g.8xlarge")
    assert (own.cluster, own.nodes_needed, own.sizes, own.helps_up_to) == (None, None, (), None)
    assert "no local disks" in own.reason


def test_machines_that_a_region_does_not_sell_have_that_reason(approve: Approve) -> None:
    own = planner.own("4 x c3-standard-88-lssd", "1TB", cloud="gcp", region="europe-west10")
    assert own.cluster is None
    approve(own.reason)


def test_a_file_lists_the_machines(tmp_path: Path) -> None:
    instance = {"InstanceType": "i4i.4xlarge", "State": {"Name": "running"}}
    stopped = instance | {"State": {"Name": "stopped"}}
    file = tmp_path / "fleet.json"
    file.write_text(json.dumps({"Reservations": [{"Instances": [instance, stopped, instance]}]}))
    answer = planner.recommend("100GB", instance="i4i.4xlarge")
    own = answer.own(str(file))
    assert own.machines == OwnMachines(nodes=2, instance_type="i4i.4xlarge") and own.listed is not None
    said = "Read as the output of `aws ec2 describe-instances`; not counted: 1 x i4i.4xlarge (stopped)."
    assert said in " ".join(own_text(own, answer.plan).split())


@pytest.mark.parametrize("name", ["fleet.json", "folder/fleet"])
def test_a_file_that_is_not_there_is_named(name: str) -> None:
    with pytest.raises(BadInputError, match="no such file"):
        planner.own(name, "1TB")
