"""Evidence behind a cluster's figures, and warnings about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Final

import numpy as np

from planner.catalog import Straggler
from planner.catalog.instances import is_bare_metal, split_weighting
from planner.catalog.measurement_quality import scores_behind
from planner.catalog.shipped_tables import nearest_gap
from planner.cost_model.bill import unpriced
from planner.cost_model.disk_layout import LOCAL, OBJECTS, VOLUMES
from planner.cost_model.prices import Offer
from planner.cost_model.rate_spreads import slowed_by
from planner.cost_model.rates import evidence_name, weakest
from planner.cost_model.staging import on_volumes_bytes
from planner.cost_model.unknowns import price_elsewhere
from planner.cost_model.workload import UNDIVIDED, JobContext
from planner.schemas.plan import PhaseEstimate
from planner.units import count_text, format_bytes, format_duration, format_rate, format_usd

Phases = tuple[PhaseEstimate, ...]

STATED: Final = ("price", "shape", "volume_price", "object_store_price")
"""Facts for which the cloud's own figure is the best evidence; the rest are rates."""


def evidence_of(context: JobContext, phases: Phases, *, nodes: int, price: str) -> dict[str, str]:
    """Return the evidence for each rate in use and each price: a word of the catalogs' `evidence`, or `unknown`."""
    type_row = int(context.layouts.type_row[0])
    used = {name for phase in phases for name in phase.resources}
    words = {
        "network": context.rates.network.evidence_at(type_row, nodes),
        "volumes": evidence_name(int(context.rates.volumes.evidence[type_row])),
        "object_store": evidence_name(int(context.rates.objects.evidence[type_row])),
        **dict.fromkeys(("cpu", *UNDIVIDED), context.rates.cpu_evidence),
        "object_requests": context.objects.request_evidence or "unknown",
    }
    disks = evidence_name(int(context.rates.local.evidence[type_row]))
    shape = str(context.catalog.instances.evidence[type_row])
    rates = {name: words.get(name, disks) for name in sorted(used)}
    return rates | {"price": price, "shape": shape} | _storage_prices(context, type_row)


def _storage_prices(context: JobContext, type_row: int) -> dict[str, str]:
    """Return the evidence for the prices of volumes and object store, where they are paid."""
    evidence = {}
    if context.layouts.uses(VOLUMES)[0] and context.volumes.usd_per_byte_hour[type_row] > 0:
        evidence["volume_price"] = (
            context.catalog.volume_types[str(context.volumes.volume_type[type_row])].price_evidence or "unknown"
        )
    if context.layouts.uses(OBJECTS)[0]:
        evidence["object_store_price"] = context.objects.evidence
    return evidence


def deciding(evidence: Mapping[str, str], phases: Phases) -> str:
    """Return the weakest evidence among the rates and prices that decide time and cost."""
    stated = [evidence[name] for name in STATED if name in evidence]
    good = ["measured" if word in ("spec", "derived") else word for word in stated]
    return weakest(*good, *(evidence[phase.bottleneck] for phase in phases if phase.resources))


def caveats(
    context: JobContext, phases: Phases, evidence: Mapping[str, str], *, nodes: int, spares: int, offer: Offer
) -> Iterator[str]:
    """Yield warnings about a cluster's times and costs."""
    yield from too_many_for_one_group(context, machines=nodes + spares)
    yield from _warnings(evidence, waited_for={phase.bottleneck for phase in phases})
    yield from _engine(context, nodes=nodes)
    yield from _bare_metal(context)
    yield from _computed_disks(context, waited_for={phase.bottleneck for phase in phases})
    yield from _weighting(context)
    yield from _network_band(context, evidence, nodes)
    yield from _bucket(context, phases, nodes=nodes)
    yield from _burstable(context)
    yield from _kept_up(context, nodes=nodes)
    yield from _tails(context, phases)
    yield from _credit(context, nodes=nodes)
    yield from _object_store(context, phases, nodes=nodes)
    yield from _evictions(context, pricing=offer.pricing)
    yield from _spot_price(context, evidence, offer)
    yield from unpriced(context)
    yield from _prices_of_another_region(context, offer.region)
    yield from _quality(context, evidence)


def _warnings(evidence: Mapping[str, str], *, waited_for: Set[str]) -> Iterator[str]:
    """Yield warnings about unmeasured figures; the verdict on the cluster covers only rates its phases wait for."""
    meaning = {
        "spec": "stated by the cloud, not measured",
        "extrapolated": "extrapolated beyond what was measured",
        "recalled": "recalled, not verified against a source",
        "assumed": "assumed, not measured",
    }
    for name, word in evidence.items():
        if word in meaning and not (name in STATED and word == "spec"):
            spared = "" if name in STATED or name in waited_for else SPARED
            yield f"{name.replace('_', ' ')}: {meaning[word]}{spared}"


def _engine(context: JobContext, *, nodes: int) -> Iterator[str]:
    """Yield warnings with the engine's assumption about processors, and the number of nodes in its measurements."""
    engine = context.model.engine
    if engine.cpu_s_per_byte and engine.evidence != "measured":
        alike = np.isnan(context.catalog.sort_bytes_per_s_per_vcpu[context.layouts.type_row[0]])
        speed = "taken to be as fast as the one" if alike else "as fast as was measured, beside the one"
        yield f"engine {engine.name}: a vCPU is {speed} that the engine was measured on"
    if 0 < engine.measured_nodes < nodes:
        most = f"whole sorts were measured on at most {count_text(engine.measured_nodes, 'node')}"
        yield f"engine {engine.name}: {most}; its error on {nodes} is unknown"


_LOCAL_DISKS: Final = frozenset(("local_disks", "data_disks", "intermediate_disks"))
SPARED: Final = "; no phase waits for it as planned"
"""End of the warning about a rate that decides nothing."""

COMPUTED_DISKS: Final = "local disks: nobody measured them"
"""Start of the warning that a cluster waits for disks whose rates are computed from others'."""


def _computed_disks(context: JobContext, *, waited_for: Set[str]) -> Iterator[str]:
    """Yield a warning with the basis of computed local disk rates that a phase waits for, and their possible error."""
    edges, type_row = context.rates.local.edges, int(context.layouts.type_row[0])
    if edges is None or np.isnan(edges[0][type_row]) or not waited_for & _LOCAL_DISKS:
        return
    table = context.catalog.tables["disks"]
    of_type = table["instance_type"] == context.catalog.instances.instance_type[type_row]
    alike = sorted(set(table["note"][of_type & np.isfinite(table["low_bytes_per_s"])].tolist()))
    low, high = (f"{float(edge[type_row]):.0%}" for edge in edges)
    yield f"{COMPUTED_DISKS}; their rates are computed ({', '.join(alike)}), nine in ten lie at {low} to {high} of them"


def _bare_metal(context: JobContext) -> Iterator[str]:
    name = str(context.catalog.instances.instance_type[context.layouts.type_row[0]])
    if is_bare_metal(name) and context.overheads.boot is not None:
        yield "boot: hardly any launch of bare metal was measured; it may take longer than that of a virtual machine"


def _weighting(context: JobContext) -> Iterator[str]:
    weighting = split_weighting(context.catalog.instances.names[int(context.layouts.type_row[0])])[1]
    if weighting:
        gains, loses = ("network", "volumes") if weighting == "vpc-1" else ("volumes", "network")
        share = f"part of the bandwidth of its {loses} goes to its {gains}; what either bursts to is unknown"
        yield f"{gains}: the machines must be launched with bandwidth weighting {weighting}: {share}"


def _bucket(context: JobContext, phases: Phases, *, nodes: int) -> Iterator[str]:
    type_row, network = int(context.layouts.type_row[0]), context.rates.network
    tokens = float(network.bucket_bytes[type_row])
    if not np.isnan(tokens):
        rate, burst = context.link_rates(nodes)
        sent = sum(phase.resources["network"].bytes_per_node for phase in phases if "network" in phase.resources)
        spent = sent * (1 - rate / burst) > tokens
        end = "is spent before the job ends" if spent else "outlasts the job"
        yield f"network: bursts at {burst / 1e9:.3g} GB/s, then {rate / 1e9:.3g} GB/s; a full token bucket {end}"


def _burstable(context: JobContext) -> Iterator[str]:
    """Yield a warning with the sustained share of a burstable type's processors, and how long its credit lasts."""
    type_row, credits = int(context.layouts.type_row[0]), context.rates.credits
    share = float(credits.baseline_share[type_row])
    if context.paper or share == 1:
        return
    credit_s = float(credits.launch_credit_vcpu_s[type_row] / context.catalog.instances.vcpu[type_row]) / (1 - share)
    first = f"at full speed for {format_duration(credit_s)} on the credit of a new node, then" if credit_s else "with"
    yield f"cpu: a burstable type, planned {first} {share:.3g} of each vCPU; boot and staging may spend credit, too"


def _kept_up(context: JobContext, *, nodes: int) -> Iterator[str]:
    """Yield warnings about resources with only a lower bound as rate, so that no phase is planned to wait for them."""
    type_row, rates = int(context.layouts.type_row[0]), context.rates
    bounded = {"local disks": context.layouts.uses(LOCAL)[0] and np.isinf(rates.local.read[type_row])}
    bounded["network"] = nodes > 1 and np.isinf(rates.network.flat[type_row])
    for name in (name for name, is_bounded in bounded.items() if is_bounded):
        yield f"{name}: only known to have kept up with something slower; no phase is planned to wait for it"


def _tails(context: JobContext, phases: Phases) -> Iterator[str]:
    type_row = int(context.layouts.type_row[0])
    for tail in context.spreads.tails.get(type_row, ()):
        if _slows(context, phases, tail):
            share = f"{tail.slow_fraction:.0%} of {tail.per}s were {tail.slow_factor:g} times slower in {tail.zone}"
            hit = f", so {context.spreads.slow_nodes(tail, type_row):.0%} of nodes are" if tail.per == "volume" else ""
            yield f"{tail.resource.replace('_', ' ')}: {share}{hit}"


def _slows(context: JobContext, phases: Phases, tail: Straggler) -> bool:
    """Return whether a tail slows any resource of any phase: one on reads has no effect on a phase that only writes."""
    direction = tail.resource.partition("_")[2]
    works = [context.works(phase) for phase in context.model.phases]
    factors = (
        works_of_phase[name].slow_factor(direction, factor=tail.slow_factor, row=0)
        if name in works_of_phase
        else tail.slow_factor
        for works_of_phase, phase in zip(works, phases, strict=True)
        for name in phase.resources.keys() & slowed_by(tail)
    )
    return any(factor > 1 for factor in factors)


def _credit(context: JobContext, *, nodes: int) -> Iterator[str]:
    type_row = int(context.layouts.type_row[0])
    if context.layouts.uses(VOLUMES)[0] and context.volumes.on_credit[type_row]:
        moved, lasts = float(on_volumes_bytes(context)[0]) / nodes, float(context.volumes.credit_bytes[type_row])
        share = f"the run moves {format_bytes(moved)} per node, a full credit is enough for {format_bytes(lasts)}"
        yield f"volumes: fast on burst credit, which outlasts the run: {share}"


def _object_store(context: JobContext, phases: Phases, *, nodes: int) -> Iterator[str]:
    """Yield warnings with the limit on requests to the object store, and how far the plan exceeds observed rates."""
    if context.model.storage["intermediate"] == "local" and context.layouts.intermediate_on[0] == VOLUMES:
        yield "intermediate data: on block volumes, for the type has no local disks"
    used = {name for phase in phases for name in phase.resources}
    if "object_store" in used and context.model.engine.cpu_s_per_byte:
        yield "cpu: measured on files; what a store's requests cost the processors is in the store's rate alone"
    if "object_requests" in used:
        store, speed = context.objects, float(context.layouts.speed("requests")[0])
        limits = f"{store.reads_per_s * speed:,.0f} reads and {store.writes_per_s * speed:,.0f} writes a second"
        yield f"object store: one place takes {limits}; data over several prefixes or buckets lifts that"
    rates = (
        use.bytes_per_node * nodes / phase.equation_s
        for phase in phases
        for name, use in phase.resources.items()
        if name == "object_store"
    )
    planned, table = max(rates, default=0.0), context.catalog.tables["object_store_rates"]
    type_row = int(context.layouts.type_row[0])
    jobs = (table["mode"] == "whole_job") & (table["instance_type"] == context.catalog.instances.names[type_row])
    if (
        "object_store" in used
        and jobs.any()
        and evidence_name(int(context.rates.objects.evidence[type_row])) == "derived"
    ):
        slowest = format_rate(float(table["bytes_per_s"][jobs].min()))
        yield f"object store, network: as fast as whole jobs on this type show, of {slowest} per node"
    seen = float(np.nanmax(table["nodes"] * table["bytes_per_s"], initial=0.0)) if len(table) else 0.0
    if 0 < seen < planned:
        yield f"object store: planned with {format_rate(planned)} in all; the most observed is {format_rate(seen)}"


def _evictions(context: JobContext, *, pricing: str) -> Iterator[str]:
    risk = context.risk
    if pricing == "spot" and risk is not None and len(risk.alternatives_s) > 1:
        low, middle, high = (f"{rate * 3600:.2g}" for rate in risk.alternatives_s)
        unknown = f"how often {context.catalog.cloud} takes nodes back is unknown"
        yield f"spot: {unknown}: assumed {middle} for each node and hour, {low} to {high}; --set interruptions=RATE"


DEAR_SPOT: Final = "spot: the price is not below the on-demand price of "
"""Start of the warning that nodes which may be taken back cost no less than those that stay."""


def _spot_price(context: JobContext, evidence: Mapping[str, str], offer: Offer) -> Iterator[str]:
    """Yield warnings with the date of a spot price computed from a saving, and if it is not below on demand."""
    type_row, catalog = int(context.layouts.type_row[0]), context.catalog
    saving_of = offer.day_of(type_row)
    if offer.pricing != "spot" or not saving_of:
        return
    if evidence["price"] == "derived":
        full = f"the on-demand price of {catalog.priced_on(offer.region)}"
        yield f"spot: the price is {full} less a saving stated on {saving_of}, not a price that was paid"
    ways = ("spot", "on-demand")
    if all(offer.region in catalog.regions(way) for way in ways):
        listed, full_usd = (catalog.prices(offer.region, way).price_usd_per_hour[type_row] for way in ways)
        if listed >= full_usd:
            yield f"{DEAR_SPOT}{format_usd(float(full_usd))} an hour; --pricing on-demand costs no more"


def _prices_of_another_region(context: JobContext, region: str) -> Iterator[str]:
    """Yield a warning with the prices taken from the catalog's own region, since it has no others."""
    home = context.catalog.default_region
    used = {"volumes": "volume_price" in _storage_prices(context, int(context.layouts.type_row[0]))}
    used["object store"] = context.layouts.uses(OBJECTS)[0] or bool(context.staging.source or context.staging.sink)
    names = [name for name, is_used in used.items() if is_used]
    if region != home and names and not context.paper:
        assumed = price_elsewhere()
        ratios = f"{assumed.low:.1f} to {assumed.high:.1f} times of it"
        yield f"{' and '.join(names)}: the price in {region} is unknown: assumed that of {home}, {ratios}"


def _network_band(context: JobContext, evidence: Mapping[str, str], nodes: int) -> Iterator[str]:
    """Yield a warning with the basis of an extrapolated or stated network rate, and its possible error."""
    network, type_row = context.rates.network, int(context.layouts.type_row[0])
    curve, stated = network.curve_of(type_row), bool(network.stated[type_row])
    asked = evidence.get("network") == "extrapolated" or (stated and "network" in evidence)
    if curve is not None and nodes > 1 and asked:
        band, unit = curve.band(nodes), float(network.flat[type_row]) if stated else 1.0
        most, edges = float(network.most[type_row]), (band.low_bytes_per_s, band.high_bytes_per_s)
        low, high = (format_rate(float(np.fmin(edge[0] * unit, most))) for edge in edges)
        basis = "nobody measured how it scales" if stated else curve.basis
        yield f"network: {basis}; at {count_text(nodes, 'node')} it lies between {low} and {high} nine times in ten"


def _quality(context: JobContext, evidence: Mapping[str, str]) -> Iterator[str]:
    """Yield the reliability of the worst figure behind the candidate, except for the user's assumptions and the
    measurements of this machine.
    """
    if context.catalog.is_free:
        return
    used = [name for name, word in evidence.items() if word not in ("assumed", "unknown")]
    instance_type = str(context.catalog.instances.instance_type[context.layouts.type_row[0]])
    yield from (score.text for score in scores_behind(context.catalog, instance_type, used)[:1])


def fits_placement_group(context: JobContext, *, machines: int) -> bool:
    """Return whether `machines` of the one layout, spares included, are launched in one placement group."""
    return _is_grouped(context) and machines <= _most_machines(context)


def too_many_for_one_group(context: JobContext, *, machines: int) -> Iterator[str]:
    """Yield a warning if only their number keeps the machines out of one placement group."""
    if _is_grouped(context) and machines > (most := _most_machines(context)):
        text = f"a placement group of this cloud takes {most:,.0f} machines, so these {machines:,} stand anywhere"
        yield f"network: {text} in the zone; rates between machines that are not placed together were seen to fall more"


def _is_grouped(context: JobContext) -> bool:
    type_row = int(context.layouts.type_row[0])
    return bool(context.catalog.instances.placement_group[type_row]) and context.staging.zones == 1


def _most_machines(context: JobContext) -> float:
    stated = context.catalog.manifest.placement
    return float("inf") if stated is None else float(stated.machines_most)


def simulation_advice(context: JobContext, *, nodes: int) -> Iterator[str]:
    """Yield a warning if `planner simulate` is likely to predict times outside the planned range."""
    engine = context.model.engine
    if engine.sizes is None or engine.shares_processors or nodes < 2:  # no tasks, or no cluster like those of the table
        return
    burst = stated_burst_bytes_per_s(context, nodes)
    gap = nearest_gap(
        model=context.model.name,
        links="steady" if burst is None else "bursting",
        nodes=nodes,
        node_bytes=context.job.map_in / nodes,
    )
    if gap is not None and gap.is_beyond_range:
        why = "" if burst is None else f": links carry {burst / 1e9:.3g} GB/s at first, and the plan takes the baseline"
        longer = f"{gap.simulated_over_p50:.2g} times as long{why}"
        yield f"equations: like sorts, simulated, took {longer}; try `planner simulate`"


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
