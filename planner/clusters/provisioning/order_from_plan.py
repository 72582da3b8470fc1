"""From a plan to an order: which of its clusters to try, their expiry, and their cost limit."""

from __future__ import annotations

import getpass
import ipaddress
import math
import os
import re
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from planner.catalog import load_catalog
from planner.clouds.calls.http import failure_of
from planner.clouds.order import ClusterOffer, Order
from planner.clouds.protocol import Place, Preflight
from planner.clusters.provisioning.run_directory import origin
from planner.cost_model import run_overheads
from planner.cost_model.model import on_a_cluster, run_by
from planner.cost_model.model_reader import load_engine, load_model
from planner.errors import BadInputError, InfeasibleError, PlannerError
from planner.planning.ranking.selection import narrowed
from planner.planning.recommendation import recommend
from planner.schemas.plan import ADDRESS_LINE, Candidate, Plan, Request
from planner.units import format_duration

NEXT: Final = 2
"""Default number of further clusters of a plan's ranking to try."""
LEAST_HOURS: Final = 1.0
_SLACK: Final = 1.5
"""A run may take this multiple of its 95th percentile before its machines shut down automatically."""
_MOST_OPEN: Final = 8
"""Prefix length in bits of the widest network that may be allowed to reach the head."""
_OWN_ADDRESS_URL: Final = "https://checkip.amazonaws.com"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The user's limits: US dollars for the whole run, with the option that set them; hours until every machine shuts
    itself down; and dollars for all runs of a month.
    """

    cost_usd: float | None = None
    hours: float | None = None
    cost_option: str = "--max-cost"
    month_usd: float | None = None


def choices_of(
    plan: Plan, *, cloud: str, regions: Sequence[str], or_next: int = NEXT, screened: bool = True
) -> list[ClusterOffer]:
    """Return a plan's best cluster on one cloud and the next ones, with the spares that the plan pays for; without
    spares if no screening sends machines away. After all spot clusters, the same ones on demand follow.

    Raises InfeasibleError when there is none, BadInputError for a plan that supposes other machines than there are.
    """
    if supposed := plan.request.supposed:
        text = f"the plan supposes machines that nobody rents out: --what-if {supposed}"
        raise BadInputError(text, ["plan again without it"], code="what-if")
    fitting = [candidate for candidate in plan.candidates if candidate.cloud == cloud]
    if not fitting:
        raise InfeasibleError(f"the plan has no cluster on {cloud}", code="infeasible")
    wanted = [best if screened else _without_spares(best) for best in fitting[: 1 + or_next]]
    choices = [ClusterOffer.of(best, regions=tuple(regions), late_s=late_s(best, plan.request)) for best in wanted]
    for at, (best, choice) in enumerate(zip(wanted, choices, strict=True)):
        if choice.is_spot and choice.head_usd_per_hour is None:  # an older plan's bill lacks the head's line
            usd = on_demand_usd(best.cloud, best.instance_type, region=best.region)
            choices[at] = choice.at_price(choice.price_usd_per_hour, head=usd)
    return choices + [choice.on_demand for choice in choices if choice.is_spot and choice.head_usd_per_hour]


def on_demand_usd(cloud: str, instance_type: str, *, region: str) -> float | None:
    """Return the hourly on-demand price of one machine; None where the catalog has none."""
    catalog = load_catalog(cloud)
    row = catalog.instances.rows.get(instance_type)
    if row is None or region not in catalog.regions():
        return None
    usd = float(catalog.prices(region).price_usd_per_hour[row])
    return None if math.isnan(usd) else usd


def _without_spares(candidate: Candidate) -> Candidate:
    saved_usd = sum(line.usd or 0.0 for line in candidate.bill if line.name == "spares")
    cost, bill = candidate.cost_usd, tuple(line for line in candidate.bill if line.name != "spares")
    return replace(candidate, spares=0, bill=bill, cost_usd=replace(cost, total=cost.total - saved_usd))


def order_of(
    choices: Sequence[ClusterOffer],
    *,
    run: str,
    cloud: str,
    ssh_from: str,
    limits: Limits,
    now: datetime,
    image: str | None = None,
    staging: bool = False,
    node_identity: str = "",
    subnet: str = "",
    is_private: bool = False,
    jump: str = "",
    reservation: str = "",
    user_tags: tuple[tuple[str, str], ...] = (),
) -> Order:
    """Return the order of a run that begins now; its SSH key is still to be made.

    In reserved capacity only AWS lets a run make a placement group of its own: Google wants the reservation's policy or
    none, Azure none. The machines shut down automatically at `limits.hours`, or when the dearest choice has used up
    `limits.cost_usd`.
    """
    if reservation and cloud != "aws":
        choices = [replace(choice, placement_group=False) for choice in choices]
    if is_private:
        choices = [choice.without(ADDRESS_LINE) for choice in choices]
    return Order(
        run=run,
        owner=owner(),
        cloud=cloud,
        expires_at=now + timedelta(hours=hours_allowed(choices, limits)),
        choices=tuple(choices),
        ssh_from=parse_network(ssh_from),
        ssh_public_key="",
        image=image,
        staging=staging,
        node_identity=node_identity,
        subnet=subnet,
        is_private=is_private,
        jump=jump,
        reservation=reservation,
        user_tags=user_tags,
        origin=origin(),
    )


def hours_allowed(choices: Sequence[ClusterOffer], limits: Limits) -> float:
    """Return the machines' allowed hours: as requested, or 1.5 times the 95th percentile of whole runs; never more than
    the cost limit pays for.
    """
    longest_s = max(choice.needed_s for choice in choices)
    hours = limits.hours or max(LEAST_HOURS, _SLACK * longest_s / 3600)
    if limits.cost_usd is None:
        return hours
    dearest = max(most_usd_per_hour(choice) for choice in choices)
    return min(hours, limits.cost_usd / dearest) if dearest else hours


def most_usd_per_hour(choice: ClusterOffer) -> float:
    """Return the highest hourly cost of a choice; where it is unknown, the choice is refused if there is a limit."""
    return choice.launched_usd_per_hour if choice.ceiling_usd_per_hour is None else choice.ceiling_usd_per_hour


def offers_within(choices: Sequence[ClusterOffer], limits: Limits) -> tuple[list[ClusterOffer], list[str]]:
    """Return the choices whose run is expected to stay within the limits at the plan's price, and the reasons for
    leaving out the others. Raises InfeasibleError with each choice's reason when there is none.
    """
    keeping: list[ClusterOffer] = []
    reasons = []
    for choice in choices:
        if reason := _exceeded_limit(choice, limits) or _shortened_life(keeping, choice, limits):
            reasons.append(f"{choice.machines} x {choice.instance_type}: {reason}")
        else:
            keeping.append(choice)
    if not keeping:
        raise InfeasibleError("no planned cluster keeps to the limits", sorted(set(reasons)), code="over-limits")
    return keeping, list(dict.fromkeys(reasons))


def affordable_places(preflight: Preflight, limits: Limits) -> tuple[tuple[Place, ...], list[str]]:
    """Return the places where the whole run is expected to stay within the limits at today's price, and the reasons for
    leaving out the others.

    Each place's choice has today's price, if known.
    """
    places: list[Place] = []
    reasons = []
    for place in preflight.places:
        priced = replace(place, choice=at_todays_price(place, preflight))
        before = [place.choice for place in places]
        if reason := _exceeded_limit(priced.choice, limits) or _shortened_life(before, priced.choice, limits):
            reasons.append(f"{place.text}: {reason}")
        else:
            places.append(priced)
    return tuple(places), list(dict.fromkeys(reasons))


def _shortened_life(before: Sequence[ClusterOffer], choice: ClusterOffer, limits: Limits) -> str:
    """Return the reason that a further choice would end all machines too early for 95 of 100 runs on those `before`;
    '' if it would not. All machines of an order have one life, for which the limit must pay on the dearest choice.
    """
    if not before:
        return ""
    alone_s, lives_s = (3600 * hours_allowed(those, limits) for those in (before, [*before, choice]))
    needed_s = max(offer.needed_s for offer in before)
    if lives_s >= min(alone_s, needed_s):
        return ""
    return (
        f"no further choice: at its price {limits.cost_option} ends all machines after {format_duration(lives_s)}, "
        f"while 95 of 100 runs on {before[0].instance_type} take up to {format_duration(needed_s)}"
    )


def _exceeded_limit(choice: ClusterOffer, limits: Limits) -> str:
    """Return the reason that a run would exceed the limits; '' if it is expected to stay within them."""
    if limits.cost_usd is not None and choice.ceiling_usd_per_hour is None:
        return "the on-demand price, to which spot may rise, is unknown; --max-cost needs it, or --pricing on-demand"
    if limits.cost_usd is not None and choice.total_usd > limits.cost_usd:
        return f"${choice.total_usd:.2f} expected, over {limits.cost_option}"
    lives_s = 3600 * hours_allowed([choice], limits)
    if lives_s >= choice.expected_s:
        return ""
    return (
        f"machines would end after {format_duration(lives_s)}, before the {format_duration(choice.expected_s)} "
        f"that the run is expected to take; {enough_text(choice)}"
    )


def enough_text(choice: ClusterOffer) -> str:
    """Return the limits within which 95 of 100 runs end."""
    hours = choice.needed_s / 3600
    return f"--max-hours {hours:.2f}h and --max-cost {math.ceil(most_usd_per_hour(choice) * hours)} suffice"


def with_todays_end(order: Order, places: Sequence[Place], limits: Limits) -> Order:
    """Return the order of machines that live for as long as today's prices at these places allow, since it began."""
    began = order.expires_at - timedelta(hours=hours_allowed(order.choices, limits))
    return replace(order, expires_at=began + timedelta(hours=hours_allowed([place.choice for place in places], limits)))


def at_todays_price(place: Place, preflight: Preflight) -> ClusterOffer:
    """Return the choice with the machines' current price; the cost of volumes stays as planned."""
    choice, where = place.choice, (place.choice.type_with_disks, place.region)
    now, head = preflight.price_usd_per_hour.get((*where, choice.pricing)), choice.head_usd_per_hour
    if choice.is_spot:
        head = preflight.price_usd_per_hour.get((*where, "on-demand"), head)
    elif now is not None:
        head = head and now
    if now is None:
        return choice.at_price(choice.price_usd_per_hour, head=head)
    source = f"today's list of the cloud, {datetime.now(UTC):%Y-%m-%d}"
    return replace(choice.at_price(now, head=head), price_source=source)


def owner(identity: str = "") -> str:
    """Return the owner as a tag valid on all clouds: the cloud's identity, or else the user of this machine."""
    return re.sub(r"[^a-z0-9_-]", "-", (identity or user_name()).lower())[-63:] or "unknown"


def user_name() -> str:
    """Return the current user's name, or the user id where there is no name, as in a container."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid-{os.getuid()}"


def parse_network(text: str) -> str:
    """Return an IPv4 network in CIDR notation. Raises BadInputError for invalid text and for networks wider than /8."""
    try:
        network = ipaddress.ip_network(text, strict=False)
    except ValueError as error:
        raise BadInputError(
            f"`ssh_from={text}`: {error}; write 203.0.113.7/32", field="ssh_from", code="not-a-network"
        ) from error
    if network.version != 4:
        raise BadInputError(
            f"`ssh_from={text}`: machines have IPv4 addresses alone; write 203.0.113.7/32",
            field="ssh_from",
            code="not-ipv4",
        )
    if network.prefixlen < _MOST_OPEN:
        raise BadInputError(
            f"`ssh_from={text}`: would open the head to {network.num_addresses} addresses",
            field="ssh_from",
            code="network-too-large",
        )
    return str(network)


def own_network() -> str:
    """Return this machine's public address as a network of one. Raises BadInputError when offline."""
    try:
        with urllib.request.urlopen(_OWN_ADDRESS_URL, timeout=10) as answer:
            address = ipaddress.ip_address(answer.read().decode("ascii").strip())
    except (OSError, ValueError) as error:
        why = failure.text if (failure := failure_of(error)) else "the answer is no address"
        raise BadInputError(
            f"cannot find out this machine's public address ({why}); give it: --ssh-from 203.0.113.7/32",
            code="no-public-address",
        ) from error
    return f"{address}/{address.max_prefixlen}"


ENGINE: Final = "ray"
"""Engine of the sort on rented machines."""
UNPLANNED_S: Final = 1800.0
"""Allowance for steps outside the plan: copying the software to the head and installing it, each at most 15 minutes."""


def late_s(candidate: Candidate, request: Request) -> float:
    """Return the 95th percentile of the whole run's seconds on a planned cluster.

    The sort is planned for its engine, with intermediate data on disks whatever the memory. The steps around it are
    assumed to be as late as the sort, and links between places as slow as one in twenty. A run that generates its
    input reads it once more than planned, for its checksum.
    """
    again = _on_a_cluster(candidate, request)
    overheads = again.overheads_s
    summed_s = overheads.get("validate", 0.0) if "generate" in overheads else 0.0
    lateness = max(1.0, again.time_s.p95 / again.time_s.expected) if again.time_s.expected else 1.0
    return again.time_s.p95 + lateness * (sum(overheads.values()) + summed_s) + again.late_staging_s + UNPLANNED_S


def _on_a_cluster(candidate: Candidate, request: Request) -> Candidate:
    """Return the cluster planned again for the cluster sort, or as planned where that fails."""
    alone = replace(narrowed(request, candidate, nodes=candidate.nodes), engine=ENGINE)
    try:
        model = run_by(on_a_cluster(load_model(candidate.model)), load_engine(ENGINE))
        catalogs = [load_catalog(candidate.cloud)]
        compiled_for = frozenset({"x86_64", "arm64"} if "compile" in candidate.overheads_s else ())
        overheads = replace(run_overheads.shipped(), compiled_for=compiled_for)
        return recommend(alone, model=model, catalogs=catalogs, overheads=overheads).best or candidate
    except PlannerError:
        return candidate
