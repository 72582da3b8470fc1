"""Check of a launch against Azure Policy, with the same resources that the launch creates."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Final

from planner.clouds.azure.client import Arm
from planner.clouds.azure.dry_run import DryRunArm
from planner.clouds.azure.instances import launch
from planner.clouds.azure.network import RunNetwork, prepare
from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.order import Order
from planner.clouds.preflight import AnswerCache, Unnoted
from planner.clouds.protocol import Finding, Place
from planner.errors import PlannerError, ProviderRefusedError

_TYPES: Final = {
    "resource-group": ("Microsoft.Resources/subscriptions/resourceGroups", "2021-04-01"),
    "network-security-group": ("Microsoft.Network/networkSecurityGroups", "2023-09-01"),
    "virtual-network": ("Microsoft.Network/virtualNetworks", "2023-09-01"),
    "proximity-placement-group": ("Microsoft.Compute/proximityPlacementGroups", "2023-09-01"),
    "machine": ("Microsoft.Compute/virtualMachines", "2023-09-01"),
    "schedule": ("Microsoft.DevTestLab/schedules", "2018-09-15"),
}
"""Type and API version of a launch's resources, by the names of `Arm.create`. The version determines the form of the
body; these parts have not changed in recent years.
"""
_MACHINES: Final = 2
"""One node and the head: all nodes are alike."""


def created(arm: Arm, order: Order, place: Place) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield a launch's resources at a place, with type, name and API version; one of each kind of machine."""
    pretended = DryRunArm(subscription=arm.subscription, ask=arm)
    keyed = replace(order, ssh_public_key=order.ssh_public_key or "ssh-ed25519 AAAA")
    network = RunNetwork(order=keyed, arm=pretended, journal=Unnoted(), place=place)
    prepare(network)
    launch(network, RetryPolicy(poll_s=0.0, join_s=0.0), machines=_MACHINES, head=True, round=0)
    for request in pretended.requests:
        verb, _, resource_kind = request.operation.partition(" ")
        if verb == "create":
            type_name, api_version = _TYPES[resource_kind]
            name = request.parameters["names"][-1]
            yield {"type": type_name, "name": name, **request.parameters["body"]}, api_version


def policy_finding(arm: Arm, order: Order, place: Place, *, once: AnswerCache) -> Finding:
    """Return a finding on whether a policy denies a launch's resources, and which; unknown if Azure will not tell."""
    subject = f"policies on {place.choice.instance_type} in {place.region}"

    def denials(what: tuple[dict[str, Any], str]) -> list[str]:
        content, api_version = what
        answer = once(repr(content), lambda: arm.restrictions(content, api_version=api_version))
        return [f"{content['type']} by {text}" for text in _denials(answer)]

    try:
        with ThreadPoolExecutor(arm.at_once) as pool:
            denied = [text for texts in pool.map(denials, created(arm, order, place)) for text in texts]
    except PlannerError as error:
        return Finding(subject=subject, ok=None, text=f"not known: {error.message}")
    text = f"denied: {'; '.join(dict.fromkeys(denied))}" if denied else "none is against what is created"
    return Finding(subject=subject, ok=not denied, text=text)


def _denials(answer: dict[str, Any]) -> Iterator[str]:
    """Yield the assignments that deny a resource, each with the conditions it met. Raises ProviderRefusedError for an
    answer without an evaluation.
    """
    if (evaluated := answer.get("contentEvaluationResult")) is None:
        raise ProviderRefusedError("Azure evaluated no policy", code="no-policy")
    for evaluation in evaluated.get("policyEvaluations") or ():
        if evaluation.get("evaluationResult") == "NonCompliant":
            policy = evaluation.get("policyInfo") or {}
            named = str(policy.get("policyAssignmentId") or policy.get("policyDefinitionId") or "a policy")
            details = (evaluation.get("evaluationDetails") or {}).get("evaluatedExpressions") or ()
            conditions = [_condition(item) for item in details if item.get("result") == "True"]
            yield f"{named.rpartition('/')[2]}" + (f" ({', '.join(conditions)})" if conditions else "")


def _condition(item: dict[str, Any]) -> str:
    parts = (item.get("path") or item.get("expression"), item.get("operator"), item.get("targetValue"))
    return " ".join(str(part) for part in parts if part is not None)
