"""Serverless for Apache Spark on Google Cloud: a Batch, whose executors have sizes instead of machine types."""

from __future__ import annotations

import math
from typing import Any, Final

from planner.exports.order import Order
from planner.exports.platform import Feature, Platform

_RUNTIME: Final = "2.2"
_CORES: Final = 16
_MOST_MIB_PER_CORE: Final = 7424
_LEAST_MIB_PER_CORE: Final = 1024
_EXECUTORS: Final = (2, 2000)
_DISK_GB: Final = (250, 6000)
_MIB: Final = 1 << 20
_HEAP: Final = 1 / 1.1
"""Heap's share of an executor's memory; the rest is overhead."""


def _write(order: Order) -> dict[str, Any]:
    least, most = _EXECUTORS
    executors = min(max(least, math.ceil(order.best.nodes * order.vcpus / _CORES)), most)
    per_core_mib = min(max(order.memory_bytes / order.vcpus / _MIB, _LEAST_MIB_PER_CORE), _MOST_MIB_PER_CORE)
    smallest, largest = _DISK_GB
    needed_gb = order.disk_bytes * order.best.nodes / executors / 1e9
    kept = {name: value for name, value in order.spark.items() if not name.startswith("spark.executor.")}
    properties = kept | {
        "spark.executor.instances": str(executors),
        "spark.executor.cores": str(_CORES),
        "spark.executor.memory": f"{int(per_core_mib * _CORES * _HEAP)}m",
        "spark.dynamicAllocation.enabled": "false",
        "spark.dataproc.executor.disk.size": f"{math.ceil(min(max(needed_gb, smallest), largest) / 375) * 375}g",
        "spark.dataproc.executor.disk.tier": "premium",
    }
    return {
        "labels": {"sortplanner": order.name},
        "runtimeConfig": {"version": _RUNTIME, "properties": properties},
        "environmentConfig": {
            "executionConfig": {
                "subnetworkUri": "REPLACE_SUBNETWORK",
                "ttl": f"{max(600, math.ceil(2 * order.ends_within_s))}s",
            }
        },
        "pysparkBatch": {"mainPythonFileUri": "gs://REPLACE_BUCKET/job.py"},
    }


PLATFORM: Final = Platform(
    name="dataproc-serverless",
    clouds=frozenset({"gcp"}),
    file_name="dataproc-batch.yaml",
    apply="gcloud dataproc batches submit --region {region} --batch {name} --source {file}",
    runs="spark",
    features=frozenset({Feature.END}),
    write=_write,
    extra_machines="the driver, as large as the platform makes it",
)
