"""What a cluster's numbers rest on, and what about them to distrust."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from planner.catalog.measurement_quality import scores_behind
from planner.cost_model.bill import unpriced
from planner.cost_model.disk_layout import OBJECTS, VOLUMES
from planner.cost_model.rate_spreads import slowed_by
from planner.cost_model.rates import evidence_name, weakest
from planner.cost_model.staging_steps import on_volumes_bytes
from planner.cost_model.workload import UNDIVIDED, JobContext
from planner.schemas.plan import PhaseEstimate
from planner.units import format_bytes, format_rate

Phases = tuple[PhaseEstimate, ...]

STATED: Final = ("price", "shape", "volume_price", "object_store_price")
"""Facts of which what the cloud states is as good as can be; the rest are rates."""


def evidence_of(one: JobContext, phases: Phases, *, nodes: int, price: str) -> dict[str, str]:
    """Return what each rate in use and each price rest on: a word of the catalogs' `evidence`, or `unknown`."""
    kind = int(one.layouts.type_row[0])
    used = {name for phase in phases for name in phase.resources}
    words = {
        "network": one.rates.network.evidence_at(kind, nodes),
        "volumes": evidence_name(int(one.rates.volumes.evidence[kind])),
        "object_store": evidence_name(int(one.rates.objects.evidence[kind])),
        **dict.fromkeys(("cpu", *UNDIVIDED), one.rates.cpu_evidence),
    }
    disks = evidence_name(int(one.rates.local.evidence[kind]))
    shape = str(one.catalog.instances.evidence[kind])
    rates = {name: words.get(name, disks) for name in sorted(used)}
    return rates | {"price": price, "shape": shape} | _storage_prices(one, kind)


def _storage_prices(one: JobContext, kind: int) -> dict[str, str]:
    """What the prices of volumes and object store rest on, where they are paid."""
    found = {}
    if one.layouts.uses(VOLUMES)[0] and one.volumes.usd_per_byte_hour[kind] > 0:
        found["volume_price"] = one.catalog.volume_types[str(one.volumes.volume_type[kind])].price_evidence or "unknown"
    if one.layouts.uses(OBJECTS)[0]:
        found["object_store_price"] = one.objects.evidence
    return found


def deciding(evidence: Mapping[str, str], phases: Phases) -> str:
    """Return the weakest evidence among what decides time and cost."""
    stated = [evidence[name] for name in STATED if name in evidence]
    good = ["measured" if word in ("spec", "derived") else word for word in stated]
    return weakest(*good, *(evidence[phase.bottleneck] for phase in phases if phase.resources))


def caveats(one: JobContext, phases: Phases, evidence: Mapping[str, str], *, nodes: int, pricing: str) -> Iterator[str]:
    """Yield what to know before trusting a cluster's times and costs, as warnings."""
    yield from _warnings(evidence)
    yield from _network_band(one, evidence, nodes)
    yield from _bucket(one, phases, nodes=nodes)
    yield from _tails(one, phases)
    yield from _credit(one, nodes=nodes)
    yield from _unknown_charges(one, pricing=pricing)
    yield from unpriced(one)
    yield from _truth(one, evidence)


def _warnings(evidence: Mapping[str, str]) -> Iterator[str]:
    meaning = {
        "spec": "stated by the cloud, not measured",
        "extrapolated": "extrapolated beyond what was measured",
        "recalled": "recalled, not verified against a source",
        "assumed": "assumed, not measured",
    }
    for name, word in evidence.items():
        if word in meaning and not (name in STATED and word == "spec"):
            yield f"{name.replace('_', ' ')}: {meaning[word]}"


def _bucket(one: JobContext, phases: Phases, *, nodes: int) -> Iterator[str]:
    kind, network = int(one.layouts.type_row[0]), one.rates.network
    tokens, count = float(network.bucket_bytes[kind]), np.array([float(nodes)])
    if not np.isnan(tokens):
        rate = float(network.at(np.array([kind]), count)[0, 0])
        burst = float(network.burst_at(np.array([kind]))[0])
        sent = sum(phase.resources["network"].bytes_per_node for phase in phases if "network" in phase.resources)
        spent = sent * (1 - rate / burst) > tokens
        end = "is spent before the job ends" if spent else "outlasts the job"
        yield f"network: bursts at {burst / 1e9:.3g} GB/s, then {rate / 1e9:.3g} GB/s; a full token bucket {end}"


def _tails(one: JobContext, phases: Phases) -> Iterator[str]:
    kind, used = int(one.layouts.type_row[0]), {name for phase in phases for name in phase.resources}
    for tail in one.spreads.tails.get(kind, ()):
        if used & slowed_by(tail):
            share = f"{tail.slow_fraction:.0%} of {tail.per}s were {tail.slow_factor:g} times slower in {tail.zone}"
            hit = f", so {one.spreads.slow_nodes(tail, kind):.0%} of nodes are" if tail.per == "volume" else ""
            yield f"{tail.resource.replace('_', ' ')}: {share}{hit}"


def _credit(one: JobContext, *, nodes: int) -> Iterator[str]:
    kind = int(one.layouts.type_row[0])
    if one.layouts.uses(VOLUMES)[0] and one.volumes.on_credit[kind]:
        moved, lasts = float(on_volumes_bytes(one)[0]) / nodes, float(one.volumes.credit_bytes[kind])
        share = f"the run moves {format_bytes(moved)} per node, a full credit is enough for {format_bytes(lasts)}"
        yield f"volumes: fast on burst credit, which outlasts the run: {share}"


def _unknown_charges(one: JobContext, *, pricing: str) -> Iterator[str]:
    if pricing == "spot" and one.risk is None:
        yield "spot: how often nodes are taken back is unknown, and what that costs is not in the plan"
    if one.layouts.uses(OBJECTS)[0] and np.isnan(one.objects.egress_usd_per_gib):
        yield "object store: what traffic to instances of the region costs is unknown and not in the bill"


def _network_band(one: JobContext, evidence: Mapping[str, str], nodes: int) -> Iterator[str]:
    """Say what an extrapolated network rate rests on, and how wide it may be missed."""
    curve = one.rates.network.curves.get(int(one.layouts.type_row[0]))
    if curve is not None and evidence.get("network") == "extrapolated":
        band = curve.band(nodes)
        low, high = (format_rate(float(edge[0])) for edge in (band.low_bytes_per_s, band.high_bytes_per_s))
        yield f"network: {curve.basis}; at {nodes} nodes it lies between {low} and {high} nine times in ten"


def _truth(one: JobContext, evidence: Mapping[str, str]) -> Iterator[str]:
    """Say how far the worst figure that the candidate rests on can be trusted; what the user assumed is theirs, and
    this machine was measured itself.
    """
    if one.catalog.cloud == "local":
        return
    used = [name for name, word in evidence.items() if word not in ("assumed", "unknown")]
    kind = str(one.catalog.instances.instance_type[one.layouts.type_row[0]])
    yield from (truth.text for truth in scores_behind(one.catalog, kind, used)[:1])
