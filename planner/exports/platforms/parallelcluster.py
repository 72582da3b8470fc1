"""AWS ParallelCluster 3: a Slurm cluster with a queue for each of the plan's choices, all in placement groups."""

from __future__ import annotations

from typing import Any, Final

from planner.exports.order import Choice, Order
from planner.exports.platform import Feature, Platform

_MOST_QUEUES: Final = 4
_DISKS: Final = "/scratch"


def _write(order: Order) -> dict[str, Any]:
    return {
        "Region": order.region,
        "Image": {"Os": "ubuntu2204"},
        "HeadNode": {
            "InstanceType": "m7g.large" if order.architecture == "arm64" else "m7i.large",
            "Networking": {"SubnetId": "REPLACE_SUBNET_ID"},
            "Ssh": {"KeyName": "REPLACE_KEY_NAME"},
        },
        "Scheduling": {
            "Scheduler": "slurm",
            "SlurmSettings": {"ScaledownIdletime": 5},
            "SlurmQueues": [
                _queue(order, choice, f"choice{rank}") for rank, choice in enumerate(order.choices[:_MOST_QUEUES], 1)
            ],
        },
        "Tags": [{"Key": "sortplanner", "Value": order.name}],
    }


def _queue(order: Order, choice: Choice, name: str) -> dict[str, Any]:
    compute = {"Name": "nodes", "InstanceType": choice.machine_type, "MinCount": 0, "MaxCount": choice.nodes}
    queue: dict[str, Any] = {
        "Name": name,
        "CapacityType": "SPOT" if order.spot else "ONDEMAND",
        "ComputeResources": [compute],
        "Networking": {"SubnetIds": ["REPLACE_SUBNET_ID"], "PlacementGroup": {"Enabled": choice.placement_group}},
    }
    if choice.local_disks:
        queue["ComputeSettings"] = {"LocalStorage": {"EphemeralVolume": {"MountDir": _DISKS}}}
    return queue


PLATFORM: Final = Platform(
    name="parallelcluster",
    clouds=frozenset({"aws"}),
    file_name="pcluster.yaml",
    apply="pcluster create-cluster --cluster-name {name} --region {region} --cluster-configuration {file}",
    runs="",
    features=frozenset(
        {
            Feature.MACHINE_TYPE,
            Feature.COUNT,
            Feature.NEXT_CHOICES,
            Feature.LOCAL_DISKS,
            Feature.PLACEMENT_GROUP,
            Feature.END,
        }
    ),
    write=_write,
    extra_machines="the head node, which is paid for until the cluster is deleted",
)
