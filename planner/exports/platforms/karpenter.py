"""Karpenter on EKS: a NodePool for the plan's types and an EC2NodeClass with a RAID 0 of their local disks."""

from __future__ import annotations

import math
from typing import Any, Final

from planner.exports.order import Order
from planner.exports.platform import Feature, Platform


def _write(order: Order) -> list[dict[str, Any]]:
    types = [choice.machine_type for choice in order.alike]
    requirements = [
        _among("node.kubernetes.io/instance-type", types),
        _among("karpenter.sh/capacity-type", ["spot", "on-demand"] if order.spot else ["on-demand"]),
        _among("kubernetes.io/os", ["linux"]),
    ]
    if order.architecture:
        requirements.append(_among("kubernetes.io/arch", ["arm64" if order.architecture == "arm64" else "amd64"]))
    life = f"{max(1, math.ceil(2 * order.ends_within_s / 3600))}h"
    pool = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": order.name},
        "spec": {
            "template": {
                "metadata": {"labels": {"sortplanner": order.name}},
                "spec": {
                    "requirements": requirements,
                    "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": order.name},
                    "expireAfter": life,
                },
            },
            "limits": {"cpu": order.best.nodes * max(choice.vcpus for choice in order.alike)},
            "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "60s"},
        },
    }
    node_class: dict[str, Any] = {
        "amiSelectorTerms": [{"alias": "al2023@latest"}],
        "role": "REPLACE_NODE_ROLE",
        "subnetSelectorTerms": [{"tags": {"karpenter.sh/discovery": "REPLACE_CLUSTER_NAME"}}],
        "securityGroupSelectorTerms": [{"tags": {"karpenter.sh/discovery": "REPLACE_CLUSTER_NAME"}}],
        "tags": {"sortplanner": order.name},
    }
    if order.local_disks:
        node_class["instanceStorePolicy"] = "RAID0"
    classes = {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": order.name},
        "spec": node_class,
    }
    return [pool, classes]


def _among(key: str, values: list[str]) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": values}


PLATFORM: Final = Platform(
    name="karpenter",
    clouds=frozenset({"aws"}),
    file_name="karpenter.yaml",
    apply="kubectl apply -f {file}",
    runs="",
    features=frozenset({Feature.MACHINE_TYPE, Feature.NEXT_CHOICES, Feature.LOCAL_DISKS, Feature.END}),
    write=_write,
)
