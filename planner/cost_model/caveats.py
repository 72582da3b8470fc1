"""What a plan says about the evidence behind a cluster's figures: a word for each, and a sentence for each doubt."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Final

import numpy as np

from planner.arrays import Floats
from planner.catalog import Catalog
from planner.catalog.instances import is_bare_metal, split_weighting
from planner.catalog.measurement_quality import scores_behind
from planner.catalog.processors.power import processor_power
from planner.catalog.shipped_tables import nearest_gap
from planner.catalog.tables import Table
from planner.cost_model.bill import unpriced
from planner.cost_model.disk_layout import LOCAL, OBJECTS, VOLUMES
from planner.cost_model.duration import JobTimes
from planner.cost_model.evidence import RATE_OF, RATES, assumed_range, is_slowed
from planner.cost_model.prices import Offer
from planner.cost_model.rates import evidence_name, weakest
from planner.cost_model.staging import on_volumes_bytes
from planner.cost_model.workload import JobContext
from planner.schemas.plan import TIMES_OF_PROFILE, PhaseEstimate
from planner.statistics.scaling_curve import ScalingCurve
from planner.units import count_text, format_bytes, format_duration, format_rate, format_usd

STATED: Final = ("price", "shape", "volume_price", "object_store_price")
"""Facts for which the cloud's own figure is the best evidence; the rest are rates."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Basis:
    """What a cluster of `nodes` and `spares` on the only layout of `context` rests on, its price being in `offer`."""

    context: JobContext
    phases: tuple[PhaseEstimate, ...]
    nodes: int
    spares: int
    offer: Offer

    @cached_property
    def row(self) -> int:
        """The type's row of the catalog."""
        return int(self.context.layouts.type_row[0])

    @cached_property
    def evidence(self) -> dict[str, str]:
        """The evidence for each rate in use and each price: a word of the catalogs' `evidence`, or `unknown`."""
        context, row = self.context, self.row
        words = {name: self._of_rate(name) for name in sorted({name for of in self.phases for name in of.resources})}
        words |= {"price": self.offer.evidence[row], "shape": str(context.catalog.instances.evidence[row])}
        if context.layouts.uses(VOLUMES)[0] and context.volumes.usd_per_byte_hour[row] > 0:
            of_volumes = context.catalog.volume_types[str(context.volumes.volume_type[row])]
            words["volume_price"] = of_volumes.price_evidence or "unknown"
        if context.layouts.uses(OBJECTS)[0]:
            words["object_store_price"] = context.objects.evidence
        return words

    def _of_rate(self, resource: str) -> str:
        rates, part = self.context.rates, RATES[RATE_OF[resource]].part
        if resource == "network":
            return rates.network.evidence_at(self.row, self.nodes)
        if resource == "object_requests":
            return self.context.objects.request_evidence or "unknown"
        return evidence_name(int(getattr(rates, part).evidence[self.row])) if part else rates.cpu_evidence

    @property
    def grouped_most(self) -> float:
        """The most machines that are launched in one placement group: 0 for types and runs without any."""
        context = self.context
        if not context.catalog.instances.placement_group[self.row] or context.staging.zones > 1:
            return 0.0
        stated = context.catalog.manifest.placement
        return np.inf if stated is None else float(stated.machines_most)

    def caveats(self) -> Iterator[str]:
        """Yield what a plan says about it, in order."""
        return itertools.chain.from_iterable(sentences(self) for sentences in SENTENCES)


def deciding(evidence: Mapping[str, str], phases: tuple[PhaseEstimate, ...]) -> str:
    """Return the weakest evidence among the rates and prices that decide time and cost."""
    stated = [evidence[name] for name in STATED if name in evidence]
    good = ["measured" if word in ("spec", "derived") else word for word in stated]
    return weakest(*good, *(evidence[phase.bottleneck] for phase in phases if phase.resources))


def _too_many_for_one_group(of: Basis) -> Iterator[str]:
    """Yield a warning if only their number keeps the machines out of one placement group."""
    if 0 < of.grouped_most < (machines := of.nodes + of.spares):
        text = f"a placement group of this cloud takes {of.grouped_most:,.0f} machines, so these {machines:,} stand"
        text += " anywhere in the zone"
        yield f"network: {text}; rates between machines that are not placed together were seen to fall more"


_UNMEASURED: Final = {
    "spec": "stated by the cloud, not measured",
    "extrapolated": "extrapolated beyond what was measured",
    "recalled": "recalled, not verified against a source",
    "assumed": "assumed, not measured",
}
SPARED: Final = "; no phase waits for it as planned"
"""End of the warning about a rate that decides nothing."""


def _unmeasured(of: Basis) -> Iterator[str]:
    """Yield warnings about unmeasured figures; the verdict on the cluster covers only rates its phases wait for."""
    for name, word in of.evidence.items():
        if word in _UNMEASURED and not (name in STATED and word == "spec"):
            spared = "" if name in STATED or any(name == phase.bottleneck for phase in of.phases) else SPARED
            yield f"{name.replace('_', ' ')}: {_UNMEASURED[word]}{spared}"


def _software(of: Basis) -> Iterator[str]:
    context, engine = of.context, of.context.model.engine
    if context.rates.vcpu_sigma.any() or (engine.cpu_s_per_byte and engine.evidence != "measured"):
        name = f"engine {engine.name}" if context.model.software is None else f"model {context.model.name}"
        yield f"{name}: a vCPU {_speed(of)} that it was measured on"
    if 0 < engine.measured_nodes < of.nodes:
        most = f"whole sorts were measured on at most {count_text(engine.measured_nodes, 'node')}"
        yield f"engine {engine.name}: {most}; its error on {of.nodes} is unknown"
    if is_bare_metal(str(context.catalog.instances.instance_type[of.row])) and context.overheads.boot is not None:
        yield "boot: hardly any launch of bare metal was measured; it may take longer than that of a virtual machine"


_SPEED_OF: Final = {"type": "the type's", "family": "its family's", "generation": "its generation's"}


def _speed(of: Basis) -> str:
    """Return how fast a type's vCPU is beside that which software was measured on, and how that is known."""
    rates, catalog, row = of.context.rates, of.context.catalog, of.row
    sigma = float(np.broadcast_to(rates.vcpu_sigma, rates.vcpu.shape)[row])
    if not sigma:
        alike = np.isnan(catalog.sort_bytes_per_s_per_vcpu[row])
        return "is taken to be as fast as the one" if alike else "is as fast as was measured, beside the one"
    worth, basis = float(rates.vcpu[row] / catalog.instances.vcpu[row]), str(catalog.processor_speeds.basis[row])
    known = f"counts for {worth:.2f} by {_SPEED_OF[basis]} zstd rate" if basis else "of unknown speed counts for one"
    low, high = (worth * math.exp(side * NormalDist().inv_cdf(0.95) * sigma) for side in (-1, 1))
    return f"{known}, {low:.2f} to {high:.2f} nine times in ten, of those"


COMPUTED_DISKS: Final = "local disks: nobody measured them"
"""Start of the warning that a cluster waits for disks whose rates are computed from others'."""


def _computed_disks(of: Basis) -> Iterator[str]:
    edges, catalog = of.context.rates.local.edges, of.context.catalog
    waited_for = {RATE_OF.get(phase.bottleneck) for phase in of.phases}
    if edges is None or np.isnan(edges[0][of.row]) or "disk" not in waited_for:
        return
    table = catalog.tables["disks"]
    of_type = table["instance_type"] == catalog.instances.instance_type[of.row]
    alike = sorted(set(table["note"][of_type & np.isfinite(table["low_bytes_per_s"])].tolist()))
    low, high = (f"{float(edge[of.row]):.0%}" for edge in edges)
    yield f"{COMPUTED_DISKS}; their rates are computed ({', '.join(alike)}), nine in ten lie at {low} to {high} of them"


def _weighting(of: Basis) -> Iterator[str]:
    if weighting := split_weighting(of.context.catalog.instances.names[of.row])[1]:
        gains, loses = ("network", "volumes") if weighting == "vpc-1" else ("volumes", "network")
        share = f"part of the bandwidth of its {loses} goes to its {gains}; what either bursts to is unknown"
        yield f"{gains}: the machines must be launched with bandwidth weighting {weighting}: {share}"


def _network_band(of: Basis) -> Iterator[str]:
    network = of.context.rates.network
    curve, stated = network.curve_of(of.row), bool(network.stated[of.row])
    asked = of.evidence.get("network") == "extrapolated" or (stated and "network" in of.evidence)
    if curve is not None and of.nodes > 1 and asked:
        unit, most = float(network.flat[of.row]) if stated else 1.0, float(network.most[of.row])
        low, high = (format_rate(float(np.fmin(edge * unit, most))) for edge in _edges(curve, of.nodes))
        basis = "nobody measured how it scales" if stated else curve.basis
        yield f"network: {basis}; at {count_text(of.nodes, 'node')} it lies between {low} and {high} nine times in ten"


@lru_cache(maxsize=256)
def _edges(curve: ScalingCurve, nodes: int) -> tuple[float, float]:
    band = curve.band(nodes)
    return float(band.low_bytes_per_s[0]), float(band.high_bytes_per_s[0])


def _bucket(of: Basis) -> Iterator[str]:
    tokens = float(of.context.rates.network.bucket_bytes[of.row])
    if not np.isnan(tokens):
        rate, burst = of.context.link_rates(of.nodes)
        sent = sum(phase.resources["network"].bytes_per_node for phase in of.phases if "network" in phase.resources)
        end = "is spent before the job ends" if sent * (1 - rate / burst) > tokens else "outlasts the job"
        yield f"network: bursts at {burst / 1e9:.3g} GB/s, then {rate / 1e9:.3g} GB/s; a full token bucket {end}"


def _burstable(of: Basis) -> Iterator[str]:
    credits, vcpu = of.context.rates.credits, of.context.catalog.instances.vcpu[of.row]
    share = float(credits.baseline_share[of.row])
    if of.context.paper or share == 1:
        return
    credit_s = float(credits.launch_credit_vcpu_s[of.row] / vcpu) / (1 - share)
    first = f"at full speed for {format_duration(credit_s)} on the credit of a new node, then" if credit_s else "with"
    yield f"cpu: a burstable type, planned {first} {share:.3g} of each vCPU; boot and staging may spend credit, too"


def _kept_up(of: Basis) -> Iterator[str]:
    """Yield warnings about resources with only a lower bound as rate, so that no phase is planned to wait for them."""
    rates, row = of.context.rates, of.row
    bounded = {
        "local disks": of.context.layouts.uses(LOCAL)[0] and np.isinf(rates.local.read[row]),
        "network": of.nodes > 1 and np.isinf(rates.network.flat[row]),
    }
    for name in (name for name, is_bounded in bounded.items() if is_bounded):
        yield f"{name}: only known to have kept up with something slower; no phase is planned to wait for it"


def _tails(of: Basis) -> Iterator[str]:
    """Yield warnings about tails that slow a phase: one on reads has no effect on a phase that only writes."""
    spreads, phases = of.context.spreads, list(zip(of.phases, of.context.model.phases, strict=True))
    for tail in spreads.tails.get(of.row, ()):
        used = [(name, phase) for planned, phase in phases for name in planned.resources if is_slowed(name, tail)]
        slowed = [of.context.works(phase).get(name) for name, phase in used]
        direction, factor = tail.resource.partition("_")[2], tail.slow_factor
        if any((work.slow_factor(direction, factor=factor, row=0) if work else factor) > 1 for work in slowed):
            share = f"{tail.slow_fraction:.0%} of {tail.per}s were {factor:g} times slower in {tail.zone}"
            hit = f", so {spreads.slow_nodes(tail, of.row):.0%} of nodes are" if tail.per == "volume" else ""
            yield f"{tail.resource.replace('_', ' ')}: {share}{hit}"


def _credit(of: Basis) -> Iterator[str]:
    context, volumes = of.context, of.context.volumes
    if context.layouts.uses(VOLUMES)[0] and volumes.on_credit[of.row]:
        moved, lasts = float(on_volumes_bytes(context)[0]) / of.nodes, float(volumes.credit_bytes[of.row])
        share = f"the run moves {format_bytes(moved)} per node, a full credit is enough for {format_bytes(lasts)}"
        yield f"volumes: fast on burst credit, which outlasts the run: {share}"


def _object_store(of: Basis) -> Iterator[str]:
    context = of.context
    if context.model.storage["intermediate"] == "local" and context.layouts.intermediate_on[0] == VOLUMES:
        yield "intermediate data: on block volumes, for the type has no local disks"
    if "object_store" in of.evidence and context.model.engine.cpu_s_per_byte:
        yield "cpu: measured on files; what a store's requests cost the processors is in the store's rate alone"
    if "object_requests" in of.evidence:
        speed = float(context.layouts.speed("requests")[0])
        reads, writes = (f"{per_s * speed:,.0f}" for per_s in context.requests_per_s.values())
        limits = f"{reads} reads and {writes} writes a second"
        said = "as you say" if context.staging.prefixes else "as its size suggests; --prefixes N says how many"
        yield f"object store: {limits} over {count_text(context.prefixes, 'prefix', 'prefixes')} of the data, {said}"
    if "object_store" in of.evidence:
        yield from _beyond_observed(of, context.catalog.tables["object_store_rates"])


def _beyond_observed(of: Basis, table: Table) -> Iterator[str]:
    """Yield warnings where rates are those of whole jobs, and by how much the plan exceeds all observed ones."""
    jobs = (table["mode"] == "whole_job") & (table["instance_type"] == of.context.catalog.instances.names[of.row])
    if jobs.any() and of.evidence["object_store"] == "derived":
        slowest = format_rate(float(table["bytes_per_s"][jobs].min()))
        yield f"object store, network: as fast as whole jobs on this type show, of {slowest} per node"
    uses = [(phase.resources["object_store"], phase) for phase in of.phases if "object_store" in phase.resources]
    planned = max(use.bytes_per_node * of.nodes / phase.equation_s for use, phase in uses)
    seen = float(np.nanmax(table["nodes"] * table["bytes_per_s"], initial=0.0)) if len(table) else 0.0
    if 0 < seen < planned:
        yield f"object store: planned with {format_rate(planned)} in all; the most observed is {format_rate(seen)}"


DEAR_SPOT: Final = "spot: the price is not below the on-demand price of "
"""Start of the warning that nodes which may be taken back cost no less than those that stay."""


def _spot(of: Basis) -> Iterator[str]:
    catalog, risk, region = of.context.catalog, of.context.risk, of.offer.region
    if of.offer.pricing != "spot":
        return
    if risk is not None and len(risk.alternatives_s) > 1:
        low, middle, high = (f"{rate * 3600:.2g}" for rate in risk.alternatives_s)
        unknown = f"how often {catalog.cloud} takes nodes back is unknown"
        yield f"spot: {unknown}: assumed {middle} for each node and hour, {low} to {high}; --set interruptions=RATE"
    if saving_of := of.offer.day_of(of.row):
        spot_usd, full_usd, day = _spot_and_full_usd(catalog, region)
        if of.evidence["price"] == "derived":
            full = f"the on-demand price of {day}"
            most = format_usd(float(of.offer.dearest.price_usd_per_hour[of.row]))
            stated = f"the price is {full} less a saving stated on {saving_of}, not a price that was paid"
            yield f"spot: {stated}; 95 of 100 pay at most {most} an hour"
        if spot_usd[of.row] >= full_usd[of.row]:
            yield f"{DEAR_SPOT}{format_usd(float(full_usd[of.row]))} an hour; --pricing on-demand costs no more"


@lru_cache(maxsize=16)
def _spot_and_full_usd(catalog: Catalog, region: str) -> tuple[Floats, Floats, date]:
    """Return a region's list prices per hour of spot nodes and on demand, (T,), NaN without a list, and their day."""
    spot, full = (
        catalog.prices(region, way).price_usd_per_hour
        if region in catalog.regions(way)
        else np.full(len(catalog.instances), np.nan)
        for way in ("spot", "on-demand")
    )
    return spot, full, catalog.priced_on(region)


def _prices(of: Basis) -> Iterator[str]:
    context, home = of.context, of.context.catalog.default_region
    yield from unpriced(context)
    is_stored = context.layouts.uses(OBJECTS)[0] or context.staging.source or context.staging.sink
    names = ["volumes"] * ("volume_price" in of.evidence) + ["object store"] * bool(is_stored)
    if of.offer.region != home and names and not context.paper:
        ratios = "{0.low:.1f} to {0.high:.1f} times of it".format(assumed_range("place"))
        yield f"{' and '.join(names)}: the price in {of.offer.region} is unknown: assumed that of {home}, {ratios}"


def _quality(of: Basis) -> Iterator[str]:
    """Yield the reliability of the worst figure that is neither the user's assumption nor measured on this machine."""
    catalog = of.context.catalog
    if not catalog.is_free:
        used = [name for name, word in of.evidence.items() if word not in ("assumed", "unknown")]
        instance_type = str(catalog.instances.instance_type[of.row])
        yield from (score.text for score in scores_behind(catalog, instance_type, used)[:1])


def _simulation(of: Basis) -> Iterator[str]:
    """Yield a warning if `planner simulate` is likely to predict times outside the planned range."""
    model, node_bytes = of.context.model, of.context.job.map_in / of.nodes
    if model.engine.sizes is None or model.engine.shares_processors or of.nodes < 2:
        return  # no tasks, or no cluster like those of the table
    burst = stated_burst_bytes_per_s(of.context, of.nodes)
    links = "steady" if burst is None else "bursting"
    gap = nearest_gap(model=model.name, links=links, nodes=of.nodes, node_bytes=node_bytes)
    if gap is not None and gap.is_beyond_range:
        why = "" if burst is None else f": links carry {burst / 1e9:.3g} GB/s at first, and the plan takes the baseline"
        longer = f"{gap.simulated_over_p50:.2g} times as long{why}"
        yield f"equations: like sorts, simulated, took {longer}; try `planner simulate`"


ASSUMED_POWER: Final = "power: no cloud states it"
"""Start of the warning about power that is assumed."""


def _power(of: Basis) -> Iterator[str]:
    """Yield a warning about power that is assumed, which it is for the objective `energy` alone."""
    catalog, row = of.context.catalog, of.row
    power = processor_power(catalog.cloud, str(catalog.instances.cloud_type[row]))
    if power is not None and of.context.power_w[row] == power.busy_w * catalog.instances.vcpu[row]:
        assumed = f"assumed as {power.busy_w:.3g} W for each vCPU, as a busy {power.processor} takes"
        idle = f"idle ones take {power.idle_w:.2g} W; memory, disks and cooling come on top"
        yield f"{ASSUMED_POWER}; {assumed}; {idle}; --assume power:TYPE=WATTS says yours"


def _times_of_profile(of: Basis) -> Iterator[str]:
    if of.context.known is not None:
        known = JobTimes.planned(of.context, np.array([float(of.nodes)])).known
        ratio = float(known.ratio[0]) if known else 1.0
        changed = f"; the what-if makes it {ratio:.2f} times as long, by the equations"
        words = f"{TIMES_OF_PROFILE}; phases and bottleneck: from the equations"
        yield words + (changed if abs(ratio - 1) > 1e-9 else "")


SENTENCES: Final[tuple[Callable[[Basis], Iterator[str]], ...]] = (
    _too_many_for_one_group,
    _unmeasured,
    _software,
    _computed_disks,
    _weighting,
    _network_band,
    _bucket,
    _burstable,
    _kept_up,
    _tails,
    _credit,
    _object_store,
    _spot,
    _prices,
    _power,
    _quality,
    _simulation,
    _times_of_profile,
)
"""What a plan may say, in its order."""


def stated_burst_bytes_per_s(context: JobContext, nodes: int) -> float | None:
    """Return the initial rate of a link of the only layout of `context`, as stated by the cloud; None where no more
    than the baseline is stated, where the network was measured, and where the user gives its rate.

    Clouds state such a rate without its duration, so the equations use the baseline. On c5 a link's bucket holds 36 to
    59 minutes of its baseline (`catalogs/aws/token_buckets.csv`); EC2's documentation states for all such types that
    they burst for 5 to 60 minutes.
    """
    row, network = int(context.layouts.type_row[0]), context.rates.network
    if not network.stated[row] or not context.catalog.token_buckets or not np.isnan(network.bucket_bytes[row]):
        return None
    rate, _ = context.link_rates(nodes)
    burst = float(network.most[row])
    return burst if burst > rate > 0 else None
