"""Which permissions a run needs on Compute Engine; docs/gcp-role.json holds the same as a role."""

from __future__ import annotations

from typing import Final

from planner.errors import PlannerError
from planner.providers.gcp.calls import Compute
from planner.providers.protocol import Finding

PERMISSIONS: Final = (
    "compute.disks.create",
    "compute.disks.delete",
    "compute.disks.list",
    "compute.disks.setLabels",
    "compute.firewalls.create",
    "compute.firewalls.delete",
    "compute.firewalls.list",
    "compute.globalOperations.get",
    "compute.globalOperations.list",
    "compute.instances.create",
    "compute.instances.delete",
    "compute.instances.getSerialPortOutput",
    "compute.instances.list",
    "compute.instances.setLabels",
    "compute.instances.setMetadata",
    "compute.instances.setTags",
    "compute.machineTypes.list",
    "compute.networks.create",
    "compute.networks.delete",
    "compute.networks.list",
    "compute.networks.updatePolicy",
    "compute.regionOperations.get",
    "compute.regions.get",
    "compute.regions.list",
    "compute.resourcePolicies.create",
    "compute.resourcePolicies.delete",
    "compute.resourcePolicies.list",
    "compute.resourcePolicies.use",
    "compute.subnetworks.create",
    "compute.subnetworks.delete",
    "compute.subnetworks.list",
    "compute.subnetworks.use",
    "compute.subnetworks.useExternalIp",
    "compute.zoneOperations.get",
)


def permission_finding(compute: Compute) -> Finding:
    """Say whether the caller may do all that a run does; unknown where Google will not tell."""
    subject = f"permissions in project {compute.project}"
    try:
        allowed = compute.allowed(list(PERMISSIONS))
    except PlannerError as error:
        return Finding(subject=subject, ok=None, text=f"not known: {error.message}")
    missing = [permission for permission in PERMISSIONS if permission not in allowed]
    return Finding(subject=subject, ok=not missing, text=f"lacks {', '.join(missing)}" if missing else "all granted")
