"""Terraform on Google Cloud: the machines, their placement and end. `terraform` has the platform and EC2."""

from __future__ import annotations

from typing import Any, Final

from planner.exports.order import Order

_VARIABLES: Final = {
    "project": "The Google Cloud project.",
    "zone": "A zone of the region that has the machine type.",
    "subnetwork": "A subnetwork of the region, by name or link.",
}


def google(order: Order) -> dict[str, Any]:
    """Return Terraform's document for machines of Compute Engine."""
    best, name = order.best, order.name
    arch = "arm64" if order.architecture == "arm64" else "amd64"
    scheduling: dict[str, Any] = {
        "max_run_duration": {"seconds": round(2 * order.ends_within_s)},
        "instance_termination_action": "DELETE",
        "provisioning_model": "SPOT" if order.spot else "STANDARD",
        "automatic_restart": False,
        "on_host_maintenance": "TERMINATE",
    }
    machine: dict[str, Any] = {
        "count": best.nodes,
        "name": f"{name}-${{count.index}}",
        "machine_type": best.machine_type,
        "zone": "${var.zone}",
        "boot_disk": {"initialize_params": {"image": f"ubuntu-os-cloud/ubuntu-2404-lts-{arch}"}},
        "network_interface": [{"subnetwork": "${var.subnetwork}", "nic_type": "GVNIC"}],
        "scheduling": scheduling,
        "labels": {"sortplanner": name},
    }
    if order.local_disks and best.disks_to_add:
        machine["scratch_disk"] = [{"interface": "NVME"}] * order.local_disks
    resources: dict[str, Any] = {"google_compute_instance": {"nodes": machine}}
    if best.placement_group:
        machine["resource_policies"] = ["${google_compute_resource_policy.nodes.id}"]
        placed = {"name": name, "region": order.region, "group_placement_policy": {"collocation": "COLLOCATED"}}
        resources["google_compute_resource_policy"] = {"nodes": placed}
    return {
        "terraform": {"required_providers": {"google": {"source": "hashicorp/google", "version": ">= 6.0"}}},
        "provider": {"google": {"project": "${var.project}", "region": order.region}},
        "variable": {name: {"type": "string", "description": text} for name, text in _VARIABLES.items()},
        "resource": resources,
        "output": {"addresses": {"value": "${google_compute_instance.nodes[*].network_interface[0].network_ip}"}},
    }
