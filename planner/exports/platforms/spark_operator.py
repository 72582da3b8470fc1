"""The Spark operator on Kubernetes: a SparkApplication (sparkoperator.k8s.io/v1beta2)."""

from __future__ import annotations

from typing import Any, Final

from planner.exports.order import Order
from planner.exports.platform import Feature, Platform

_TYPE_LABEL: Final = "node.kubernetes.io/instance-type"
_DISKS: Final = "/mnt/k8s-disks/0"
"""Where Karpenter and eksctl mount the RAID 0 of a node's local disks."""
_SYSTEM_CPUS: Final = 1
"""The kubelet and daemons use part of a core on each node, so an executor asks for slightly less than its cores."""


def _write(order: Order) -> dict[str, Any]:
    cores = int(order.spark["spark.executor.cores"])
    executors = int(order.spark["spark.executor.instances"])
    per_node = max(1, executors // order.best.nodes)
    asked = max(0.1, cores - _SYSTEM_CPUS / per_node)
    executor: dict[str, Any] = {
        "instances": executors,
        "cores": cores,
        "coreRequest": f"{asked * 1000:.0f}m",
        "nodeSelector": {_TYPE_LABEL: order.best.machine_type},
    }
    for field in ("memory", "memoryOverhead"):
        if f"spark.executor.{field}" in order.spark:
            executor[field] = order.spark[f"spark.executor.{field}"]
    spec: dict[str, Any] = {
        "type": "Python",
        "mode": "cluster",
        "image": "REPLACE_IMAGE",
        "mainApplicationFile": "REPLACE_PYTHON_FILE",
        "sparkVersion": "3.5.3",
        "restartPolicy": {"type": "Never"},
        "timeToLiveSeconds": 3600,
        "sparkConf": {name: value for name, value in order.spark.items() if not name.startswith("spark.executor.")},
        "driver": {"cores": 4, "memory": "8g", "serviceAccount": "spark", "labels": {"sortplanner": order.name}},
        "executor": executor,
    }
    if order.local_disks:
        volume = "spark-local-dir-1"  # Spark uses volumes with such names as local directories
        spec["volumes"] = [{"name": volume, "hostPath": {"path": _DISKS, "type": "Directory"}}]
        executor["volumeMounts"] = [{"name": volume, "mountPath": "/tmp/spark-local"}]  # within a pod
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {"name": order.name},
        "spec": spec,
    }


PLATFORM: Final = Platform(
    name="spark-operator",
    clouds=frozenset(),
    file_name="spark-application.yaml",
    apply="kubectl apply -f {file}",
    runs="spark",
    features=frozenset({Feature.MACHINE_TYPE, Feature.COUNT, Feature.LOCAL_DISKS}),
    write=_write,
    extra_machines="the pod of the driver, 4 cores and 8 GB of another node",
)
