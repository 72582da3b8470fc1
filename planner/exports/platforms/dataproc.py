"""Dataproc on Compute Engine: a Cluster resource, as `gcloud dataproc clusters import` takes it."""

from __future__ import annotations

import math
from typing import Any, Final

from planner.exports.order import Order
from planner.exports.platform import Feature, Platform

_IMAGE: Final = "2.2-debian12"
_BOOT_DISK_GB: Final = 100
_IDLE_S: Final = 900
_LEAST_LIFE_S: Final = 600
_LIVES: Final = 2
"""The cluster is deleted after this many times the time of 95 of 100 runs, even if it is in use."""
_LEAST_PRIMARY_WORKERS: Final = 2
"""Dataproc requires two workers that are not taken back."""


def _write(order: Order) -> dict[str, Any]:
    nodes, kept = order.best.nodes, min(_LEAST_PRIMARY_WORKERS, order.best.nodes)
    life_s = max(_LEAST_LIFE_S, math.ceil(_LIVES * order.ends_within_s))
    disks: dict[str, Any] = {"bootDiskSizeGb": _BOOT_DISK_GB}
    if order.local_disks:
        disks |= {"numLocalSsds": order.local_disks, "localSsdInterface": "nvme"}
    workers: dict[str, Any] = {
        "numInstances": kept if order.spot else nodes,
        "machineTypeUri": order.best.machine_type,
        "diskConfig": disks,
    }
    config: dict[str, Any] = {
        "gceClusterConfig": {"zoneUri": "", "subnetworkUri": "REPLACE_SUBNETWORK", "internalIpOnly": True},
        "masterConfig": {
            "numInstances": 1,
            "machineTypeUri": order.best.machine_type,
            "diskConfig": {"bootDiskSizeGb": _BOOT_DISK_GB},
        },
        "workerConfig": workers,
        "softwareConfig": {
            "imageVersion": _IMAGE,
            "properties": {f"spark:{name}": value for name, value in order.spark.items()},
        },
        "lifecycleConfig": {"idleDeleteTtl": f"{_IDLE_S}s", "autoDeleteTtl": f"{life_s}s"},
    }
    policy = {"instanceSelectionList": _selections(order)}
    if order.spot and nodes > kept:
        spot = {"numInstances": nodes - kept, "preemptibility": "SPOT", "diskConfig": disks}
        config["secondaryWorkerConfig"] = {**spot, "instanceFlexibilityPolicy": policy}
    elif len(order.alike) > 1:
        workers["instanceFlexibilityPolicy"] = policy
    return {"clusterName": order.name, "labels": {"sortplanner": order.name}, "config": config}


def _selections(order: Order) -> list[dict[str, Any]]:
    """Return the types to choose from. Dataproc counts machines, so only equally fast types qualify."""
    return [{"machineTypes": [choice.machine_type], "rank": rank} for rank, choice in enumerate(order.alike)]


PLATFORM: Final = Platform(
    name="dataproc",
    clouds=frozenset({"gcp"}),
    file_name="dataproc.yaml",
    apply="gcloud dataproc clusters import {name} --region {region} --source {file}",
    runs="spark",
    fee="Dataproc",
    features=frozenset({Feature.MACHINE_TYPE, Feature.COUNT, Feature.NEXT_CHOICES, Feature.LOCAL_DISKS, Feature.END}),
    write=_write,
    extra_machines="the primary node, {one_more}",
)
