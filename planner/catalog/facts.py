"""Values of a catalog: prices and rates aligned to its instances, measured points, single facts for display."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as with_default
from datetime import date
from typing import Any

from planner.arrays import Days, Floats, Texts


@dataclass(frozen=True, kw_only=True)
class Source:
    """The source of facts: an entry of `[sources]` in catalog.toml."""

    title: str
    url: str = ""
    licence: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Prices:
    """Hourly prices of one region and pricing, row i being type i: NaN and '' and NaT where unpriced."""

    region: str
    pricing: str
    price_usd_per_hour: Floats
    evidence: Texts
    as_of: Days


@dataclass(frozen=True, kw_only=True, eq=False)
class Rates:
    """A rate for each type, row i being type i: bytes/s per instance; NaN, and '' in the texts, where unknown."""

    bytes_per_s: Floats
    operations_per_s: Floats
    """Random 4 KiB operations."""
    operations_evidence: Texts
    evidence: Texts
    aggregate: Texts
    source: Texts
    low_bytes_per_s: Floats
    """For a computed rate: 95% of rates are above this."""
    high_bytes_per_s: Floats


@dataclass(frozen=True, kw_only=True)
class NetworkPoint:
    """A network rate per node measured on a cluster of `nodes` (None: not in the source)."""

    nodes: int | None
    placement_group: bool
    bytes_per_s: float
    aggregate: str
    evidence: str
    source: str
    method: str


@dataclass(frozen=True, kw_only=True)
class TokenBucket:
    """A network link that sends at burst until it has sent `bucket_bytes` more than baseline, then at baseline."""

    variant: str
    burst_bytes_per_s: float
    baseline_bytes_per_s: float
    bucket_bytes: float
    evidence: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Straggler:
    """A tail: `slow_fraction` of the nodes (or volumes, see `per`) take `slow_factor` times as long."""

    zone: str
    resource: str
    slow_fraction: float
    slow_factor: float
    per: str
    evidence: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One value of a type in a catalog, with its provenance; `kind` is its file, `row` the whole row in that file."""

    kind: str
    field: str
    value: object
    unit: str
    evidence: str
    source: str
    as_of: date
    note: str = ""
    row: Mapping[str, Any] = with_default(default_factory=dict, repr=False)


@dataclass(frozen=True, kw_only=True)
class VolumeType:
    """A block volume type; unknown prices and limits are NaN, unknown texts ''. Fields as in volumes.csv."""

    volume_type: str
    price_usd_per_gib_month: float
    price_usd_per_iops_month: float
    price_usd_per_mibps_month: float
    free_iops: float
    free_bytes_per_s: float
    read_bytes_per_s_max: float
    write_bytes_per_s_max: float
    iops_max: float
    iops_per_gib: float
    bytes_per_s_per_gib: float
    bytes_per_s_per_iops: float
    burst_bytes_per_s: float
    burst_bytes_per_s_per_gib: float
    credit_bytes: float
    credit_bytes_per_gib: float
    size_bytes_min: float
    size_bytes_max: float
    families_without: str
    price_evidence: str
    limit_evidence: str
    burst_evidence: str
    evidence: str
    source: str
    note: str


@dataclass(frozen=True, kw_only=True)
class ObjectStore:
    """An object store's prices; unknown ones are NaN. Fields as in object_stores.csv."""

    object_store: str
    price_usd_per_gib_month: float
    write_usd_per_request: float
    read_usd_per_request: float
    egress_usd_per_gib: float
    bytes_per_s_per_vcpu: float
    rate_evidence: str
    reads_per_s: float
    writes_per_s: float
    request_evidence: str
    evidence: str
    source: str
    note: str
