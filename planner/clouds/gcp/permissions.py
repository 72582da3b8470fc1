"""Permissions that a run needs on Compute Engine; docs/gcp-role.json has the same ones as a role."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from planner.clouds.calls.facts import facts_of
from planner.clouds.gcp.client import Compute
from planner.clouds.gcp.resources import RESOURCE_TYPES
from planner.clouds.order import Order
from planner.clouds.protocol import Finding
from planner.errors import PlannerError

ACT_AS: Final = "iam.serviceAccounts.actAs"
"""Permission also needed where machines are launched as a service account."""


_OF_A_NETWORK: Final = frozenset(
    f"compute.{scope}.{verb}" for scope in ("networks", "subnetworks") for verb in ("create", "delete")
)
"""Permissions not needed where the network exists."""


def permissions() -> list[str]:
    """Return all permissions that runs need."""
    return [f"compute.{name}.{verb}" for name, verbs in facts_of("gcp")["permissions"].items() for verb in verbs]


def needed_permissions(order: Order) -> list[str]:
    """Return the permissions that an order's run needs."""
    spared = _OF_A_NETWORK if order.subnet else frozenset()
    spared |= {"compute.subnetworks.useExternalIp"} if order.is_private else frozenset()
    return [permission for permission in permissions() if permission not in spared]


def resource_of(permission: str, order: Order, *, project: str) -> dict[str, str]:
    """Return the resource on which a run uses a permission, as IAM conditions see it: service, name and type."""
    collection, region = permission.split(".")[1], order.choices[0].regions[0]
    made = {resource_type.collection: resource_type for resource_type in RESOURCE_TYPES.values()}.get(collection)
    if made is None:
        resource_type = "cloudresourcemanager.googleapis.com/Project"
        return {"service": "cloudresourcemanager.googleapis.com", "name": f"projects/{project}", "type": resource_type}
    where = {"zone": f"zones/{region}-a", "region": f"regions/{region}", "global": "global"}[made.scope]
    kind = made.parameter.title().replace("_", "")
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


_COMPUTE: Final = "compute.googleapis.com"
_STOCK_IMAGES: Final = "projects/ubuntu-os-cloud"
_NEW: Final = "<new>"
"""A value that no list has, as it is made for the run."""
_LOCATIONS: Final = "gcp.resourceLocations"
_POLICIES: Final = "the organisation's policies"


def _at_stake(order: Order, *, project: str) -> dict[str, tuple[tuple[str, ...], str]]:
    """Return the predefined constraints that a launch can violate, with the values of which a list must allow one, none
    for a yes or no, and the reason. Constraints on locations are followed by the region.
    """
    at_stake: dict[str, tuple[tuple[str, ...], str]] = {
        "compute.requireOsLogin": ((), "machines are entered with the run's own key, without OS Login"),
        "compute.disableInstanceDataAccessApis": ((), "the machines' host keys are read from their serial consoles"),
        "compute.restrictNonConfidentialComputing": ((_COMPUTE,), "the machines are not confidential ones"),
        "gcp.restrictNonCmekServices": ((_COMPUTE,), "Google's keys encrypt the disks, not your own"),
        "gcp.restrictServiceUsage": ((_COMPUTE,), "machines are made with Compute Engine"),
    }
    if not order.is_private:
        reason = "the head may have no address of its own: --subnet and --no-public-address"
        at_stake["compute.vmExternalIpAccess"] = ((_NEW,), reason)
    if not order.subnet:
        at_stake["compute.requireVpcFlowLogs"] = ((_NEW,), "the run's own network keeps no flow logs: --subnet")
    image = re.search("projects/[^/]+", order.image or _STOCK_IMAGES)
    if image and image[0] != f"projects/{project}":
        for name in ("compute.trustedImageProjects", "compute.storageResourceUseRestrictions"):
            at_stake[name] = ((image[0],), f"the image is of {image[0]}: --image")
    for region in {region: None for choice in order.choices for region in choice.regions}:
        names = (region, f"in:{region}-locations")
        at_stake[f"{_LOCATIONS} {region}"] = (names, "the region is closed to the project: --region")
    return at_stake


def _is_against(policy: dict[str, Any], values: tuple[str, ...]) -> bool | None:
    """Return whether a policy denies all of these values; None where it names groups or parts of them."""
    listed = policy.get("listPolicy", {})
    if not values or "allValues" in listed:
        return bool(policy.get("booleanPolicy", {}).get("enforced")) or listed.get("allValues") == "DENY"
    denied = {name.removeprefix("is:") for name in listed.get("deniedValues", ())}
    allowed = {name.removeprefix("is:") for name in listed.get("allowedValues", ())}
    if denied.intersection(values):
        return True
    is_allowed = not allowed or bool(allowed.intersection(values))
    others = denied if is_allowed else denied | allowed
    return None if any(":" in name or name.startswith(values) for name in others) else not is_allowed


def policy_findings(compute: Compute, order: Order) -> Iterator[Finding]:
    """Yield an organisation's policies against a launch, and what of them is not known: no call tells what custom
    constraints say of a machine. A closed region forbids a launch only if all are.
    """
    at_stake = _at_stake(order, project=compute.project)
    try:
        with ThreadPoolExecutor(compute.at_once) as pool:
            policies = list(pool.map(lambda name: compute.policy(name.partition(" ")[0]), at_stake))
    except PlannerError as error:
        yield Finding(subject=_POLICIES, ok=None, text=f"not known: {error.message}")
        return
    against = {
        name: _is_against(policy, values)
        for (name, (values, _)), policy in zip(at_stake.items(), policies, strict=True)
    }
    is_open = any(not denied for name, denied in against.items() if name.startswith(_LOCATIONS))
    for name in (name for name, denied in against.items() if denied):
        text = f"the organisation denies it: {at_stake[name][1]}; or ask for an exception"
        is_elsewhere = is_open and name.startswith(_LOCATIONS)
        yield Finding(subject=f"policy {name}", ok=None if is_elsewhere else False, text=text)
    unknown = [name for name, denied in against.items() if denied is None]
    text = f"not known: {', '.join([*unknown, 'its custom and managed constraints'])}"
    yield Finding(subject=_POLICIES, ok=None, text=text)


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
