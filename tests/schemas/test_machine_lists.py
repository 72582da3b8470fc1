"""Lists of machines: each format by its fields, as its command prints them, and the facts each format lacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from planner.errors import BadInputError
from planner.schemas.machine_lists import MachineList, lists_machines, read_machine_list

DATA = Path(__file__).parent / "data"
"""Published samples: README.md names their sources."""


def kubernetes_node(kind: str | None, *, ready: str = "True", **more: Any) -> dict[str, Any]:
    labels = {"node.kubernetes.io/instance-type": kind} if kind else {}
    status = {"conditions": [{"type": "Ready", "status": ready}], "capacity": {"cpu": "48", "memory": "196Gi"}}
    return {"kind": "Node", "metadata": {"labels": labels | more.pop("labels", {})}, "status": status, **more}


def ray_node(*, state: str = "ALIVE", head: bool = False, **labels: str) -> dict[str, Any]:
    room = {"CPU": 48.0, "memory": 130e9}
    return {"node_id": "f0", "is_head_node": head, "state": state, "resources_total": room, "labels": labels}


def slurm_node(*names: str, features: str = "dynamic,c5.xlarge,all", state: str = "IDLE") -> dict[str, Any]:
    return {
        "node": {"state": [state, "CLOUD"]},
        "nodes": {"nodes": list(names), "total": len(names)},
        "cpus": {"minimum": 4, "maximum": 4},
        "features": {"total": features, "active": features},
    }


def ec2_instance(kind: str, state: str = "running") -> dict[str, Any]:
    return {"InstanceType": kind, "State": {"Code": 16, "Name": state}}


def terraform_instance(kind: str, *attributes: dict[str, Any], mode: str = "managed") -> dict[str, Any]:
    return {"mode": mode, "type": kind, "name": "a", "instances": [{"attributes": one} for one in attributes]}


def emr(**groups: Any) -> dict[str, Any]:
    return {"Cluster": {"Id": "j-1", "Status": {"State": "RUNNING"}, **groups}}


def fleet(role: str, units: int, *types: tuple[str, int]) -> dict[str, Any]:
    specs = [{"InstanceType": name, "WeightedCapacity": weight} for name, weight in types]
    capacity = {"ProvisionedOnDemandCapacity": 0, "ProvisionedSpotCapacity": units, "TargetOnDemandCapacity": 0}
    return {"InstanceFleetType": role, "InstanceTypeSpecifications": specs, **capacity}


MASTER = {"InstanceGroupType": "MASTER", "InstanceType": "m5.xlarge", "RequestedInstanceCount": 1}
CORE = {"InstanceGroupType": "CORE", "InstanceType": "m5d.12xlarge", "RequestedInstanceCount": 19}

LISTS: dict[str, tuple[str, Any, int, str, tuple[str, ...]]] = {
    "EMR groups": (
        "aws emr describe-cluster",
        emr(InstanceGroups=[MASTER, CORE | {"RunningInstanceCount": 20}, CORE | {"InstanceGroupType": "TASK"}]),
        39, "m5d.12xlarge", ("1 x m5.xlarge (the master)",),
    ),
    "EMR fleet of one type": (
        "aws emr describe-cluster",
        emr(InstanceFleets=[fleet("MASTER", 1, ("m5.xlarge", 1)), fleet("CORE", 80, ("m5d.12xlarge", 4))]),
        20, "m5d.12xlarge", ("1 x m5.xlarge (the master)",),
    ),
    "EMR instances": (
        "aws emr list-instances",
        {"Instances": [
            *([{"InstanceType": "r5.xlarge", "Status": {"State": "RUNNING"}}] * 3),
            {"InstanceType": "r5.xlarge", "Status": {"State": "TERMINATED"}},
        ]},
        3, "r5.xlarge", ("1 x r5.xlarge (terminated)",),
    ),
    "EC2": (
        "aws ec2 describe-instances",
        {"Reservations": [
            {"Instances": [ec2_instance("i4i.large")] * 2},
            {"Instances": [ec2_instance("i4i.large", "stopped"), ec2_instance("m5.large")]},
        ]},
        2, "i4i.large", ("1 x i4i.large (stopped)", "1 x m5.large"),
    ),
    "Dataproc": (
        "gcloud dataproc clusters describe",
        {"clusterName": "c", "config": {
            "masterConfig": {"numInstances": 1, "machineTypeUri": "https://g/zones/z/machineTypes/n1-standard-4"},
            "workerConfig": {
                "numInstances": 8, "machineTypeUri": "https://g/zones/z/machineTypes/n1-highmem-96",
                "diskConfig": {"numLocalSsds": 8},
            },
            "secondaryWorkerConfig": {"preemptibility": "SPOT"},
        }},
        8, "n1-highmem-96+8x375GB", ("1 x n1-standard-4 (the master)",),
    ),
    "Compute Engine": (
        "gcloud compute instances list --format json",
        [
            {"machineType": "https://g/zones/z/machineTypes/c3-standard-8-lssd", "status": "RUNNING",
             "disks": [{"type": "PERSISTENT"}, {"type": "SCRATCH"}]},
            {"machineType": "https://g/zones/z/machineTypes/c3-standard-8-lssd", "status": "TERMINATED"},
        ],
        1, "c3-standard-8-lssd", ("1 x c3-standard-8-lssd (terminated)",),
    ),
    "Databricks": (
        "databricks clusters get",
        {"spark_version": "15.4", "node_type_id": "i3.xlarge", "driver_node_type_id": "m5.large", "num_workers": 7},
        7, "i3.xlarge", ("1 x m5.large (the driver)",),
    ),
    "Databricks that scales": (
        "databricks clusters get",
        {"spark_version": "15.4", "node_type_id": "i3.xlarge", "executors": [{}] * 4,
         "autoscale": {"min_workers": 2, "max_workers": 9}},
        4, "i3.xlarge", ("1 x i3.xlarge (the driver)",),
    ),
    "Kubernetes": (
        "kubectl get nodes -o json",
        {"kind": "List", "apiVersion": "v1", "items": [
            kubernetes_node("m5.xlarge", labels={"node-role.kubernetes.io/control-plane": ""}),
            *([kubernetes_node("m5d.12xlarge")] * 3),
            kubernetes_node("m5d.12xlarge", ready="False"),
            kubernetes_node("m5d.12xlarge", spec={"unschedulable": True}),
        ]},
        3, "m5d.12xlarge",
        ("1 x m5.xlarge (control plane)", "1 x m5d.12xlarge (not ready)", "1 x m5d.12xlarge (cordoned)"),
    ),
    "Ray with labels": (
        "ray list nodes --format json",
        [ray_node(head=True), *([ray_node(**{"ray.io/instance-type": "i4i.large"})] * 2), ray_node(state="DEAD")],
        2, "i4i.large", ("1 x machines (the head)", "1 x machines (dead)"),
    ),
    "Slurm, a node in two partitions": (
        "sinfo --json",
        {"sinfo": [slurm_node("a1", "a2"), slurm_node("a1", "a2"), slurm_node("a3", state="DOWN")]},
        2, "c5.xlarge", ("1 x c5.xlarge (down)",),
    ),
    "Slurm 21.08, features as a text, a node that drains": (
        "sinfo --json",
        {"meta": {}, "nodes": [
            {"name": name, "cpus": 4, "features": "dynamic,c5.xlarge,all", "state": "idle", "state_flags": flags}
            for name, flags in (("a1", []), ("a2", ["DRAIN"]), ("a3", []))
        ]},
        2, "c5.xlarge", ("1 x c5.xlarge (drain)",),
    ),
    "Terraform state": (
        "terraform show -json",
        {"version": 4, "terraform_version": "1.9.0", "resources": [
            terraform_instance("aws_instance", *([{"instance_type": "i4i.large"}] * 5)),
            terraform_instance("aws_instance", {"instance_type": "m5.large"}, mode="data"),
            terraform_instance("aws_autoscaling_group", {"desired_capacity": 3}),
            terraform_instance("aws_vpc", {}),
        ]},
        5, "i4i.large", ("1 x aws_autoscaling_group (the state does not have its machines)",),
    ),
    "Terraform shown": (
        "terraform show -json",
        {"format_version": "1.0", "terraform_version": "1.9.0", "values": {"root_module": {"child_modules": [
            {"resources": [{
                "mode": "managed", "type": "azurerm_linux_virtual_machine_scale_set",
                "values": {"sku": "Standard_L8s_v3", "instances": 6},
            }]},
        ]}}},
        6, "Standard_L8s_v3", (),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(LISTS))
def test_a_format_is_known_by_its_fields(name: str) -> None:
    source, document, nodes, kind, unused = LISTS[name]
    expected = MachineList(source=source, nodes=nodes, instance_type=kind, unused=unused)
    assert read_machine_list(json.dumps(document), where="f") == expected


@pytest.mark.parametrize("name", ["Dataproc", "Kubernetes", "Ray with labels", "EMR groups"])
def test_the_same_is_read_from_yaml(name: str) -> None:
    _, document, *_ = LISTS[name]
    for head in ("", "---\n", "# printed today\n"):
        text = head + yaml.safe_dump(document, sort_keys=False)
        assert read_machine_list(text, where="f") == read_machine_list(json.dumps(document), where="f")


@pytest.mark.parametrize(
    ("file", "nodes", "kind", "unused"),
    [
        ("emr-describe-cluster.json", 2, "m1.small", ("1 x m1.small (the master)",)),
        ("databricks-clusters-get.json", 4, "m6gd.2xlarge", ("1 x m6gd.xlarge (the driver)",)),
        ("dataproc-clusters-describe.yaml", 2, "n1-standard-8", ("1 x n1-standard-8 (the master)",)),
        ("terraform.tfstate.json", 1, "t3.nano", ()),
        ("sky-status.txt", 2, "m4.2xlarge", ("2 x m4.2xlarge (stopped)", "1 x c6i.2xlarge")),
    ],
)
def test_published_samples_are_read(file: str, nodes: int, kind: str, unused: tuple[str, ...]) -> None:
    made = read_machine_list((DATA / file).read_text("utf-8"), where=file)
    assert (made.nodes, made.instance_type, made.unused) == (nodes, kind, unused)


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("emr-list-instances.json", "no machine that works on data; it has 1 x m3.xlarge (terminated)"),
        ("kubectl-get-node.json", "no machine that works on data; it has 1 x machines (control plane)"),
        ("sinfo-21.08.json", "names no machine type; write --ran-on '3 x TYPE', the type of the 3 with 64 CPUs"),
        ("sinfo-23.02.json", "names no machine type; write --ran-on '1 x TYPE', the type of the 1 with 1 CPU"),
        ("emr-list-instances-groups.json", "names no machine type; write --ran-on '1 x TYPE'"),
    ],
)
def test_published_samples_that_do_not_tell(file: str, said: str) -> None:
    with pytest.raises(BadInputError) as raised:
        read_machine_list((DATA / file).read_text("utf-8"), where=file, option="--ran-on")
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("resources", "nodes", "kind"),
    [
        ("2x(cpus=8, mem=32, m6i.2xlarge, ...)", 2, "m6i.2xlarge"),
        ("3x(cpus=8, mem=32, type=n2-standard-8)", 3, "n2-standard-8"),
        ("1x Azure(Standard_D8s_v5)", 1, "Standard_D8s_v5"),
    ],
)
def test_sky_status_with_the_cloud_in_a_column_of_its_own(resources: str, nodes: int, kind: str) -> None:
    rows = [("NAME", "INFRA", "RESOURCES", "STATUS", "AUTOSTOP"), ("a", "AWS (us-east-1)", resources, "UP", "-")]
    text = "\n".join(f"{a:<6}{b:<18}{c:<44}{d:<8}{e}" for a, b, c, d, e in rows)
    made = read_machine_list(text, where="f")
    assert (made.source, made.nodes, made.instance_type) == ("sky status", nodes, kind)


def test_two_clusters_alike_are_no_question() -> None:
    rows = [("NAME", "RESOURCES", "STATUS"), ("a", "2x AWS(m4.2xlarge)", "UP"), ("b", "2x AWS(m4.2xlarge)", "UP")]
    made = read_machine_list("\n".join(f"{a:<6}{b:<24}{c}" for a, b, c in rows), where="f")
    assert (made.nodes, made.instance_type, made.unused) == (2, "m4.2xlarge", ("2 x m4.2xlarge",))


@pytest.mark.parametrize(
    ("text", "nodes", "kind"),
    [
        ("instance_type,count\nm5.large,20\ni3.large,3\n", 20, "m5.large"),
        ("host;Machine Type\na;m5.large\nb;m5.large\nc;i3.large\n", 2, "m5.large"),
    ],
)
def test_a_spreadsheet_has_a_row_for_each_type_or_machine(text: str, nodes: int, kind: str) -> None:
    made = read_machine_list(text, where="f")
    assert (made.nodes, made.instance_type, len(made.unused)) == (nodes, kind, 1)
    assert made.origin == "CSV with columns instance_type and count"
    with pytest.raises(BadInputError, match="planner catalog new mine"):
        read_machine_list("host,cores\na,64\n", where="f")
    for wrong in ("type,count\nm5.large,many\n", "count,type\n3\n"):
        with pytest.raises(BadInputError, match="f: line 2 has no type, or no number of machines"):
            read_machine_list(wrong, where="f")


def test_text_of_no_format_is_no_list_of_machines() -> None:
    for text in ("hello: world", '{"request": 1}', "a,b\n1,2\n", "", "<html>"):
        assert not lists_machines(text)
    assert lists_machines((DATA / "sky-status.txt").read_text("utf-8"))


STATUS = """======== Autoscaler status: 2026-11-26 ========
Node status
---------------------------------------------------------------
Active:
 1 ray.head.default
 12 ray.worker.default
Pending:
 (no pending nodes)
Recent failures:
 (no failures)
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (STATUS, "names no machine type; write --own '12 x TYPE'"),
        (STATUS.replace("Active:", "Healthy:"), "names no machine type; write --own '12 x TYPE'"),
        (STATUS.replace("Pending:", "Idle:\n 3 ray.spare.default\nPending:"), "write --own '15 x TYPE'"),
        ([ray_node() | {"resources_total": {"CPU": 4.0, "memory": "22.400 GiB"}}], "4 CPUs and 22.400 GiB for tasks"),
        ("a: [1\nb", "broken YAML"),
        ("NAME  RESOURCES  STATUS\na     what       UP", "not what `sky status` prints"),
        ("NAME  RESOURCES            STATUS\na     1x(cpus=4, ...)      UP", "the type of the 1 with a: cpus=4, ..."),
        ([ray_node()] * 3, "'3 x TYPE', the type of the 3 with 48 CPUs and 130 GB for tasks"),
        ({"sinfo": [slurm_node("a", "b", features="(null)")]}, "'2 x TYPE', the type of the 2 with 4 CPUs"),
        (
            {"kind": "NodeList", "apiVersion": "v1", "items": [kubernetes_node(None)]},
            "'1 x TYPE', the type of the 1 with 48 vCPUs and 196Gi of memory",
        ),
        (
            {"spark_version": "1", "node_type_id": "i3.xlarge", "autoscale": {"min_workers": 2, "max_workers": 9}},
            "9 x i3.xlarge (2 to 9 workers, by load: say how many)",
        ),
        (emr(InstanceFleets=[fleet("CORE", 8, ("a.large", 1), ("b.large", 1))]), "list-instances` prints how many"),
        ({"Reservations": []}, "lists no machine that works on data"),
        (
            {"Reservations": [{"Instances": [ec2_instance("a.large"), ec2_instance("b.large")]}]},
            "--own '1 x a.large' or --own '1 x b.large'",
        ),
        ({"Reservations": [{"Instances": [{}]}]}, "not what `aws ec2 describe-instances` prints"),
        ({"kind": "List", "apiVersion": "v1", "items": [{"kind": "Pod"}]}, "no machines in a known format"),
        ("hello", "no machines in a known format"),
        ([], "no machines in a known format"),
    ],
)
def test_what_a_list_does_not_tell_is_an_error(text: Any, said: str) -> None:
    with pytest.raises(BadInputError, match=r"^f: ") as raised:
        read_machine_list(text if isinstance(text, str) else json.dumps(text), where="f")
    assert said in str(raised.value)
