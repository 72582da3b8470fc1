"""KubeRay: a RayJob that makes a Ray cluster of the plan's nodes, sorts on it, and ends with it."""

from __future__ import annotations

import math
from typing import Any, Final

from planner.exports.order import Order
from planner.exports.platform import Feature, Platform
from planner.exports.ray_sort import sort_command

_TYPE_LABEL: Final = "node.kubernetes.io/instance-type"
_DISKS: Final = "/mnt/k8s-disks/0"
_INSIDE: Final = "/data"
_FOR_PODS: Final = 0.9
"""Share of a node's memory that a pod may ask for; the rest is the kubelet's and the daemons'."""
_RAY_VERSION: Final = "2.60.0"
"""From 2.52 on Ray checks tokens. From KubeRay 1.5.1 on the operator creates one and passes it to all pods."""


def _write(order: Order) -> dict[str, Any]:
    cpus = max(1, order.vcpus - 1)
    resources: dict[str, Any] = {"cpu": str(cpus)}
    if order.memory_bytes:
        resources["memory"] = f"{order.memory_bytes * _FOR_PODS / 2**30:.0f}Gi"
    worker = _pod(order, name="ray-worker", resources=resources)
    worker["nodeSelector"] = {_TYPE_LABEL: order.best.machine_type}
    head = _pod(order, name="ray-head", resources={"cpu": "4", "memory": "16Gi"})
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": order.name},
        "spec": {
            "entrypoint": sort_command(order, address="auto", program="planner"),
            "shutdownAfterJobFinishes": True,
            "ttlSecondsAfterFinished": 60,
            "activeDeadlineSeconds": math.ceil(order.ends_within_s),
            "rayClusterSpec": {
                "rayVersion": _RAY_VERSION,
                "authOptions": {"mode": "token"},
                "headGroupSpec": {"rayStartParams": {"num-cpus": "0"}, "template": {"spec": head}},
                "workerGroupSpecs": [
                    {
                        "groupName": "workers",
                        "replicas": order.best.nodes,
                        "minReplicas": order.best.nodes,
                        "maxReplicas": order.best.nodes,
                        "rayStartParams": {"num-cpus": str(cpus)},
                        "template": {"spec": worker},
                    }
                ],
            },
        },
    }


def _pod(order: Order, *, name: str, resources: dict[str, Any]) -> dict[str, Any]:
    """Return a pod of an image that has Ray and this planner, with the disks of its node."""
    names = {"valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    container: dict[str, Any] = {
        "name": name,
        "image": "REPLACE_IMAGE",
        "env": [{"name": "PLANNER_NODE_NAME", **names}, {"name": "PLANNER_NODE_DIRECTORY", "value": _INSIDE}],
        "resources": {"requests": resources, "limits": resources},
        "volumeMounts": [{"name": "disks", "mountPath": _INSIDE}],
    }
    disks = {"hostPath": {"path": _DISKS, "type": "DirectoryOrCreate"}} if order.local_disks else {"emptyDir": {}}
    return {"containers": [container], "volumes": [{"name": "disks", **disks}]}


PLATFORM: Final = Platform(
    name="kuberay",
    clouds=frozenset(),
    file_name="ray-job.yaml",
    apply="kubectl apply -f {file}",
    runs="ray",
    features=frozenset({Feature.MACHINE_TYPE, Feature.COUNT, Feature.LOCAL_DISKS, Feature.END}),
    write=_write,
    extra_machines="the pod of the head, 4 CPUs and 16 GiB of another node",
)
