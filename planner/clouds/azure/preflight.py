"""Checks on Azure before anything is created, Azure Policy included: it gets the resources that the launch creates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from ipaddress import ip_network
from typing import Any, Final

from planner.clouds.azure.client import Arm, type_of
from planner.clouds.azure.dry_run import DryRunArm
from planner.clouds.azure.instances import (
    capabilities,
    launch,
    reservations_in,
    reserved_text,
    reserved_zones,
    volumes_obstacle,
)
from planner.clouds.azure.network import RunNetwork, blocks_of, described_subnet, prepare, region_of
from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.order import ClusterOffer, Order
from planner.clouds.preflight import AnswerCache, PreflightLog, Unnoted
from planner.clouds.price_lists.azure import retail_prices
from planner.clouds.price_lists.reading import Access
from planner.clouds.protocol import Finding, Place, Preflight
from planner.errors import BadInputError, PlannerError, ProviderRefusedError

TAKEN_ADDRESSES: Final = 5
"""Addresses that Azure keeps in every subnet (Azure Virtual Network FAQ)."""
LONGEST: Final = timedelta(hours=23, minutes=30)
"""Longest run: Azure's own shutdown has a time of day, no date."""
_COMPUTE, _HOST_FEATURE = "Microsoft.Compute", "EncryptionAtHost"
_REGISTER_HOST: Final = f"az feature register --namespace {_COMPUTE} --name {_HOST_FEATURE}"
Price = Callable[[str, str, str], float | None]
"""Function that returns US dollars per hour of a size in a region, on demand or spot; None when unknown."""

NAMESPACES: Final = ("Microsoft.Compute", "Microsoft.DevTestLab", "Microsoft.Network")
"""Services with which a subscription must be registered before it may use them."""


def preflight(order: Order, arm: Arm, *, price: Price) -> Preflight:
    """Check credentials, then the subscription and every choice in every region in parallel."""
    checks = _Checks(order=order, arm=arm, price=price)
    log = checks.log
    groups = sum(1 for _ in arm.items("resource-group"))
    log.note("credentials", True, f"subscription {arm.subscription}, with {groups} resource groups")
    log.note("permissions", None, "Azure has no dry run: a missing permission shows, by its name, when it is needed")
    tried_places = [(choice, region) for choice in order.choices for region in choice.regions]
    *is_able, _ = log.run_at_once(
        [
            lambda its: its.add(_registration_finding(arm)),
            lambda its: its.add(_encryption_finding(arm)),
            lambda its: its.add(_end_finding(order)),
            lambda its: its.run_at_once([partial(checks.check_choice, *tried_place) for tried_place in tried_places]),
        ]
    )
    if not all(is_able):
        log.places.clear()
    return log.result()


def _registration_finding(arm: Arm) -> Finding:
    """Return a finding on whether the subscription is registered with a run's services; a new one has none."""
    states = {item["namespace"]: item.get("registrationState") for item in arm.items("provider")}
    missing = [name for name in NAMESPACES if states.get(name) != "Registered"]
    commands = "; ".join(f"az provider register --namespace {name}" for name in missing)
    text = f"not with {', '.join(missing)}: {commands}" if missing else f"with {', '.join(NAMESPACES)}"
    return Finding(subject="registration", ok=not missing, text=text)


def _encryption_finding(arm: Arm) -> Finding:
    """Return a finding on whether the subscription may encrypt at the host, a feature that must be registered once."""
    try:
        state = arm.feature(_COMPUTE, _HOST_FEATURE)
    except PlannerError as error:
        text = f"at host; not known whether the subscription has it ({error.message}); if not: {_REGISTER_HOST}"
        return Finding(subject="encryption", ok=None, text=text)
    if state == "Registered":
        return Finding(subject="encryption", ok=True, text="at host: every disk, and what goes to it")
    then = "wait until it is Registered" if state in ("Registering", "Pending") else f"once: {_REGISTER_HOST}"
    return Finding(subject="encryption", ok=False, text=f"at host: the feature is {state or 'not known'}; {then}")


def _end_finding(order: Order) -> Finding:
    hours, most = (order.expires_at - datetime.now(UTC)) / timedelta(hours=1), LONGEST / timedelta(hours=1)
    text = f"Azure stops every machine in {hours:.2f} h"
    if hours > most:
        text = f"{hours:.1f} h; Azure's own shutdown reaches {most:g}: --max-hours 23h"
    return Finding(subject="time to live", ok=hours <= most, text=text)


@dataclass(frozen=True, kw_only=True)
class _Checks:
    """The checks of one preflight; `log` collects their findings, `once` caches Azure's answers by region."""

    order: Order
    arm: Arm
    price: Price
    log: PreflightLog = field(default_factory=PreflightLog)
    once: AnswerCache = field(default_factory=AnswerCache)

    def check_choice(self, choice: ClusterOffer, region: str, log: PreflightLog) -> None:
        """Check a choice with its own log; Azure's refusals become findings."""
        with log.noting_refusals(f"{choice.instance_type} in {region}"):
            replace(self, log=log).add_zones(choice, region)

    def add_zones(self, choice: ClusterOffer, region: str) -> None:
        """Add the zones of a region where a choice may be tried."""
        subject = f"{choice.instance_type} in {region}"
        size, *_ = self.log.run_at_once(
            [
                lambda _: self._size(choice.instance_type, region),
                lambda _: self._usages("usage", region),
                lambda _: self._usages("network-usage", region),
                lambda _: self._price(choice.instance_type, region, choice.pricing),
            ]
        )
        obstacle = "not offered" if size is None else _obstacle(size, choice)
        if size is None or obstacle:
            self.log.note(subject, False, obstacle)
            return
        suffices = self._within_quota(choice, size, region) & self._has_subnet(choice, region)
        self.log.note_prices(choice, region, lambda pricing: self._price(choice.instance_type, region, pricing))
        zones = sorted(_zones(size))
        text = f"offered in zones {', '.join(zones)}" if zones else "offered, in no zone of its own"
        unstated = ", ".join(unstated_abilities(size, choice))
        self.log.note(subject, None if unstated else True, f"{text}; not stated: {unstated}" if unstated else text)
        zones = zones or [""]
        if self.order.reservation:
            zones = self._within_reservation(choice, zones, region)
        places = [Place(choice=choice, region=region, zone=f"{region}-{zone}" if zone else "") for zone in zones]
        if places and self.log.add(policy_finding(self.arm, self.order, places[0], once=self.once)) and suffices:
            self.log.places += places

    def _within_reservation(self, choice: ClusterOffer, zones: list[str], region: str) -> list[str]:
        """Return the zones in which the order's reservation group has room for a choice."""
        subject = f"reservation {self.order.reservation}"
        try:
            reserved = reservations_in(self.arm, self.order.reservation)
        except BadInputError as error:
            self.log.note(subject, False, error.message)
            return []
        usable = [zone for zone in reserved_zones(reserved, choice, region=region) if zone in zones]
        needed = f"{choice.machines} x {choice.instance_type} needed at one place in {region}"
        text = f"{reserved_text(reserved)}" + ("" if usable else f"; {needed}")
        self.log.note(subject, bool(usable), f"free: {text}; without a proximity placement group")
        return usable

    def _has_subnet(self, choice: ClusterOffer, region: str) -> bool:
        """Return whether the order's subnet, if any, is in the region and has room."""
        if not self.order.subnet:
            return True
        subject = f"subnet {self.order.subnet}"
        try:
            subnet = described_subnet(self.arm, self.order.subnet)
        except BadInputError as error:
            return self.log.note(subject, False, error.message)
        if (there := region_of(self.arm, self.order.subnet)) != region:
            return self.log.note(subject, False, f"in {there}, not in {region}: --region {there}")
        used = len(subnet["properties"].get("ipConfigurations", ()))
        free = sum(ip_network(block).num_addresses - TAKEN_ADDRESSES for block in blocks_of(subnet)) - used
        if free < choice.machines:
            return self.log.note(subject, False, f"{free} addresses left; {choice.machines} needed")
        services = [endpoint["service"] for endpoint in subnet["properties"].get("serviceEndpoints", ())]
        if self.order.staging and "Microsoft.Storage" not in services:
            return self.log.note(
                subject, None, "no service endpoint to Microsoft.Storage; other ways are not looked at"
            )
        return self.log.note(subject, True, f"{free} addresses left; its routes and security group stay, and hold, too")

    def _price(self, name: str, region: str, pricing: str) -> float | None:
        try:
            return self.price(name, region, pricing)
        except PlannerError:
            return None

    def _size(self, name: str, region: str) -> dict[str, Any] | None:
        """Return the description of a size; the first call for a region lists all of its sizes."""
        self.once(("size", region), lambda: self.arm.size(name, region))
        return self.arm.size(name, region)

    def _quotas(self, region: str) -> dict[str, dict[str, Any]]:
        """Return the quotas of a region by name, each with its use."""
        listed = [*self._usages("usage", region), *self._usages("network-usage", region)]
        return {item["name"]["value"]: item for item in listed}

    def _usages(self, kind: str, region: str) -> list[dict[str, Any]]:
        usages: list[dict[str, Any]] = self.once((kind, region), lambda: self._asked_usages(kind, region))
        return usages

    def _asked_usages(self, kind: str, region: str) -> list[dict[str, Any]]:
        try:
            return list(self.arm.items(kind, region))
        except PlannerError:  # its quotas are unknown
            return []

    def _within_quota(self, choice: ClusterOffer, size: dict[str, Any], region: str) -> bool:
        stated = capabilities(size).get("vCPUs")
        if not stated:
            return self.log.note(f"quota for {choice.instance_type} in {region}", None, "its vCPUs are not stated")
        vcpus_each = int(float(stated))
        spot = choice.machines - 1 if choice.is_spot else 0
        vcpus = vcpus_each * (choice.machines - spot)
        needed = Counter({size.get("family", "?"): vcpus, "cores": vcpus, "virtualMachines": choice.machines})
        needed |= {"lowPriorityCores": vcpus_each * spot} if spot else {}
        needed |= {"NetworkSecurityGroups": 2, "NetworkInterfaces": choice.machines}
        needed |= {} if self.order.subnet else {"VirtualNetworks": 1}
        needed |= {} if self.order.is_private else {"PublicIPAddresses": 1}
        suffices = True
        for name, amount in needed.items():
            subject, quota = f"quota {name} for {choice.instance_type} in {region}", self._quotas(region).get(name)
            if quota is None:
                self.log.note(subject, None, f"not stated; {amount} needed")
                continue
            free = quota["limit"] - quota["currentValue"]
            text = f"{amount} needed, {free} of {quota['limit']} free"
            suffices &= self.log.note(subject, amount <= free, text)
        return suffices


def _restrictions(size: dict[str, Any], restricted: str) -> list[dict[str, Any]]:
    """Return the restrictions of a size by `restricted`, Location or Zone."""
    return [limit for limit in size.get("restrictions") or () if limit.get("type") == restricted]


_ABILITIES: Final = {"EncryptionAtHostSupported": "encryption at host", "LowPriorityCapable": "spot machines"}
"""Abilities that a launch needs, the last for spot machines alone."""


def unstated_abilities(size: dict[str, Any], choice: ClusterOffer) -> Iterator[str]:
    """Yield what a launch needs and Azure's description of a size does not say, one way or the other."""
    for name, ability in _ABILITIES.items():
        if name not in capabilities(size) and (choice.is_spot or name != "LowPriorityCapable"):
            yield ability


def _obstacle(size: dict[str, Any], choice: ClusterOffer) -> str:
    """Return why a region cannot offer a size at all, '' if it can."""
    if _restrictions(size, "Location"):
        return "closed to this subscription"
    if capabilities(size).get("EncryptionAtHostSupported", "True") != "True":
        return "cannot encrypt at host"
    if choice.is_spot and capabilities(size).get("LowPriorityCapable", "True") != "True":
        return "not sold as spot machines"
    return volumes_obstacle(choice, capabilities(size))


def _zones(size: dict[str, Any]) -> Iterator[str]:
    """Yield the zones that offer a size and are open to the subscription."""
    closed = {
        zone
        for limit in _restrictions(size, "Zone")
        for zone in (limit.get("restrictionInfo") or {}).get("zones") or ()
    }
    for info in size.get("locationInfo") or ():
        yield from (zone for zone in info.get("zones") or () if zone not in closed)


class Prices:
    """Current price lists of regions, each read on first use."""

    def __init__(self, *, prices_url: str) -> None:
        self._access = Access(prices_url=prices_url)
        self._once = AnswerCache()

    def of(self, size: str, region: str, pricing: str) -> float | None:
        """Return US dollars per hour, on demand or spot; None when the list has no single price. Raises as
        `retail_prices` does.
        """
        prices: dict[tuple[str, str], float] = self._once(region, lambda: self._of_region(region))
        return prices.get((size, pricing))

    def _of_region(self, region: str) -> dict[tuple[str, str], float]:
        return retail_prices(region, access=self._access, watch=lambda _what, _count: None, left_out=Counter())


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
            created_type, name = type_of(resource_kind), request.parameters["names"][-1]
            yield {"type": created_type.type, "name": name, **request.parameters["body"]}, created_type.version


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
