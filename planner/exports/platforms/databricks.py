"""Databricks: a job with its own cluster, as an asset bundle (`databricks.yml`)."""

from __future__ import annotations

import math
from typing import Any, Final

from planner.exports.order import Order
from planner.exports.platform import Feature, Platform

_RUNTIME: Final = "15.4.x-scala2.12"
_LIVES: Final = 2
_AVAILABILITY: Final = {
    "aws": ("ON_DEMAND", "SPOT_WITH_FALLBACK"),
    "azure": ("ON_DEMAND_AZURE", "SPOT_WITH_FALLBACK_AZURE"),
    "gcp": ("ON_DEMAND_GCP", "PREEMPTIBLE_WITH_FALLBACK_GCP"),
}
_EBS_KINDS: Final = {"gp2": "GENERAL_PURPOSE_SSD", "gp3": "GENERAL_PURPOSE_SSD", "st1": "THROUGHPUT_OPTIMIZED_HDD"}


def _write(order: Order) -> dict[str, Any]:
    best = order.best
    cluster: dict[str, Any] = {
        "spark_version": _RUNTIME,
        "node_type_id": best.machine_type,
        "driver_node_type_id": best.machine_type,
        "num_workers": best.nodes,
        f"{order.cloud}_attributes": _attributes(order),
        "spark_conf": dict(order.spark),
        "custom_tags": {"sortplanner": order.name},
    }
    job = {
        "name": order.name,
        "timeout_seconds": math.ceil(_LIVES * order.ends_within_s),
        "max_concurrent_runs": 1,
        "job_clusters": [{"job_cluster_key": "planned", "new_cluster": cluster}],
        "tasks": [
            {
                "task_key": "sort",
                "job_cluster_key": "planned",
                "spark_python_task": {"python_file": "REPLACE_PYTHON_FILE"},
            }
        ],
    }
    return {"bundle": {"name": order.name}, "resources": {"jobs": {"sort": job}}}


def _attributes(order: Order) -> dict[str, Any]:
    cloud, volumes = order.cloud, order.best.volumes
    on_demand, spot = _AVAILABILITY[cloud]
    attributes: dict[str, Any] = {"availability": spot if order.spot else on_demand}
    if cloud == "gcp":
        return attributes | ({"local_ssd_count": order.local_disks} if order.local_disks else {})
    attributes["first_on_demand"] = 1
    if cloud == "aws":
        attributes["zone_id"] = "auto"
        if volumes is not None and volumes.volume_type in _EBS_KINDS:
            attributes |= {
                "ebs_volume_type": _EBS_KINDS[volumes.volume_type],
                "ebs_volume_count": volumes.count,
                "ebs_volume_size": math.ceil(volumes.bytes_each / 2**30),
            }
    return attributes


PLATFORM: Final = Platform(
    name="databricks",
    clouds=frozenset(_AVAILABILITY),
    file_name="databricks.yml",
    apply="databricks bundle deploy && databricks bundle run sort",
    runs="spark",
    fee="Databricks",
    features=frozenset({Feature.MACHINE_TYPE, Feature.COUNT, Feature.LOCAL_DISKS, Feature.VOLUMES, Feature.END}),
    write=_write,
    extra_machines="the node of the driver, {one_more}",
    list_types_command="databricks clusters list-node-types",
)
