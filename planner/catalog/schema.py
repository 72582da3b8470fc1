"""The files of a catalog: one kind of fact each, and in every row where the fact is from, how old it is and how sure.

`source` names an entry of `[sources]` in the catalog's `catalog.toml`. Blank cells are unknown. Sizes are bytes, rates
bytes/s for a whole instance, money US dollars.
"""

from __future__ import annotations

from typing import Final

from planner.tables import Column, Schema

EVIDENCE: Final = ("measured", "derived", "spec", "extrapolated", "recalled", "assumed")
"""What a fact rests on, strongest first: `derived` is computed from stated or measured ones, `recalled` unchecked."""

MODES: Final = ("simultaneous", "read_only", "write_only")
"""How disks were driven: reading and writing at once with half the disks each (DiskBench), or one of the two alone."""

AGGREGATES: Final = ("mean", "slowest_of_n", "documented")
"""Whether a rate is an average per node, the slowest of the n nodes measured together, or a documented limit."""


def _rate(name: str, meaning: str, *, required: bool = False) -> Column:
    return Column(name=name, kind="number", unit="bytes/s", above=0, required=required, meaning=meaning)


def _size(name: str, meaning: str, *, required: bool = False) -> Column:
    return Column(name=name, kind="number", unit="bytes", above=0, required=required, meaning=meaning)


def _number(name: str, unit: str, meaning: str, *, required: bool = False) -> Column:
    return Column(name=name, kind="number", unit=unit, above=0, required=required, meaning=meaning)


def _count(name: str, meaning: str, *, least: float = 1) -> Column:
    return Column(name=name, kind="whole", least=least, required=False, meaning=meaning)


def _choice(name: str, choices: tuple[str, ...], meaning: str, *, required: bool = True) -> Column:
    return Column(name=name, kind="choice", choices=choices, required=required, meaning=meaning)


def _flag(name: str, meaning: str) -> Column:
    return Column(name=name, kind="yes_no", meaning=meaning)


_PROVENANCE: Final = (
    _choice("evidence", EVIDENCE, "what the fact rests on"),
    Column(name="source", meaning="key into `[sources]` of catalog.toml"),
    Column(name="as_of", kind="day", meaning="day for which the source gives the fact"),
)
_TYPE: Final = Column(name="instance_type", meaning="the cloud's name of the type")
_REGION: Final = Column(name="region", meaning="the cloud's name of the region")
_MODE: Final = _choice("mode", MODES, "how the disks or volumes were driven")
_AGGREGATE: Final = _choice("aggregate", AGGREGATES, "what the figure is over the nodes measured")
_METHOD: Final = Column(name="method", meaning="how it was measured")
_NOTE: Final = Column(name="note", required=False, meaning="what a reader must know before using the figure")
_MEASURED: Final = (
    _AGGREGATE,
    _count("instances", "instances measured"),
    _count("repeats", "runs on each"),
    _METHOD,
    _NOTE,
    *_PROVENANCE,
)

INSTANCES: Final = Schema(
    name="instances",
    meaning="shapes: what an instance of a type has, and the limits its cloud states",
    key=("instance_type",),
    columns=(
        _TYPE,
        Column(name="family", meaning="the types of one family differ in size only"),
        _choice("arch", ("x86_64", "arm64"), "processor architecture", required=False),
        _number("vcpu", "", "virtual CPUs (of a shared one, the fraction)"),
        _count("cores", "physical cores"),
        _size("memory_bytes", "main memory"),
        _count("local_disks", "local disks that come with the instance; 0 is none, blank unknown", least=0),
        _size("local_disk_bytes", "capacity of each local disk"),
        _choice("local_disk_kind", ("nvme", "ssd", "hdd"), "kind of local disk", required=False),
        _rate("network_baseline_bytes_per_s", "network rate the cloud sustains"),
        _rate("network_peak_bytes_per_s", "advertised 'up to' rate, reached at times"),
        _rate("volume_bytes_per_s", "sustained limit of all block volumes together"),
        _rate("volume_peak_bytes_per_s", "burst limit of all block volumes together"),
        _number("volume_iops", "1/s", "sustained limit of volume operations"),
        _count("volumes_max", "block volumes that can be attached"),
        _choice(
            "volume_link", ("own", "nic"), "whether volumes have a link of their own or share the NIC", required=False
        ),
        _flag("placement_group", "can be placed close together (cluster placement group or the like)"),
        _flag("current_generation", "still offered to new users"),
        *_PROVENANCE,
    ),
)

PRICES: Final = Schema(
    name="prices",
    meaning="what an instance costs per hour; a type without a row is unpriced, never free",
    key=("instance_type", "region", "pricing"),
    columns=(
        _TYPE,
        _REGION,
        _choice("pricing", ("on-demand", "spot"), "how it is bought"),
        _number("price_usd_per_hour", "USD/h", "Linux, no commitment", required=True),
        *_PROVENANCE,
    ),
)

DISKS: Final = Schema(
    name="disks",
    meaning="rates of all local disks of an instance together",
    key=("instance_type", "mode", "aggregate", "evidence"),
    columns=(
        _TYPE,
        _MODE,
        _count("disks", "disks the rate is of"),
        _rate("bytes_per_s", "whole instance; for `simultaneous`, read and at the same time written", required=True),
        *_MEASURED,
    ),
)

NETWORKS: Final = Schema(
    name="networks",
    meaning="measured network rates per node, by cluster size",
    key=("instance_type", "nodes", "placement_group", "aggregate", "method"),
    columns=(
        _TYPE,
        _count("nodes", "size of the cluster; blank when the source does not say", least=2),
        _flag("placement_group", "whether the nodes were placed close together"),
        _rate("bytes_per_s", "per node", required=True),
        _AGGREGATE,
        _count("connections", "TCP connections between two nodes"),
        _METHOD,
        _NOTE,
        *_PROVENANCE,
    ),
)

TOKEN_BUCKETS: Final = Schema(
    name="token_buckets",
    meaning="network links that run at burst until a bucket is empty, then at baseline",
    key=("instance_type", "variant"),
    columns=(
        _TYPE,
        Column(name="variant", meaning="kind of network card met; a type may have several"),
        _rate("burst_bytes_per_s", "rate while the bucket lasts", required=True),
        _rate("baseline_bytes_per_s", "rate once it is empty", required=True),
        _size("bucket_bytes", "sent above baseline before it is empty: median of the runs", required=True),
        _size("bucket_least_bytes", "least of the runs"),
        _size("bucket_most_bytes", "most of the runs"),
        _count("runs", "runs it was computed from"),
        *_PROVENANCE,
    ),
)

LOCAL_DISK_OPTIONS: Final = Schema(
    name="local_disk_options",
    meaning="local disks bought with an instance; each fitting type and option is one more type, `TYPE+8x375GB`",
    key=("family", "vcpu_least", "disks", "region"),
    columns=(
        Column(name="family", meaning="family of instances.csv that can have them"),
        _count("vcpu_least", "fewest virtual CPUs that can have this many"),
        _count("vcpu_most", "most virtual CPUs that can have so few"),
        Column(name="disks", kind="whole", least=1, meaning="how many are added"),
        _size("disk_bytes", "capacity of each", required=True),
        _choice("local_disk_kind", ("nvme", "ssd", "hdd"), "kind of disk"),
        _REGION,
        _number("price_usd_per_hour", "USD/h", "all of them, on demand", required=True),
        _rate("read_bytes_per_s", "reading alone, all together"),
        _rate("write_bytes_per_s", "writing alone, all together"),
        _choice("price_evidence", EVIDENCE, "what the price rests on"),
        _choice("rate_evidence", EVIDENCE, "what the rates rest on", required=False),
        _NOTE,
        *_PROVENANCE,
    ),
)

SURCHARGES: Final = Schema(
    name="surcharges",
    meaning="hourly fees on top of an instance's price",
    key=("instance_type", "region", "surcharge"),
    columns=(
        _TYPE,
        _REGION,
        _choice("surcharge", ("volume_optimized",), "what the fee buys; `volume_optimized` is due with volumes"),
        _number("price_usd_per_hour", "USD/h", "fee per instance", required=True),
        _NOTE,
        *_PROVENANCE,
    ),
)

VOLUMES: Final = Schema(
    name="volumes",
    meaning="block volume types: prices and limits, each with its own evidence",
    key=("volume_type",),
    columns=(
        Column(name="volume_type", meaning="the cloud's name of the volume type"),
        _number("price_usd_per_gib_month", "USD/GiB-month", "capacity"),
        _number("price_usd_per_iops_month", "USD/(1/s)-month", "operations above the free ones"),
        _number("price_usd_per_mibps_month", "USD/(MiB/s)-month", "throughput above the free one"),
        _count("free_iops", "operations/s included", least=0),
        _rate("free_bytes_per_s", "throughput included"),
        _rate("read_bytes_per_s_max", "limit of one volume, reading"),
        _rate("write_bytes_per_s_max", "limit of one volume, writing"),
        _number("iops_max", "1/s", "limit of one volume"),
        _number("iops_per_gib", "1/s/GiB", "operations that come with, or may be bought per, GiB"),
        _rate("bytes_per_s_per_gib", "throughput that comes with each GiB"),
        _size("bytes_per_s_per_iops", "most throughput per provisioned operation/s"),
        _size("size_bytes_min", "smallest volume"),
        _size("size_bytes_max", "largest volume"),
        _choice("price_evidence", EVIDENCE, "what the prices rest on", required=False),
        _choice("limit_evidence", EVIDENCE, "what the limits rest on", required=False),
        _NOTE,
        *_PROVENANCE,
    ),
)

VOLUME_RATES: Final = Schema(
    name="volume_rates",
    meaning="measured rates of all block volumes of an instance together",
    key=("instance_type", "volume_type", "mode", "aggregate"),
    columns=(
        _TYPE,
        Column(name="volume_type", meaning="one of volumes.csv"),
        _MODE,
        _count("volumes_least", "volumes from which on the rate holds"),
        _rate("bytes_per_s", "whole instance", required=True),
        *_MEASURED,
    ),
)

STRAGGLERS: Final = Schema(
    name="stragglers",
    meaning="long tails seen: which fraction is how many times slower; they belong to the row they were seen on",
    key=("instance_type", "zone", "resource"),
    columns=(
        _TYPE,
        Column(name="zone", meaning="where it was seen"),
        _choice("resource", ("local_read", "local_write", "network", "volume_read", "volume_write"), "what was slow"),
        Column(name="slow_fraction", kind="number", above=0, most=1, meaning="fraction that was slow"),
        Column(name="slow_factor", kind="number", above=1, meaning="how many times longer the slow ones took"),
        _choice("per", ("node", "volume"), "what the fraction counts"),
        _NOTE,
        *_PROVENANCE,
    ),
)

OBJECT_STORES: Final = Schema(
    name="object_stores",
    meaning="object stores: capacity and request prices",
    key=("object_store",),
    columns=(
        Column(name="object_store", meaning="the cloud's name of the service and class"),
        _number("price_usd_per_gib_month", "USD/GiB-month", "capacity"),
        _number("write_usd_per_request", "USD", "PUT and the like"),
        _number("read_usd_per_request", "USD", "GET and the like"),
        Column(
            name="egress_usd_per_gib",
            kind="number",
            unit="USD/GiB",
            least=0,
            required=False,
            meaning="to instances of the same region; 0 is stated to be free",
        ),
        _NOTE,
        *_PROVENANCE,
    ),
)

OBJECT_STORE_RATES: Final = Schema(
    name="object_store_rates",
    meaning="observed rates between an instance and an object store",
    key=("instance_type", "object_store", "mode", "nodes"),
    columns=(
        _TYPE,
        Column(name="object_store", meaning="one of object_stores.csv"),
        _choice("mode", (*MODES, "whole_job"), "`whole_job`: data sorted from store to store, over the job's time"),
        _count("nodes", "size of the cluster"),
        _rate("bytes_per_s", "per node", required=True),
        _NOTE,
        *_PROVENANCE,
    ),
)

REQUIRED: Final = (INSTANCES, PRICES)
OPTIONAL: Final = (
    DISKS,
    LOCAL_DISK_OPTIONS,
    NETWORKS,
    TOKEN_BUCKETS,
    SURCHARGES,
    VOLUMES,
    VOLUME_RATES,
    STRAGGLERS,
    OBJECT_STORES,
    OBJECT_STORE_RATES,
)
ALL: Final = (*REQUIRED, *OPTIONAL)
