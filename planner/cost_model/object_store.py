"""Which stores hold the data, and the object store of a catalog as a device: rates per node, prices of capacity and
requests.

All of its traffic crosses the node's NIC, which planner.cost_model.workload adds up; the rates here are the other
limits, of the store and of a node's processors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import numpy as np

from planner.catalog import Catalog, ObjectStore
from planner.cost_model.evidence import stated_of_stores
from planner.cost_model.rates import Device, evidence_codes

_GIB: Final = 2**30

PREFIX_BYTES: Final = 2.5e12
"""Data of one place of a store if nothing is said: Exoshuffle-CloudSort had 100 TB in 40 buckets (arXiv 2301.03734)."""

HERE: Final = "here"
"""Stands for a cloud where data is on the machine that plans: nothing is charged there."""


@dataclass(frozen=True, kw_only=True)
class Staging:
    """`source` and `sink` are the clouds whose object store holds the input and takes the output: '' for data that is
    generated on the nodes' disks, or stays on them.
    """

    source: str = ""
    sink: str = ""
    zones: int = 1
    source_region: str = ""
    sink_region: str = ""
    stored_share: float = 1.0
    """Bytes in the store for each byte that is sorted: less than 1 where files are compressed."""
    files: int | None = None
    is_divided: bool = True
    """True if several nodes may load parts of one file."""
    prefixes: int | None = None
    """Places of the store that the input, and the output, are spread over; None for as many as the size suggests."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ObjectStoreChoice:
    """The object store to use: `device` over all types, prices NaN where unknown, name '' without one."""

    name: str
    device: Device
    usd_per_byte_hour: float
    read_usd_per_request: float
    write_usd_per_request: float
    egress_usd_per_gib: float
    evidence: str = ""
    reads_per_s: float = np.inf
    writes_per_s: float = np.inf
    request_evidence: str = ""
    """Evidence for the limits on requests to one place; these are infinite where unknown."""

    @property
    def priced(self) -> bool:
        """True if capacity and requests have prices."""
        return not np.isnan(self.usd_per_byte_hour + self.read_usd_per_request + self.write_usd_per_request)


def choose_object_store(catalog: Catalog, *, is_assumed: bool = False) -> ObjectStoreChoice:
    """Return the catalog's first object store, or one without name, rates and prices; of unknown limits on requests
    those of the slowest cloud's store are assumed if they may be.
    """
    store = _first_store(catalog)
    limits = {name: getattr(store, name) for name in ("reads_per_s", "writes_per_s")}
    unknown = [name for name, limit in limits.items() if np.isinf(limit)]
    if not is_assumed or not store.name or not unknown:
        return store
    limits |= {name: min(stated_of_stores(name), default=np.inf) for name in unknown}
    return replace(store, **limits, request_evidence="assumed")


@lru_cache(maxsize=16)
def _first_store(catalog: Catalog) -> ObjectStoreChoice:
    store = next(iter(catalog.object_stores.values()), None)
    if store is None:
        unknown = np.full(len(catalog.instances), np.nan)
        nothing = np.full(len(unknown), -1, np.int8)
        return ObjectStoreChoice(
            name="",
            device=Device(read=unknown, write=unknown, simultaneous=unknown, evidence=nothing),
            usd_per_byte_hour=np.nan,
            read_usd_per_request=np.nan,
            write_usd_per_request=np.nan,
            egress_usd_per_gib=np.nan,
        )
    return ObjectStoreChoice(
        name=store.object_store,
        device=_device(catalog, store),
        usd_per_byte_hour=store.price_usd_per_gib_month / _GIB / catalog.hours_per_month,
        read_usd_per_request=store.read_usd_per_request,
        write_usd_per_request=store.write_usd_per_request,
        egress_usd_per_gib=store.egress_usd_per_gib,
        evidence=store.evidence,
        reads_per_s=float(np.nan_to_num(store.reads_per_s, nan=np.inf)),
        writes_per_s=float(np.nan_to_num(store.writes_per_s, nan=np.inf)),
        request_evidence=store.request_evidence,
    )


def _device(catalog: Catalog, store: ObjectStore) -> Device:
    """Return a device with the rates observed on a type if both directions are known, else with a rate per virtual CPU;
    burstable types get their sustained rate, as the credit is not planned to last for the requests, too.
    """
    read = catalog.object_store_rates(store.object_store, "read_only")
    write = catalog.object_store_rates(store.object_store, "write_only")
    own = ~np.isnan(read.bytes_per_s + write.bytes_per_s)
    sustained_vcpu = catalog.instances.vcpu * catalog.processor_credits.baseline_share
    per_vcpu = sustained_vcpu * store.bytes_per_s_per_vcpu
    seen = np.maximum(evidence_codes(read.evidence), evidence_codes(write.evidence))
    rule = evidence_codes(np.array([store.rate_evidence]))[0]
    return Device(
        read=np.where(own, read.bytes_per_s, per_vcpu),
        write=np.where(own, write.bytes_per_s, per_vcpu),
        simultaneous=np.full(len(per_vcpu), np.nan),
        evidence=np.where(own, seen, np.where(np.isnan(per_vcpu), -1, rule)).astype(np.int8),
    )
