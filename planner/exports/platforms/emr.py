"""Amazon EMR on EC2: the input of RunJobFlow, as `aws emr create-cluster --cli-input-yaml` takes it."""

from __future__ import annotations

import math
from typing import Any, Final

from planner.exports.order import Choice, Order
from planner.exports.platform import Feature, Platform

_RELEASE: Final = "emr-7.14.0"
_UNITS: Final = 10
"""Capacity of one node of the chosen type: other types count by their predicted throughput, to a tenth of it."""
_MOST_TYPES: Final = 15
_IDLE_S: Final = 900
_SPOT_MINUTES: Final = 20


def _write(order: Order) -> dict[str, Any]:
    spot = order.spot
    launch = {
        "SpotSpecification": {
            "TimeoutDurationMinutes": _SPOT_MINUTES,
            "TimeoutAction": "SWITCH_TO_ON_DEMAND",
            "AllocationStrategy": "capacity-optimized-prioritized",
        }
    }
    on_demand = {"OnDemandSpecification": {"AllocationStrategy": "prioritized"}}
    capacity = order.best.nodes * _UNITS
    core = {
        "Name": "workers",
        "InstanceFleetType": "CORE",
        "TargetSpotCapacity" if spot else "TargetOnDemandCapacity": capacity,
        "LaunchSpecifications": {**on_demand, **(launch if spot else {})},
        "InstanceTypeConfigs": [_type(choice, rank) for rank, choice in enumerate(order.choices[:_MOST_TYPES])],
    }
    primary = {
        "Name": "primary",
        "InstanceFleetType": "MASTER",
        "TargetOnDemandCapacity": 1,
        "InstanceTypeConfigs": [{"InstanceType": order.best.machine_type, "WeightedCapacity": 1}],
    }
    return {
        "Name": order.name,
        "ReleaseLabel": _RELEASE,
        "LogUri": "s3://REPLACE_BUCKET/emr-logs/",
        "Applications": [{"Name": "Spark"}],
        "ServiceRole": "EMR_DefaultRole",
        "JobFlowRole": "EMR_EC2_DefaultRole",
        "Configurations": [{"Classification": "spark-defaults", "Properties": dict(order.spark)}],
        "AutoTerminationPolicy": {"IdleTimeout": _IDLE_S},
        "Tags": [{"Key": "sortplanner", "Value": order.name}],
        "Instances": {
            "Ec2SubnetIds": ["REPLACE_SUBNET_ID"],
            "KeepJobFlowAliveWhenNoSteps": True,
            "InstanceFleets": [primary, core],
        },
    }


def _type(choice: Choice, rank: int) -> dict[str, Any]:
    config: dict[str, Any] = {
        "InstanceType": choice.machine_type,
        "WeightedCapacity": max(1, round(choice.throughput * _UNITS)),
        "Priority": float(rank),
    }
    volumes = choice.volumes
    if volumes is not None:
        volume = {"VolumeType": volumes.volume_type, "SizeInGB": math.ceil(volumes.bytes_each / 2**30)}
        devices = [{"VolumeSpecification": volume, "VolumesPerInstance": volumes.count}]
        config["EbsConfiguration"] = {"EbsBlockDeviceConfigs": devices, "EbsOptimized": True}
    return config


PLATFORM: Final = Platform(
    name="emr",
    clouds=frozenset({"aws"}),
    file_name="emr.yaml",
    apply="aws emr create-cluster --region {region} --cli-input-yaml file://{file}",
    runs="spark",
    fee="EMR",
    features=frozenset(
        {Feature.MACHINE_TYPE, Feature.COUNT, Feature.NEXT_CHOICES, Feature.LOCAL_DISKS, Feature.VOLUMES, Feature.END}
    ),
    write=_write,
    extra_machines="the primary node, {one_more}",
    list_types_command=f"aws emr list-supported-instance-types --region {{region}} --release-label {_RELEASE}",
)
