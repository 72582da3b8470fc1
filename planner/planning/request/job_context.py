"""From a request to the job in context: rates, layouts and spreads of every type of a catalog under one model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np

from planner.arrays import Floats
from planner.catalog import Catalog
from planner.catalog.bandwidth_distributions import distribution
from planner.cost_model.disk_layout import layouts
from planner.cost_model.engine import Engine
from planner.cost_model.evidence import (
    CERTAIN,
    Assumed,
    assumed_range,
    is_assumed,
    rate_doubts,
    spreads_of,
    with_assumed_rates,
)
from planner.cost_model.model import CostModel, JobVolumes, Software
from planner.cost_model.object_store import HERE, Staging, choose_object_store
from planner.cost_model.rates import (
    MACHINES,
    UNLIMITED_BYTES_PER_S,
    Rates,
    assumed_of,
    catalog_rates,
    evidence_codes,
    evidence_name,
)
from planner.cost_model.run_overheads import RunOverheads
from planner.cost_model.volumes.block_volumes import VolumeChoice
from planner.cost_model.whole_jobs import at_least_observed_rates
from planner.cost_model.workload import JobContext
from planner.errors import BadInputError
from planner.planning.request.stored_data import coding_s_per_byte, format_range, format_s_per_byte, stored_data
from planner.schemas.plan import Request
from planner.statistics.interruptions import Risk
from planner.statistics.order_statistics import Spread, from_bandwidths


def job_context(
    request: Request,
    *,
    model: CostModel,
    catalog: Catalog,
    overheads: RunOverheads,
    volumes: VolumeChoice,
    region: str = "",
) -> JobContext:
    """Return the job that `request` describes, on every type of `catalog` with `volumes` attached, in a region."""
    stored = stored_data(request)
    software = None if request.paper else model.software
    overheads = overheads.in_cloud(catalog.manifest.boot).with_head_room(None if request.paper else request.head_room)
    overheads = replace(overheads, spare_fraction=0.0) if catalog.is_own else overheads  # nobody launches more
    if software is not None:
        overheads = replace(overheads, shared_sigma=software.shared_sigma)
    elif model.engine.shared_sigma is not None:
        overheads = replace(overheads, shared_sigma=model.engine.shared_sigma)
    if overheads.boot_s:
        engine = model.engine
        overheads = replace(overheads, start_s=engine.start_s, start_per_node_s=engine.start_per_node_s)
    if software is not None or model.engine.name != "ray" or catalog.is_own:
        overheads = replace(overheads, compiled_for=frozenset())  # nothing is sent to such machines
    overheads = replace(overheads, shared_sigma=math.hypot(overheads.shared_sigma, stored.sigma))
    by = software or _software_of(model.engine)
    rates = _rates(
        request, catalog, overheads, volumes=volumes, software=by, coding_s=coding_s_per_byte(request, model.engine)
    )
    if is_assumed("rate", request.unknown) and not request.paper:
        rates = with_assumed_rates(rates, catalog)
    if by is not None and not (_OF_PROCESSORS & request.assume.keys() or request.compute_bytes_per_s_per_vcpu):
        own = np.nan if software else overheads.cpu_bytes_per_s_per_vcpu["sort"]
        rates = _at_measured_speed(rates, catalog, by, own)
    larger, more_disks = with_more(catalog, request.scale)
    laid_out = layouts(larger, model=model, rates=rates, paper=request.paper)
    risk = _risk(request, catalog, model, overheads, region=region)
    context = JobContext(
        catalog=catalog,
        model=model,
        job=job_volumes(request),
        rates=rates,
        volumes=_all_in(volumes) if "price" in request.assume else volumes,
        objects=choose_object_store(catalog, is_assumed=not request.paper and is_assumed("requests", request.unknown)),
        layouts=laid_out,
        spreads=spreads_of(
            catalog,
            node_sigma=overheads.node_sigma,
            network=None if request.network_distribution is None else _drawn_network(request.network_distribution)[1],
            volumes_each=volumes.count,
        ),
        overheads=overheads,
        paper=request.paper,
        staging=Staging() if request.paper else staging_of(request),
        power_w=_power(request, catalog),
        region=region,
        unknown=request.unknown,
        risk=risk and risk.of(laid_out.type_row),
        most_machines=request.most_machines,
    )
    if request.network == "expected" and not {name.partition(":")[0] for name in _assumed(request)} & _SEEN_TOGETHER:
        context = replace(context, rates=at_least_observed_rates(context))
    decoding = _decoding(context.rates, request, model.engine)
    doubts = CERTAIN
    if overheads.node_sigma:
        doubts = rate_doubts(context.rates, _assumed(request), decoding=decoding, catalog=catalog)
    scale: dict[str, float | Floats] = {name: by for name, by in request.scale.items() if name not in MACHINES}
    if "disks" in request.scale:
        scale["local"] = request.scale.get("local", 1.0) * more_disks[laid_out.type_row]
    return replace(context, catalog=larger, doubts=doubts).times(scale)


def with_more(catalog: Catalog, scale: Mapping[str, float]) -> tuple[Catalog, Floats]:
    """Return a catalog whose machines have more or less of `MACHINES`, as `scale` says, and by how many times each type
    has more disks: whole ones, so that a type with one has no fewer.
    """
    instances = catalog.instances
    if not MACHINES & scale.keys():
        return catalog, np.ones(len(instances))
    disks = instances.local_disks
    with np.errstate(invalid="ignore"):
        more = np.where(disks > 0, np.maximum(np.round(disks * scale.get("disks", 1.0)), 1.0), disks)
        ratio = np.where(disks > 0, more / disks, 1.0)
    memory_bytes = instances.memory_bytes * scale.get("memory", 1.0)
    larger = replace(catalog)
    vars(larger)["instances"] = replace(instances, memory_bytes=memory_bytes, local_disks=more)  # as if cached
    return larger, ratio


def job_volumes(request: Request) -> JobVolumes:
    """Return the bytes that the job of a request moves."""
    sorted_bytes = stored_data(request).sorted_bytes
    return JobVolumes.of(sorted_bytes, map_ratio=request.map_ratio, reduce_ratio=request.reduce_ratio)


_SEEN_TOGETHER: Final = {"network", "local_read", "local_write", "object_read", "object_write"}
"""Rates that whole jobs show together; one that the user assumes counts as it is."""


_OF_PROCESSORS: Final = {"partition", "sort"}
"""Rates of a vCPU; where the user assumes one, all vCPUs count alike."""


def _decoding(rates: Rates, request: Request, engine: Engine) -> Assumed | None:
    """Return the range of processor time per byte, relative to the planned one. Only decoding and encoding are
    uncertain: they take longer or shorter on other data of a format.
    """
    if (span := format_range(request)) is None:
        return None
    share = sum(format_s_per_byte(request, engine)) / sum(
        1 / rates.cpu_bytes_per_s_per_vcpu[work] for work in ("partition", "sort")
    )
    return Assumed(low=1 + share * (1 / span.high - 1), middle=1.0, high=1 + share * (1 / span.low - 1))


def _assumed(request: Request) -> Mapping[str, float]:
    """Return the user's assumptions, including the network implied by other options."""
    if request.network == "unlimited":
        return request.assume | {"network": UNLIMITED_BYTES_PER_S}
    if request.network_distribution is not None:
        return request.assume | {"network": _drawn_network(request.network_distribution)[0]}
    return request.assume


def _power(request: Request, catalog: Catalog) -> Floats:
    given, stated = assumed_of(request.assume, "power", catalog), catalog.instances.power_w
    known = np.where(np.isnan(given), stated, given)
    if request.objective != "energy" or request.paper or not is_assumed("power", request.unknown):
        return known
    return np.where(np.isnan(known), catalog.assumed_power_w, known)


def _risk(request: Request, catalog: Catalog, model: CostModel, overheads: RunOverheads, *, region: str) -> Risk | None:
    """Return the risk to spot nodes of each type; None if there is none, or its frequency is unknown."""
    stated, asked = catalog.manifest.spot, request.interruptions_per_node_hour
    if request.pricing != "spot" or request.paper:
        return None
    hourly: Floats | float
    alternatives: tuple[float, ...] = ()
    if asked is not None:
        hourly = asked
    elif stated is not None:
        hourly = catalog.interruptions_per_node_hour(region)
    elif is_assumed("evictions", request.unknown) and not catalog.is_free:
        assumed = assumed_range("interruptions_per_node_hour")
        hourly, alternatives = assumed.middle, (assumed.low, assumed.middle, assumed.high)
    else:
        return None
    return Risk(
        per_node_s=hourly / 3600,
        alternatives_s=tuple(rate / 3600 for rate in alternatives),
        replacement_s=float(overheads.ready_s(np.full(1, 2.0))[0]),
        recovery=model.recovery,
        evidence="assumed"
        if asked or stated is None
        else evidence_name(int(evidence_codes(np.array([stated.evidence]))[0])),
    )


def _software_of(engine: Engine) -> Software | None:
    """Return a measured engine's rate for each CPU work, in the models' terms; None for the papers' engine.

    The scatter of its whole runs is not included: only for some engines was it measured.
    """
    if not engine.cpu_s_per_byte:
        return None
    return Software(
        bytes_per_s={work: 1 / seconds for work, seconds in engine.cpu_s_per_byte.items()},
        shared_sigma=0.0,
        evidence=engine.evidence,
        source=engine.source,
        vcpu_bytes_per_s=engine.vcpu_bytes_per_s,
    )


def _rates(
    request: Request,
    catalog: Catalog,
    overheads: RunOverheads,
    *,
    volumes: VolumeChoice,
    software: Software | None,
    coding_s: tuple[float, float],
) -> Rates:
    assume = dict(_assumed(request))
    own = {} if software is None else dict(software.bytes_per_s)
    one_stream = own.pop("one_stream", float("inf"))
    cpu = overheads.cpu_bytes_per_s_per_vcpu | own | {w: assume[w] for w in ("partition", "sort") if w in assume}
    decode_s, encode_s = coding_s
    if decode_s:
        cpu["partition"] = 1 / (1 / cpu["partition"] + decode_s)
    if encode_s:
        cpu["sort"] = 1 / (1 / cpu["sort"] + encode_s)
    rest = {name: rate for name, rate in assume.items() if name not in ("partition", "sort")}
    objects = choose_object_store(catalog).device
    rates = catalog_rates(catalog, volumes=volumes.device, objects=objects, cpu=cpu, assume=rest, literal=request.paper)
    if request.network == "ideal":
        rates = replace(rates, network=rates.network.ideal())
    if software is not None or "sort" in assume:  # the measurement is of this sort's rate
        rates = replace(rates, measured_sort_per_vcpu=np.full(len(catalog.instances), np.nan))
    rates = replace(
        rates, one_stream_bytes_per_s=one_stream, cpu_evidence=software.evidence if software else "measured"
    )
    if request.network_distribution is not None:
        per_node = np.zeros(len(catalog.instances), bool)
        rates = replace(rates, network=replace(rates.network, slowest_of_n=per_node))
    return rates


def _at_measured_speed(rates: Rates, catalog: Catalog, by: Software, sort_bytes_per_s: float) -> Rates:
    """Return the rates with each type's vCPUs counted in those that the software was measured on, by the speed of the
    type or its generation, unknown ones as they are; at `sort_bytes_per_s`, by sorting where that was measured.
    """
    speeds, sorts = catalog.processor_speeds, catalog.sort_bytes_per_s_per_vcpu / sort_bytes_per_s
    worth = np.nan_to_num(speeds.bytes_per_s / by.vcpu_bytes_per_s, nan=1.0) if by.vcpu_bytes_per_s else 1.0
    sigma = speeds.sigma if by.vcpu_bytes_per_s else 0.0
    sorted_here = sorts > 0
    vcpu = rates.vcpu * np.where(sorted_here, sorts, worth)
    return replace(rates, vcpu=vcpu, vcpu_sigma=np.where(sorted_here, 0.0, sigma))


def _all_in(volumes: VolumeChoice) -> VolumeChoice:
    """Return the volumes at no cost: an assumed price includes them."""
    nothing = np.zeros(len(volumes.count))
    return replace(volumes, fixed_usd_per_hour=nothing, usd_per_byte_hour=nothing)


@lru_cache
def _drawn_network(name: str) -> tuple[float, Spread]:
    """Return the median bytes/s and the spread that replace the catalogs' figures of the network."""
    drawn = distribution(name)
    spread = from_bandwidths(
        probabilities=drawn.probabilities, bytes_per_s=drawn.bytes_per_s, median_bytes_per_s=drawn.median_bytes_per_s
    )
    return drawn.median_bytes_per_s, spread


_CLOUD_OF_SCHEME: Final = {
    "s3": "aws", "s3a": "aws", "gs": "gcp", "az": "azure", "abfs": "azure", "abfss": "azure", "wasbs": "azure",
    "oci": "oci", "file": HERE,
}  # fmt: skip
_MOST_ZONES: Final = 16


def staging_of(request: Request) -> Staging:
    """Return where a request's data is. Raises BadInputError for text that is not an address of an object store, and
    for a number of zones that no region has.
    """
    if not 1 <= request.zones <= _MOST_ZONES:
        raise BadInputError(f"--zones {request.zones}: a region has 1 to {_MOST_ZONES} zones", code="out-of-range")
    stored = stored_data(request)
    return Staging(
        source=_cloud(request.input, option="--input"),
        sink=_cloud(request.output, option="--output"),
        zones=request.zones,
        source_region=request.input_region or "",
        sink_region=request.output_region or "",
        stored_share=1 / stored.ratio,
        files=request.files,
        is_divided=stored.is_divided,
        prefixes=request.prefixes,
    )


def cloud_of(address: str | None) -> str:
    """Return the cloud of an object store's address; '' for None or ''."""
    cloud = _CLOUD_OF_SCHEME.get((address or "").partition("://")[0].lower(), "")
    return "" if cloud == HERE else cloud


def is_in_store(address: str | None) -> bool:
    """Return whether an address is that of an object store."""
    return bool(cloud_of(address))


def region_notes(request: Request) -> Iterator[str]:
    """Yield notes on buckets whose region is not given."""
    for name in ("input", "output"):
        if is_in_store(getattr(request, name)) and not getattr(request, f"{name}_region"):
            yield f"region: the {name}'s is assumed to be that of the machines; --{name}-region says where it is"


def _cloud(address: str | None, *, option: str) -> str:
    if address is None:
        return ""
    scheme, separator, rest = address.partition("://")
    if not separator or not rest.strip("/") or scheme.lower() not in _CLOUD_OF_SCHEME:
        schemes = ", ".join(f"{name}://" for name, cloud in _CLOUD_OF_SCHEME.items() if cloud != HERE)
        raise BadInputError(
            f"{option} {address}: not the address of an object store, such as s3://bucket/path ({schemes})",
            code="not-an-address",
        )
    return _CLOUD_OF_SCHEME[scheme.lower()]
