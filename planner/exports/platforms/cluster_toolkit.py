"""Google's Cluster Toolkit: a blueprint of a network and a Slurm cluster with the plan's nodes as one partition."""

from __future__ import annotations

from typing import Any, Final

from planner.exports.order import Order
from planner.exports.platform import Feature, Platform


def _write(order: Order) -> dict[str, Any]:
    nodes = {
        "machine_type": order.best.machine_type,
        "node_count_dynamic_max": order.best.nodes,
        "enable_placement": order.best.placement_group,
        "bandwidth_tier": "gvnic_enabled",
        "enable_spot_vm": order.spot,
    }
    if order.local_disks:
        nodes["additional_disks"] = [
            {
                "boot": False,
                "auto_delete": True,
                "disk_type": "local-ssd",
                "disk_size_gb": 375,
                "device_name": None,
                "disk_name": None,
                "disk_labels": None,
            }
        ] * order.local_disks
    scheduler = "community/modules/scheduler/schedmd-slurm-gcp-v6"
    compute = "community/modules/compute/schedmd-slurm-gcp-v6"
    modules = [
        {"id": "network", "source": "modules/network/vpc"},
        {"id": "nodes", "source": f"{compute}-nodeset", "use": ["network"], "settings": nodes},
        {
            "id": "partition",
            "source": f"{compute}-partition",
            "use": ["nodes"],
            "settings": {"partition_name": "sort", "exclusive": True, "is_default": True},
        },
        {
            "id": "login",
            "source": f"{scheduler}-login",
            "use": ["network"],
            "settings": {"enable_login_public_ips": True},
        },
        {"id": "controller", "source": f"{scheduler}-controller", "use": ["network", "partition", "login"]},
    ]
    return {
        "blueprint_name": order.name,
        "vars": {
            "project_id": "REPLACE_PROJECT_ID",
            "deployment_name": order.name,
            "region": order.region,
            "zone": "REPLACE_ZONE",
        },
        "deployment_groups": [{"group": "primary", "modules": modules}],
    }


PLATFORM: Final = Platform(
    name="cluster-toolkit",
    clouds=frozenset({"gcp"}),
    file_name="blueprint.yaml",
    apply="gcluster deploy {file}",
    runs="",
    features=frozenset(
        {Feature.MACHINE_TYPE, Feature.COUNT, Feature.LOCAL_DISKS, Feature.PLACEMENT_GROUP, Feature.END}
    ),
    write=_write,
    extra_machines="the controller and the login node, which are paid for until the deployment is destroyed",
)
