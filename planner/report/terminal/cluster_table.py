"""Clusters on a screen: offers, running clusters, and their cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from planner.clouds.order import Order
from planner.clouds.protocol import Place, PlannedRequest, Preflight
from planner.clusters.provisioning.cluster_lifecycle import FoundRun
from planner.clusters.provisioning.dry_run import Rehearsal
from planner.clusters.provisioning.launch import Cluster
from planner.clusters.provisioning.order_from_plan import enough_text
from planner.report.clusters import bill_of_lines, items_text
from planner.units import count_text, format_duration, format_usd

_MARKS = {True: "ok", False: "NO", None: "?"}


def findings_text(outcome: Preflight) -> str:
    """Return the findings of preflight, a line each."""
    return "\n".join(f"  {_MARKS[finding.ok]:<3} {finding.subject}: {finding.text}" for finding in outcome.findings)


def offer_text(order: Order, places: Sequence[Place], *, now: datetime) -> str:
    """Return the machines to be rented, in full, at today's prices; further places are tried if the first is full."""
    first, life_s = places[0].choice, (order.expires_at - now).total_seconds()
    ceiling = first.ceiling_usd_per_hour  # that of spot machines is the on-demand price, to which theirs may rise
    cap = "unknown, without an on-demand price" if ceiling is None else format_usd(ceiling * life_s / 3600)
    others = [place.text for place in places[1:]]
    short = f"95 of 100 such runs end within {format_duration(first.needed_s)}: others lose their machines"
    lines = [
        f"{places[0].text}: {count_text(first.nodes, 'node')}, {count_text(first.spares, 'spare')}"
        + (", in one placement group" if first.placement_group else ""),
        f"each with {of.count} x {of.volume_type} of {of.size_gib} GiB" if (of := first.volumes) else "",
        f"cost: {format_usd(first.total_usd)} expected for {format_duration(first.expected_s)}, at "
        f"{format_usd(first.launched_usd_per_hour)} per hour",
        f"of it: {items_text(bill_of_lines(first.bill))}",
        f"cap: {cap}, because every machine ends by itself in {format_duration(life_s)}, at "
        f"{order.expires_at:%Y-%m-%d %H:%M} UTC",
        f"warning: {short}; {enough_text(first)}" if life_s < first.needed_s else "",
        f"the head takes SSH from {order.ssh_from} alone; no other machine can be reached",
        f"if there is no room: {', then '.join(others)}" if others else "",
    ]
    return "\n".join(filter(None, lines))


def decision_text(
    order: Order, rehearsal: Rehearsal, *, now: datetime, own_address: bool, vcpus: float | None = None
) -> str:
    """Return the result of a dry run: what would be rented and created, its maximum cost and its share of the quota.

    Without `own_address`, the network with access to the head is a placeholder.
    """
    counts = [count_text(count, name.replace("-", " ")) for name, count in rehearsal.made.items()]
    others = [replace(rehearsal.place, choice=choice) for choice in order.choices if choice != rehearsal.place.choice]
    offered = offer_text(order, [rehearsal.place, *others], now=now)
    if not own_address:
        offered = offered.replace(order.ssh_from, f"{order.ssh_from} (a placeholder for your address)")
    choice, region = rehearsal.place.choice, rehearsal.place.region
    lines = [
        offered,
        f"to be created, and removed in the end: {', '.join(counts)}",
        f"dry run: {order.cloud} was asked nothing, so the price is the plan's; --verbose prints the "
        f"{len(rehearsal.requests)} requests",
    ]
    if vcpus is not None:
        family = f"the family of {choice.instance_type} in {region}"
        lines.insert(1, f"quota: {vcpus:g} {choice.pricing} vCPUs of {family}")
    return "\n".join(lines)


def swept_text(found: FoundRun, *, now: datetime) -> str:
    """Return what a sweep found of a run: its machines, owner, age, cost, and end."""
    owners = found.owners or ("nobody named",)
    ends = [resource.expires_at for resource in found.resources if resource.expires_at]
    began = found.launched_at
    return ", ".join(
        [
            f"run {found.run} of {', '.join(owners)}: {count_text(len(found.resources), 'resource')}",
            count_text(len(found.nodes), "machine")
            + (f" for {format_duration((now - began).total_seconds())}" if began else ""),
            *(
                [f"about {format_usd(found.usd)} at on-demand prices" if found.usd is not None else "cost unknown"]
                if found.nodes
                else []
            ),
            f"expires {max(ends):%Y-%m-%d %H:%M} UTC" if ends else "without an end",
        ]
    )


def cluster_text(cluster: Cluster, *, order: Order, key: str) -> str:
    """Return how to reach a cluster and how to stop paying for it."""
    usd_per_hour = format_usd(cluster.place.choice.launched_usd_per_hour)
    through = f" -o ProxyCommand=\"ssh -W '[%h]:%p' {order.jump}\"" if order.jump else ""
    place = cluster.place.zone or cluster.place.region
    return "\n".join(
        [
            f"run {order.run}: {count_text(len(cluster.nodes), 'machine')} in {place}",
            f"ssh -i {key}{through} ubuntu@{cluster.head.public_address or cluster.head.private_address}",
            f"{usd_per_hour} per hour until: planner cluster down {order.run}",
        ]
    )


def request_lines(requests: Sequence[PlannedRequest]) -> Iterator[str]:
    """Yield each request that would be made: its number, service, region, operation and parameters."""
    for number, request in enumerate(requests, 1):
        yield f"{number:>3} {request.service} {request.region} {request.operation}"
        yield from (f"      {name} = {value!r}" for name, value in request.parameters.items())
