"""Checks on AWS before anything is created."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from itertools import compress
from typing import Any, Final, Self

from planner.clouds.aws.account_settings import public_access_finding, volume_key_finding
from planner.clouds.aws.client import Connect, Service, temporary_credentials_end
from planner.clouds.aws.instances import (
    described_reservation,
    image_of,
    reservation_group,
    reservation_obstacle,
    shape_of,
    zones_of,
)
from planner.clouds.aws.network import described_subnet
from planner.clouds.aws.permissions import denied_conditions, identity_finding, permission_finding
from planner.clouds.calls.facts import facts_of
from planner.clouds.cloud_errors import NotFoundError
from planner.clouds.order import ClusterOffer, Order
from planner.clouds.preflight import AnswerCache, PreflightLog
from planner.clouds.price_lists.aws import hourly_usd, is_in_region, price_filters, spot_usd
from planner.clouds.protocol import Finding, Preflight
from planner.errors import BadInputError, PlannerError
from planner.units import count_text

MOST_MACHINES: Final = 1000
"""Bucket against which AWS counts each instance of RunInstances (EC2 Developer Guide, request throttling)."""
_NO_OTHER_END: Final = "none: where cloud-init never runs, only `planner cluster down` or `sweep` ends the machine"
"""EC2 ends no machine at a given time; each powers itself off by a timer that cloud-init sets."""
MOST_GROUPS: Final = 500
"""Placement groups per account and region (EC2 User Guide, placement group rules); Service Quotas lacks them."""


def preflight(order: Order, connect: Connect) -> Preflight:
    """Check credentials, then permissions, quotas and every choice in every region in parallel."""
    checks = _Checks(order=order, connect=_remembering(connect))
    log = checks.log
    if not log.add(credentials_finding(order, now=datetime.now(UTC))):
        return log.result()
    account = connect("sts", order.choices[0].regions[0]).call("get_caller_identity")
    log.note("credentials", True, f"account {account['Account']} as {account['Arn']}")
    log.note("end without cloud-init", None, _NO_OTHER_END)
    regions = list(dict.fromkeys(region for choice in order.choices for region in choice.regions))
    allowed, roomy, reachable, *_ = checks.at_once(
        [
            lambda its: its.allowed_regions(regions),
            lambda its: its.regions_where(_Checks.is_within_quotas, regions),
            lambda its: its.regions_where(_Checks.is_reached, regions),
            lambda its: its.check_spot_role(regions[0]),
            *(
                partial(_Checks.add_zones, choice=choice, region=region)
                for choice in order.choices
                for region in choice.regions
            ),
        ]
    )
    usable = set(allowed).intersection(roomy, reachable)
    log.places = [place for place in log.places if place.region in usable]
    return log.result()


def _remembering(connect: Connect) -> Connect:
    """Return services that make each request once: several checks need the same description of a type."""
    once = AnswerCache()
    return lambda name, region: _Remembering(connect(name, region), name=name, once=once)


class _Remembering:
    """A Service that caches answers by request; concurrent callers wait for the first."""

    def __init__(self, service: Service, *, name: str, once: AnswerCache) -> None:
        self.region = service.region
        self._service, self._name, self._once = service, name, once

    def call(self, operation: str, *, repeatable: bool = True, fresh: bool = False, **request: Any) -> dict[str, Any]:
        """See Service."""
        answer: dict[str, Any] = self._once(
            self._key(operation, request),
            lambda: self._service.call(operation, repeatable=repeatable, fresh=fresh, **request),
        )
        return answer

    def items(self, operation: str, key: str, **request: Any) -> Iterator[dict[str, Any]]:
        """See Service."""
        listed = lambda: list(self._service.items(operation, key, **request))  # noqa: E731
        yield from self._once(self._key(operation, request), listed)

    def _key(self, operation: str, request: dict[str, Any]) -> tuple[str, ...]:
        return self._name, self.region, operation, repr(sorted(request.items()))


def credentials_finding(order: Order, *, now: datetime) -> Finding:
    """Return a finding on whether the caller's credentials, and those lent to machines, outlive 95 of 100 runs."""
    subject, until = "credentials' end", now + timedelta(seconds=max(choice.needed_s for choice in order.choices))
    is_temporary, end = temporary_credentials_end()
    if not is_temporary:
        return Finding(subject=subject, ok=True, text="they do not end, or renew themselves")
    if end is None:
        text = f"not stated (AWS_CREDENTIAL_EXPIRATION); the run needs them until {until:%Y-%m-%d %H:%M} UTC"
        return Finding(subject=subject, ok=None, text=text)
    text = f"{end:%Y-%m-%d %H:%M} UTC; the run may need them until {until:%Y-%m-%d %H:%M} UTC"
    return Finding(subject=subject, ok=end >= until, text=text)


def spot_role_finding(iam: Service) -> Finding:
    """Return a finding on whether the account has the service-linked role that spot instances require."""
    subject = f"role {_SPOT_ROLE}"
    try:
        iam.call("get_role", RoleName=_SPOT_ROLE)
    except NotFoundError:
        text = "not there; the first spot launch makes it, with iam:CreateServiceLinkedRole, or an administrator once: "
        return Finding(subject=subject, ok=None, text=text + _CREATE_SPOT_ROLE)
    except PlannerError as error:
        return Finding(subject=subject, ok=None, text=f"not known: {error.message}")
    return Finding(subject=subject, ok=True, text="there")


def split_local(zones: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return a region's own zones and its Local Zones, each by name."""
    ordered = sorted(zones)
    return [zone for zone in ordered if is_in_region(zone)], [zone for zone in ordered if not is_in_region(zone)]


def purchase_obstacle(shape: dict[str, Any], choice: ClusterOffer) -> str:
    """Return why a type, as AWS describes it, is not sold as a choice needs it, '' if it is. The head is on demand."""
    sold = shape.get("SupportedUsageClasses", ["on-demand", "spot"])
    for pricing in dict.fromkeys(["on-demand", choice.pricing]):
        if pricing not in sold:
            return f"not sold {'as spot instances' if pricing == 'spot' else 'on demand'}, only as {', '.join(sold)}"
    volumes = 1 + (choice.volumes.count if choice.volumes else 0)
    if volumes > (most := shape.get("EbsInfo", {}).get("MaximumEbsAttachments", volumes)):
        return f"{volumes} volumes on each machine, its root included; EC2 attaches {most}"
    return ""


@dataclass(frozen=True, kw_only=True)
class _Checks:
    """The checks of one preflight; `log` collects their findings."""

    order: Order
    connect: Connect
    log: PreflightLog = field(default_factory=PreflightLog)

    def at_once(self, checks: Sequence[Callable[[Self], Any]]) -> list[Any]:
        """Run checks in parallel; their findings keep their order."""

        def with_log(check: Callable[[Self], Any]) -> Callable[[PreflightLog], Any]:
            return lambda log: check(replace(self, log=log))

        return self.log.run_at_once([with_log(check) for check in checks])

    def regions_where(self, check: Callable[..., bool], regions: Sequence[str]) -> list[str]:
        """Return the regions that pass a check."""
        return list(compress(regions, self.at_once([partial(check, region=region) for region in regions])))

    def allowed_regions(self, regions: Sequence[str]) -> list[str]:
        """Return the regions where the account may do all that a run does."""
        allowed = self.regions_where(_Checks.is_permitted, regions)
        if self.order.node_identity and allowed and not self.may_lend_identity(allowed[0]):
            return []
        return allowed

    def is_reached(self, region: str) -> bool:
        """Return whether a region's settings let the caller reach the head; note the key of volumes."""
        ec2 = self.connect("ec2", region)
        is_open = self.log.add(public_access_finding(ec2, self.order))
        return self.log.add(volume_key_finding(ec2)) and is_open

    def is_permitted(self, region: str) -> bool:
        decode = partial(denied_conditions, self.connect("sts", region))
        return self.log.add(permission_finding(self.connect("ec2", region), self.order, decode=decode))

    def may_lend_identity(self, region: str) -> bool:
        """Check the instance profile in one region, as it is the same in all."""
        return self.log.add(identity_finding(self.connect("ec2", region), self.order))

    def check_spot_role(self, region: str) -> None:
        """Check the role of spot instances if any are ordered."""
        if any(choice.is_spot for choice in self.order.choices):
            self.log.add(spot_role_finding(self.connect("iam", region)))

    def is_within_quotas(self, region: str) -> bool:
        """Return whether the resources a run makes once are within their quotas; an unstated quota is unknown."""
        return all([self._is_within_network_quotas(region), self._is_within_group_quota(region)])

    def _is_within_network_quotas(self, region: str) -> bool:
        if self.order.subnet:
            return True
        ec2, quotas = self.connect("ec2", region), self.connect("service-quotas", region)
        suffices = True
        for name, (code, listing, key) in facts_of("aws")["quotas"]["network"].items():
            quota, used = quota_value(quotas, code, service="vpc"), sum(1 for _ in ec2.items(listing, key))
            free = "not known" if quota is None else f"{quota - used:g} of {quota:g} free"
            is_enough = None if quota is None else quota - used >= 1
            suffices &= self.log.note(f"quota of {name} in {region}", is_enough, f"1 needed, {free}")
        return suffices

    def _is_within_group_quota(self, region: str) -> bool:
        if not any(choice.placement_group and region in choice.regions for choice in self.order.choices):
            return True
        used = sum(1 for _ in self.connect("ec2", region).items("describe_placement_groups", "PlacementGroups"))
        text = f"1 needed, {MOST_GROUPS - used} of {MOST_GROUPS} free"
        return self.log.note(f"quota of placement groups in {region}", used < MOST_GROUPS, text)

    def add_zones(self, choice: ClusterOffer, region: str) -> None:
        """Add the zones of a region where a choice may be tried; AWS's refusals become findings."""
        with self.log.noting_refusals(f"{choice.instance_type} in {region}"):
            self._add_zones(choice, region)

    def _add_zones(self, choice: ClusterOffer, region: str) -> None:
        name = choice.instance_type
        if not self._fits(choice, region):
            return
        suffices = self._within_quota(choice, region)
        self.log.note_prices(choice, region, lambda pricing: self._price(name, region, pricing))
        zones, local = split_local(zones_of(self.connect("ec2", region), name))
        if self.order.subnet:
            zones = self._within_subnet(choice, zones + local, region)
        if self.order.reservation:
            zones = self._within_reservation(choice, zones + local, region)
        text = f"offered in {', '.join(zones) or 'no zone'}"
        if local and not zones:
            text += f" of the region itself; Local Zones, at other prices, need --subnet: {', '.join(local)}"
        self.log.note(f"{name} in {region}", bool(zones), text)
        if suffices:
            self.log.add_places(choice, region, zones)

    def _within_subnet(self, choice: ClusterOffer, zones: list[str], region: str) -> list[str]:
        """Return the zone of the order's subnet, if it has room and is among these zones."""
        subject = f"subnet {self.order.subnet} in {region}"
        try:
            subnet = described_subnet(self.connect("ec2", region), self.order.subnet)
        except BadInputError as error:
            self.log.note(subject, False, error.message)
            return []
        zone, free = str(subnet["AvailabilityZone"]), int(subnet["AvailableIpAddressCount"])
        if free < choice.machines:
            self.log.note(subject, False, f"{free} addresses left; {choice.machines} needed")
            return []
        local = "" if is_in_region(zone) else "; a Local Zone has other prices than those here"
        text = f"in {zone}, with {free} addresses left; its routes and endpoints stay as they are{local}"
        self.log.note(subject, True, text)
        return [zone] if zone in zones else []

    def _within_reservation(self, choice: ClusterOffer, zones: list[str], region: str) -> list[str]:
        """Return the zone of the order's reservation, if it serves a choice and is among these zones."""
        subject = f"reservation {self.order.reservation} in {region}"
        try:
            described = described_reservation(self.connect("ec2", region), self.order.reservation)
        except BadInputError as error:
            self.log.note(subject, False, error.message)
            return []
        zone = str(described["AvailabilityZone"])
        against = reservation_obstacle(described, choice, expires_at=self.order.expires_at)
        group = f", in placement group {reservation_group(described)}" if reservation_group(described) else ""
        if not self.log.note(subject, not against, against or f"in {zone}{group}, with room for all machines"):
            return []
        return [zone] if zone in zones else []

    def _fits(self, choice: ClusterOffer, region: str) -> bool:
        subject = f"{choice.instance_type} in {region}"
        try:
            shape = shape_of(self.connect("ec2", region), choice.instance_type)
            image_of(self.connect("ec2", region), self.order, choice.instance_type)
        except BadInputError as error:
            return self.log.note(subject, False, str(error))
        if shape.get("InstanceStorageInfo", {}).get("NvmeSupport") == "unsupported":
            return self.log.note(
                subject, False, "an older type: its local disks are no NVMe disks, and are not mounted"
            )
        if choice.machines > MOST_MACHINES:
            text = f"{choice.machines} machines; AWS launches {MOST_MACHINES} at once, and then two a second"
            return self.log.note(subject, False, text)
        if obstacle := purchase_obstacle(shape, choice):
            return self.log.note(subject, False, obstacle)
        strategies = shape.get("PlacementGroupInfo", {}).get("SupportedStrategies", [])
        if choice.placement_group and "cluster" not in strategies:
            return self.log.note(subject, False, "cannot stand in a cluster placement group")
        return True

    def _within_quota(self, choice: ClusterOffer, region: str) -> bool:
        """Check the quota of on-demand instances, and for a spot choice also that of spot ones: all but the head."""
        spot = choice.machines - 1 if choice.is_spot else 0
        suffices = self._is_free(choice, region, choice.machines - spot, spot=False)
        return suffices and (not spot or self._is_free(choice, region, spot, spot=True))

    def _is_free(self, choice: ClusterOffer, region: str, machines: int, *, spot: bool) -> bool:
        ec2, name = self.connect("ec2", region), choice.instance_type
        needed = machines * int(shape_of(ec2, name)["VCpuInfo"]["DefaultVCpus"])
        quota = quota_vcpus(self.connect("service-quotas", region), name, spot=spot)
        subject = f"{'spot quota' if spot else 'quota'} for {name} in {region}"
        if quota is None:
            return self.log.note(subject, None, f"not known; {count_text(needed, 'vCPU')} needed")
        free = quota - used_vcpus(ec2, name, spot=spot)
        return self.log.note(
            subject, needed <= free, f"{count_text(needed, 'vCPU')} needed, {free:g} of {quota:g} free"
        )

    def _price(self, name: str, region: str, pricing: str) -> float | None:
        if pricing == "spot":
            return spot_price_now(self.connect("ec2", region), instance_type=name, now=datetime.now(UTC))
        return price_now(self.connect("pricing", _PRICE_REGION), instance_type=name, region=region)


_PRICE_REGION: Final = "us-east-1"
"""Region where the price list answers, whichever region is asked about."""


def price_now(prices: Service, *, instance_type: str, region: str) -> float | None:
    """Return US dollars per hour, on demand, Linux, shared hardware; None unless AWS states exactly one price."""
    filters = price_filters(regionCode=region, instanceType=instance_type)
    what = f"AWS price of {instance_type} in {region}"
    try:
        items = list(prices.items("get_products", "PriceList", ServiceCode="AmazonEC2", Filters=filters))
        amounts = {usd for _, usd in hourly_usd(items, region=region, what=what, left_out=Counter())}
    except PlannerError:
        return None
    return amounts.pop() if len(amounts) == 1 else None


def spot_price_now(ec2: Service, *, instance_type: str, now: datetime) -> float | None:
    """Return US dollars per hour of a spot instance, Linux, as the median of a region's zones; None when unknown."""
    asked = {"InstanceTypes": [instance_type], "ProductDescriptions": ["Linux/UNIX"], "StartTime": now, "EndTime": now}
    try:
        rows = list(ec2.items("describe_spot_price_history", "SpotPriceHistory", **asked))
    except PlannerError:
        return None
    return spot_usd(rows).get(instance_type)


_SPOT_ROLE: Final = "AWSServiceRoleForEC2Spot"
_CREATE_SPOT_ROLE: Final = "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com"


def quota_code(instance_type: str, *, spot: bool = False) -> str | None:
    """Return the Service Quotas code of the limit of a type's family; None where unknown."""
    codes, match = facts_of("aws")["quotas"]["spot" if spot else "on-demand"], re.match(r"[a-z]+", instance_type)
    return codes.get(match.group() if match else "", codes[""]) or None


def quota_vcpus(quotas: Service, instance_type: str, *, spot: bool = False) -> float | None:
    """Return how many vCPUs of a type's family may run in a region; None when unknown."""
    code = quota_code(instance_type, spot=spot)
    return None if code is None else quota_value(quotas, code)


def quota_value(quotas: Service, code: str, *, service: str = "ec2") -> float | None:
    """Return a quota of a service in a region: the applied one, or AWS's default where none is; None when unknown."""
    for operation in ("get_service_quota", "get_aws_default_service_quota"):
        try:
            value = quotas.call(operation, ServiceCode=service, QuotaCode=code).get("Quota", {}).get("Value")
        except NotFoundError:
            continue  # only quotas that were changed have an applied value
        except PlannerError:
            return None
        if value is not None:
            return float(value)
    return None


def used_vcpus(ec2: Service, instance_type: str, *, spot: bool = False) -> int:
    """Return the vCPUs now running in a region that count towards the same quota."""
    live = [{"Name": "instance-state-name", "Values": ["pending", "running"]}]
    total, default = 0, cache(lambda name: int(shape_of(ec2, name)["VCpuInfo"]["DefaultVCpus"]))
    for reservation in ec2.items("describe_instances", "Reservations", Filters=live):
        for instance in reservation["Instances"]:
            is_spot = instance.get("InstanceLifecycle") == "spot"  # spot instances have their own quotas
            codes = [quota_code(name, spot=spot) for name in (instance["InstanceType"], instance_type)]
            if is_spot == spot and codes[0] == codes[1]:
                options = instance.get("CpuOptions", {})  # bare metal has none
                cores = options.get("CoreCount")
                total += cores * options.get("ThreadsPerCore", 1) if cores else default(instance["InstanceType"])
    return total
