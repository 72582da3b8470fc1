"""EMR Serverless: the input of CreateApplication. It has workers of fixed sizes instead of machines."""

from __future__ import annotations

import math
from typing import Any, Final

from planner.exports.order import Order
from planner.exports.platform import Feature, Platform

_RELEASE: Final = "emr-7.5.0"
_WORKER_VCPUS: Final = 16
_WORKER_MEMORY_GB: Final = (32, 120)
"""Memory of a worker of 16 vCPUs: from 32 to 120 GB, in steps of 8."""
_STEP_GB: Final = 8
_DISK_GB: Final = (20, 2000)
"""Size limits of a shuffle-optimized disk."""


def _write(order: Order) -> dict[str, Any]:
    workers = math.ceil(order.best.nodes * order.vcpus / _WORKER_VCPUS)
    least, most = _WORKER_MEMORY_GB
    asked_gb = order.memory_bytes / order.vcpus * _WORKER_VCPUS / 2**30
    memory_gb = min(max(least, int(asked_gb) // _STEP_GB * _STEP_GB), most)
    needed_gb = order.disk_bytes * order.best.nodes / workers / 1e9
    smallest, largest = _DISK_GB
    worker = {
        "cpu": f"{_WORKER_VCPUS} vCPU",
        "memory": f"{memory_gb} GB",
        "disk": f"{min(max(smallest, math.ceil(needed_gb)), largest)} GB",
        "diskType": "SHUFFLE_OPTIMIZED",
    }
    driver = {"cpu": "4 vCPU", "memory": "16 GB"}
    return {
        "name": order.name,
        "releaseLabel": _RELEASE,
        "type": "SPARK",
        "architecture": "ARM64" if order.architecture == "arm64" else "X86_64",
        "initialCapacity": {
            "DRIVER": {"workerCount": 1, "workerConfiguration": driver},
            "EXECUTOR": {"workerCount": workers, "workerConfiguration": worker},
        },
        "maximumCapacity": {"cpu": f"{workers * _WORKER_VCPUS + 4} vCPU", "memory": f"{workers * memory_gb + 16} GB"},
        "autoStartConfiguration": {"enabled": True},
        "autoStopConfiguration": {"enabled": True, "idleTimeoutMinutes": 15},
        "runtimeConfiguration": [{"classification": "spark-defaults", "properties": _properties(order)}],
        "tags": {"sortplanner": order.name},
    }


def _properties(order: Order) -> dict[str, str]:
    """Return Spark's properties without those of executors, which are workers here."""
    return {name: value for name, value in order.spark.items() if not name.startswith("spark.executor.")}


PLATFORM: Final = Platform(
    name="emr-serverless",
    clouds=frozenset({"aws"}),
    file_name="emr-serverless.yaml",
    apply="aws emr-serverless create-application --region {region} --cli-input-yaml file://{file}",
    runs="spark",
    fee="EMR Serverless",
    features=frozenset({Feature.END}),
    write=_write,
    extra_machines="the driver, 4 vCPUs and 16 GB",
)
