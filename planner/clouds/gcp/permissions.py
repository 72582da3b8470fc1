"""Permissions that a run needs on Compute Engine; docs/gcp-role.json has the same ones as a role."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from planner.clouds.gcp.client import Compute
from planner.clouds.order import Order
from planner.clouds.protocol import Finding
from planner.errors import PlannerError

PERMISSIONS: Final = (
    "compute.disks.create",
    "compute.disks.delete",
    "compute.disks.get",
    "compute.disks.list",
    "compute.disks.setLabels",
    "compute.firewalls.create",
    "compute.firewalls.delete",
    "compute.firewalls.get",
    "compute.firewalls.list",
    "compute.globalOperations.get",
    "compute.globalOperations.list",
    "compute.instances.create",
    "compute.instances.delete",
    "compute.instances.get",
    "compute.instances.getSerialPortOutput",
    "compute.instances.list",
    "compute.instances.setLabels",
    "compute.instances.setMetadata",
    "compute.instances.setTags",
    "compute.machineTypes.list",
    "compute.networks.create",
    "compute.networks.delete",
    "compute.networks.get",
    "compute.networks.list",
    "compute.networks.updatePolicy",
    "compute.projects.get",
    "compute.regionOperations.get",
    "compute.regions.get",
    "compute.regions.list",
    "compute.resourcePolicies.create",
    "compute.resourcePolicies.delete",
    "compute.resourcePolicies.get",
    "compute.resourcePolicies.list",
    "compute.resourcePolicies.use",
    "compute.subnetworks.create",
    "compute.subnetworks.delete",
    "compute.subnetworks.get",
    "compute.subnetworks.list",
    "compute.subnetworks.use",
    "compute.subnetworks.useExternalIp",
    "compute.zoneOperations.get",
)

ACT_AS: Final = "iam.serviceAccounts.actAs"
"""Permission also needed where machines are launched as a service account."""


_OF_A_NETWORK: Final = frozenset(
    f"compute.{scope}.{verb}" for scope in ("networks", "subnetworks") for verb in ("create", "delete")
)
"""Permissions not needed where the network exists."""


def needed_permissions(order: Order) -> list[str]:
    """Return the permissions that an order's run needs."""
    spared = _OF_A_NETWORK if order.subnet else frozenset()
    spared |= {"compute.subnetworks.useExternalIp"} if order.is_private else frozenset()
    return [permission for permission in PERMISSIONS if permission not in spared]


_CREATED: Final = {
    "disks": ("zones/{zone}", "Disk"),
    "firewalls": ("global", "Firewall"),
    "instances": ("zones/{zone}", "Instance"),
    "networks": ("global", "Network"),
    "resourcePolicies": ("regions/{region}", "ResourcePolicy"),
    "subnetworks": ("regions/{region}", "Subnetwork"),
}
"""Location in the project and type of a run's resources, by the collection in a permission's name."""


def resource_of(permission: str, order: Order, *, project: str) -> dict[str, str]:
    """Return the resource on which a run uses a permission, as IAM conditions see it: service, name and type."""
    collection, region = permission.split(".")[1], order.choices[0].regions[0]
    if collection not in _CREATED:
        resource_type = "cloudresourcemanager.googleapis.com/Project"
        return {"service": "cloudresourcemanager.googleapis.com", "name": f"projects/{project}", "type": resource_type}
    scope, kind = _CREATED[collection]
    where = scope.format(zone=f"{region}-a", region=region)
    name = f"projects/{project}/{where}/{collection}/planner-{order.run}-{region}"
    return {"service": "compute.googleapis.com", "name": name, "type": f"compute.googleapis.com/{kind}"}


def permission_finding(compute: Compute, order: Order) -> Finding:
    """Return a finding on whether the caller may do all that a run does; unknown where Google will not tell.

    Permissions that the project as a whole does not grant may be granted for resources of some names: the policy
    troubleshooter is asked about these, with the run's names.
    """
    subject = f"permissions in project {compute.project}"
    try:
        allowed = compute.allowed(needed_permissions(order))
    except PlannerError as error:
        return Finding(subject=subject, ok=None, text=f"not known: {error.message}")
    missing = [permission for permission in needed_permissions(order) if permission not in allowed]
    if not missing:
        return Finding(subject=subject, ok=True, text="all granted")
    try:
        with ThreadPoolExecutor(compute.at_once) as pool:
            states = list(pool.map(lambda name: _state(compute, order, name), missing))
    except PlannerError as error:
        text = f"lacks {', '.join(missing)}; whether a conditional role grants them is not known: {error.message}"
        return Finding(subject=subject, ok=False, text=text)
    denied = [name for name, state in zip(missing, states, strict=True) if state == "CANNOT_ACCESS"]
    unknown = [
        name for name, state in zip(missing, states, strict=True) if state not in ("CANNOT_ACCESS", "CAN_ACCESS")
    ]
    parts = [f"lacks {', '.join(denied)}"] * bool(denied) + [f"not known: {', '.join(unknown)}"] * bool(unknown)
    text = "; ".join(parts) or f"all granted, under conditions: {', '.join(missing)}"
    return Finding(subject=subject, ok=False if denied else None if unknown else True, text=text)


def _state(compute: Compute, order: Order, permission: str) -> str:
    return compute.access_state(permission, resource=resource_of(permission, order, project=compute.project))


_IS_AGAINST: Final[dict[str, tuple[Callable[[dict[str, Any]], bool], str]]] = {
    "compute.requireOsLogin": (
        lambda policy: bool(policy.get("booleanPolicy", {}).get("enforced")),
        "machines are entered with the run's own key, without OS Login",
    ),
    "compute.vmExternalIpAccess": (
        lambda policy: policy.get("listPolicy", {}).get("allValues") == "DENY",
        "the head may have no address of its own: --subnet and --no-public-address",
    ),
}
"""Test of whether an organisation's policy forbids a launch, and the reason, by constraint."""


def policy_findings(compute: Compute, order: Order) -> Iterator[Finding]:
    """Yield an organisation's policies against a launch, or that they cannot be read."""
    asked = [name for name in _IS_AGAINST if not (order.is_private and name == "compute.vmExternalIpAccess")]
    try:
        against = [name for name in asked if _IS_AGAINST[name][0](compute.policy(name))]
    except PlannerError as error:
        yield Finding(subject="the organisation's policies", ok=None, text=f"not known: {error.message}")
        return
    for name in against:
        text = f"the organisation denies it: {_IS_AGAINST[name][1]}; or ask for an exception"
        yield Finding(subject=f"policy {name}", ok=False, text=text)


def identity_finding(compute: Compute, account: str) -> Finding:
    """Return a finding on whether the caller may launch as a service account, by the project's policy or its own."""
    subject = f"service account {account}"
    try:
        where = "the project" if compute.allowed([ACT_AS]) else "the account itself"
        is_granted = where == "the project" or bool(compute.allowed_on_account(account, [ACT_AS]))
    except PlannerError as error:
        return Finding(subject=subject, ok=None, text=f"not known: {error.message}")
    if is_granted:
        return Finding(subject=subject, ok=True, text=f"{ACT_AS} is granted on {where}")
    return Finding(subject=subject, ok=False, text=f"{ACT_AS} is granted neither on the project nor on the account")
