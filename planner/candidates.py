"""One cluster in full: phases with their bottleneck, ranges by exact order statistics, evidence and warnings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner import variability
from planner.capacity import capacity_per_node, fewest_nodes
from planner.cloud_truth import truths_behind
from planner.estimate import GENERATE, VALIDATE, overhead_node_seconds, paid_nodes, volume_usd_per_hour
from planner.model import Phase
from planner.plan import Candidate, Cost, DiskSplit, PhaseEstimate, Range, ResourceUse
from planner.rates import evidence_name, weakest
from planner.work import SIGMA_OF, Situation

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Offer:
    """What a region asks for every type of a catalog, shape (T,): all-in USD per node-hour, and what that rests on."""

    region: str
    pricing: str
    price_usd_per_hour: Floats
    evidence: tuple[str, ...]


def candidate(situation: Situation, *, row: int, nodes: int, offer: Offer) -> Candidate:
    """Return the cluster of `nodes` on layout `row` of `situation`, computed exactly."""
    one = situation.only(row)
    kind = int(one.layouts.type_row[0])
    phases = tuple(_phase(one, phase, nodes) for phase in one.model.phases)
    moments = _moments(one, phases, nodes)
    overheads = _overheads(one, nodes)
    price = float(offer.price_usd_per_hour[kind])
    hourly = nodes * price + float(volume_usd_per_hour(one)[0])
    paid = float(paid_nodes(np.array([float(nodes)]), spare_fraction=one.lifecycle.spare_fraction)[0])
    time_s = _range(sum(phase.time_s for phase in phases), moments)
    whole_s = time_s.expected + sum(overheads.values())
    evidence = _evidence(one, phases, nodes=nodes, price=offer.evidence[kind])
    return Candidate(
        cloud=one.catalog.cloud,
        region=offer.region,
        instance_type=str(one.catalog.instances.instance_type[kind]),
        nodes=nodes,
        nodes_min=int(fewest_nodes(one)[0]),
        placement_group=bool(one.catalog.instances.placement_group[kind]) and nodes > 1,
        pricing=offer.pricing,
        price_usd_per_hour=price,
        storage=_storage(one),
        disk_split=_split(one),
        shared=bool(one.layouts.shared[0]),
        time_s=time_s,
        cost_usd=_cost(time_s, hourly=hourly, total=(hourly + (paid - nodes) * price) * whole_s / 3600),
        phases=phases,
        capacity_bytes={group: float(held[0]) for group, held in capacity_per_node(one).items()},
        needed_bytes={group: held / nodes for group, held in one.group_bytes().items()},
        overheads_s=overheads,
        evidence=_deciding(evidence, phases),
        warnings=(*_warnings(evidence), *_truth(one, evidence)),
    )


def _phase(one: Situation, phase: Phase, nodes: int) -> PhaseEstimate:
    count, first = np.array([float(nodes)]), slice(0, 1)
    uses = {
        name: _use(float(work.total_bytes[0]) / nodes, float(work.node_seconds[0]) / nodes)
        for name, work in one.works(phase).items()
    }
    moved = float(one.network_bytes(phase, first, count)[0, 0])
    if moved > 0:
        uses["network"] = _use(moved, float(one.network_seconds(phase, first, count)[0, 0]))
    uses = {name: use for name, use in uses.items() if use.time_s > 0}
    bottleneck = max(uses, key=lambda name: uses[name].time_s, default="nothing")
    return PhaseEstimate(
        name=phase.name,
        time_s=uses[bottleneck].time_s if uses else 0.0,
        bottleneck=bottleneck,
        resources=uses,
    )


def _use(bytes_per_node: float, seconds: float) -> ResourceUse:
    rate = bytes_per_node / seconds if seconds > 0 else 0.0
    return ResourceUse(bytes_per_node=bytes_per_node, bytes_per_s=rate, time_s=seconds)


def _moments(one: Situation, phases: tuple[PhaseEstimate, ...], nodes: int) -> variability.Moments:
    slowest = bool(one.rates.network.slowest_of_n[one.layouts.type_row[0]])
    sigma = one.lifecycle.node_sigma

    def load(name: str, use: ResourceUse) -> variability.Load:
        already = name == "network" and slowest
        spread = variability.lognormal(0.0 if already else sigma.get(SIGMA_OF[name], 0.0))
        return variability.Load(median_s=use.time_s, spread=spread, count=nodes)

    barriers = [variability.barrier([load(*item) for item in phase.resources.items()]) for phase in phases]
    return variability.shared_factor(barriers, sigma=one.lifecycle.shared_sigma)


def _range(equation_s: float, moments: variability.Moments) -> Range:
    p50, p95 = (variability.quantile(moments, probability) for probability in (0.5, 0.95))
    return Range(equation=equation_s, expected=moments.mean, p50=p50, p95=p95)


def _cost(time_s: Range, *, hourly: float, total: float) -> Cost:
    per_s = hourly / 3600
    return Cost(
        equation=per_s * time_s.equation,
        expected=per_s * time_s.expected,
        p50=per_s * time_s.p50,
        p95=per_s * time_s.p95,
        total=total,
    )


def _overheads(one: Situation, nodes: int) -> dict[str, float]:
    """Seconds that every node is paid for around the job."""
    life = one.lifecycle
    named = {"boot": life.boot_s, "screen": life.screen_s, "teardown": life.teardown_s}
    moved = {p.name: float(overhead_node_seconds(one, p)[0]) / nodes for p in (GENERATE, VALIDATE)}
    return {name: seconds for name, seconds in (named | moved).items() if seconds > 0}


def _storage(one: Situation) -> str:
    kind = int(one.layouts.type_row[0])
    on_volumes = one.layouts.data_disks[0] == 0 or one.layouts.intermediate_disks[0] == 0
    on_local = one.layouts.data_disks[0] > 0 or one.layouts.intermediate_disks[0] > 0
    volumes = f"{one.volumes.count[kind]:.0f} x {one.volumes.volume_type[kind]}"
    local = f"{one.layouts.disks[0]:.0f} local {one.catalog.instances.local_disk_kind[kind]}"
    return " + ".join(text for text, used in ((local, on_local), (volumes, on_volumes)) if used)


def _split(one: Situation) -> DiskSplit | None:
    if bool(one.layouts.shared[0]) or one.layouts.data_disks[0] + one.layouts.intermediate_disks[0] == 0:
        return None
    return DiskSplit(data=int(one.layouts.data_disks[0]), intermediate=int(one.layouts.intermediate_disks[0]))


def _evidence(one: Situation, phases: tuple[PhaseEstimate, ...], *, nodes: int, price: str) -> dict[str, str]:
    """What each rate in use and the price rest on."""
    kind = int(one.layouts.type_row[0])
    used = {name for phase in phases for name in phase.resources}
    words = {
        "network": one.rates.network.evidence_at(kind, nodes),
        "volumes": evidence_name(int(one.rates.volumes.evidence[kind])),
        "cpu": one.rates.cpu_evidence,
    }
    disks = evidence_name(int(one.rates.local.evidence[kind]))
    return {name: words.get(name, disks) for name in sorted(used)} | {"price": price}


def _deciding(evidence: dict[str, str], phases: tuple[PhaseEstimate, ...]) -> str:
    """Return the weakest evidence among what decides time and cost; a price stated in a price list is as good as can
    be.
    """
    price = "measured" if evidence["price"] == "spec" else evidence["price"]
    return weakest(price, *(evidence[phase.bottleneck] for phase in phases if phase.resources))


def _warnings(evidence: dict[str, str]) -> Iterator[str]:
    meaning = {
        "spec": "stated by the cloud, not measured",
        "extrapolated": "extrapolated beyond what was measured",
        "recalled": "recalled, not verified against a source",
        "assumed": "assumed, not measured",
    }
    for name, word in evidence.items():
        if word in meaning and (name, word) != ("price", "spec"):
            yield f"{name.replace('_', ' ')}: {meaning[word]}"


def _truth(one: Situation, evidence: dict[str, str]) -> Iterator[str]:
    """Say how far the worst figure that the candidate rests on can be trusted; what the user assumed is theirs, and
    this machine was measured itself.
    """
    if one.catalog.cloud == "local":
        return
    used = [name for name, word in evidence.items() if word not in ("assumed", "unknown")]
    kind = str(one.catalog.instances.instance_type[one.layouts.type_row[0]])
    yield from (truth.text for truth in truths_behind(one.catalog, kind, used)[:1])
