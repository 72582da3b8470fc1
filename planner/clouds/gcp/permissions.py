"""Permissions that a run needs on Compute Engine; docs/gcp-role.json holds the same as a role."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
"""Needed besides where machines are launched as a service account."""


_OF_A_NETWORK: Final = frozenset(
    f"compute.{scope}.{verb}" for scope in ("networks", "subnetworks") for verb in ("create", "delete")
)
"""Not needed where the network exists."""


def needed_permissions(order: Order) -> list[str]:
    """Return the permissions that an order's run needs."""
    spared = _OF_A_NETWORK if order.subnet else frozenset()
    spared |= {"compute.subnetworks.useExternalIp"} if order.is_private else frozenset()
    return [permission for permission in PERMISSIONS if permission not in spared]


def permission_finding(compute: Compute, order: Order) -> Finding:
    """Say whether the caller may do all that a run does; unknown where Google will not tell."""
    subject = f"permissions in project {compute.project}"
    try:
        allowed = compute.allowed(needed_permissions(order))
    except PlannerError as error:
        return Finding(subject=subject, ok=None, text=f"not known: {error.message}")
    missing = [permission for permission in needed_permissions(order) if permission not in allowed]
    return Finding(subject=subject, ok=not missing, text=f"lacks {', '.join(missing)}" if missing else "all granted")


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
"""When an organisation's policy is against a launch, and what of it."""


def policy_findings(compute: Compute, order: Order) -> Iterator[Finding]:
    """Yield what an organisation's policies have against a launch, or that they cannot be read."""
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
    """Say whether the caller may launch machines as a service account. Who may not in the whole project may still be
    allowed to use this one account, which is seen at the launch: unknown.
    """
    subject = f"service account {account}"
    try:
        is_granted = bool(compute.allowed([ACT_AS]))
    except PlannerError as error:
        return Finding(subject=subject, ok=None, text=f"not known: {error.message}")
    if is_granted:
        return Finding(subject=subject, ok=True, text=f"{ACT_AS} is granted on the project")
    text = f"{ACT_AS} is not granted on the project; unless it is on the account itself, the launch fails"
    return Finding(subject=subject, ok=None, text=text)
