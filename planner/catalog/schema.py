"""The files of a catalog: one kind of fact each, and in every row the fact's source, age and evidence.

`source` names an entry of `[sources]` in the catalog's `catalog.toml`. Blank cells are unknown. Sizes are bytes, rates
bytes/s for a whole instance, money US dollars.
"""

from __future__ import annotations

from typing import Final

from planner.catalog.columns import (
    AGGREGATE,
    EVIDENCE,
    EXTENT,
    MEASURED,
    METHOD,
    MODE,
    MODES,
    NOTE,
    PROVENANCE,
    REGION,
    SMALL_IO,
    TYPE,
    VARIATION,
    choice,
    count,
    flag,
    number,
    rate,
    size,
)
from planner.catalog.tables import Column, Schema

INSTANCES: Final = Schema(
    name="instances",
    meaning="shapes: what an instance of a type has, and the limits its cloud states",
    key=("instance_type",),
    columns=(
        TYPE,
        Column(name="family", meaning="the types of one family differ in size only"),
        choice("arch", ("x86_64", "arm64"), "processor architecture", required=False),
        number("vcpu", "", "virtual CPUs (of a shared one, the fraction)"),
        count("cores", "physical cores"),
        size("memory_bytes", "main memory"),
        count("local_disks", "local disks that come with the instance; 0 is none, blank unknown", least=0),
        size("local_disk_bytes", "capacity of each local disk"),
        choice("local_disk_kind", ("nvme", "ssd", "hdd"), "kind of local disk", required=False),
        rate("network_baseline_bytes_per_s", "network rate the cloud sustains"),
        rate("network_peak_bytes_per_s", "advertised 'up to' rate, reached at times"),
        rate("volume_bytes_per_s", "sustained limit of all block volumes together"),
        rate("volume_peak_bytes_per_s", "burst limit of all block volumes together"),
        number("volume_iops", "1/s", "sustained limit of volume operations"),
        count("volumes_max", "block volumes that can be attached in addition to the root"),
        choice(
            "volume_link", ("own", "nic"), "whether volumes have a link of their own or share the NIC", required=False
        ),
        number("power_w", "W", "electrical power of a node at work, where it is known; clouds do not state it"),
        count("machines", "how many there are, of machines of one's own; blank: any number"),
        flag("placement_group", "can be placed close together (cluster placement group or the like)"),
        flag("current_generation", "still offered to new users"),
        *PROVENANCE,
    ),
)

PRICES: Final = Schema(
    name="prices",
    meaning="what an instance costs per hour; a type without a row is unpriced, never free",
    key=("instance_type", "region", "pricing"),
    columns=(
        TYPE,
        REGION,
        choice("pricing", ("on-demand", "spot"), "how it is bought"),
        number("price_usd_per_hour", "USD/h", "Linux, no commitment", required=True),
        *PROVENANCE,
    ),
)

DISKS: Final = Schema(
    name="disks",
    meaning="rates of all local disks of an instance together",
    key=("instance_type", "mode", "aggregate", "evidence"),
    columns=(
        TYPE,
        MODE,
        count("disks", "disks the rate is of"),
        rate("bytes_per_s", "whole instance; for `simultaneous`, read and at the same time written", required=True),
        rate("low_bytes_per_s", "of a computed rate: nineteen in twenty are above this"),
        rate("high_bytes_per_s", "of a computed rate: nineteen in twenty are below this"),
        number("operations_per_s", "1/s", "random operations of 4 KiB"),
        *MEASURED,
    ),
)

DISK_SPECS: Final = Schema(
    name="disk_specs",
    meaning="what a cloud states of all local disks of an instance together, beside bytes per second",
    key=("instance_type",),
    columns=(
        TYPE,
        number("read_operations_per_s", "1/s", "random reads of 4 KiB"),
        number("write_operations_per_s", "1/s", "random writes of 4 KiB"),
        *PROVENANCE,
    ),
)

SMALL_IO_RATES: Final = Schema(
    name="small_io",
    meaning="measured rates of small operations at random places of an instance's local disks or block volumes",
    key=("instance_type", "operation", "volume_type", "volumes", "aggregate"),
    columns=(
        TYPE,
        Column(name="volume_type", required=False, meaning="one of volumes.csv; blank: the local disks"),
        count("volumes", "block volumes, striped"),
        choice("operation", SMALL_IO, "what is done at once"),
        count("threads", "threads that did it: the fewest within 5% of the best"),
        rate("bytes_per_s", "all threads together", required=True),
        *MEASURED,
    ),
)

SORT_RATES: Final = Schema(
    name="sort_rates",
    meaning="measured rates of sorting in memory",
    key=("instance_type", "aggregate"),
    columns=(TYPE, rate("bytes_per_s_per_vcpu", "for each virtual CPU", required=True), *MEASURED),
)

COMPUTE: Final = Schema(
    name="compute",
    meaning="measured arithmetic rates of all processors of an instance together",
    key=("instance_type",),
    columns=(TYPE, number("flop_per_s", "1/s", "double precision", required=True), METHOD, NOTE, *PROVENANCE),
)

NETWORKS: Final = Schema(
    name="networks",
    meaning="measured network rates per node, by cluster size",
    key=("instance_type", "nodes", "placement_group", "aggregate", "method"),
    columns=(
        TYPE,
        count("nodes", "size of the cluster; blank when the source does not say", least=2),
        flag("placement_group", "whether the nodes were placed close together"),
        rate("bytes_per_s", "per node", required=True),
        AGGREGATE,
        count("connections", "TCP connections between two nodes"),
        *EXTENT,
        *VARIATION,
        METHOD,
        NOTE,
        *PROVENANCE,
    ),
)

NETWORK_SPECS: Final = Schema(
    name="network_specs",
    meaning="what further sources state of a type's network, of which what most state counts, and of its shape",
    key=("instance_type", "source"),
    columns=(
        TYPE,
        rate("baseline_bytes_per_s", "network rate the cloud sustains"),
        rate("peak_bytes_per_s", "advertised 'up to' rate, reached at times"),
        number("vcpu", "", "as in instances.csv, also the next four: each must agree with it"),
        count("local_disks", "local disks that come with the instance", least=0),
        size("local_disk_bytes", "capacity of each local disk"),
        rate("volume_bytes_per_s", "sustained limit of all block volumes together"),
        number("volume_iops", "1/s", "sustained limit of volume operations"),
        NOTE,
        *PROVENANCE,
    ),
)

TOKEN_BUCKETS: Final = Schema(
    name="token_buckets",
    meaning="network links that run at burst until a bucket is empty, then at baseline",
    key=("instance_type", "variant"),
    columns=(
        TYPE,
        Column(name="variant", meaning="kind of network card met; a type may have several"),
        rate("burst_bytes_per_s", "rate while the bucket lasts", required=True),
        rate("baseline_bytes_per_s", "rate once it is empty", required=True),
        size("bucket_bytes", "sent above baseline before it is empty: median of the runs", required=True),
        size("bucket_least_bytes", "least of the runs"),
        size("bucket_most_bytes", "most of the runs"),
        count("runs", "runs it was computed from"),
        *PROVENANCE,
    ),
)

BANDWIDTH_WEIGHTINGS: Final = Schema(
    name="bandwidth_weightings",
    meaning="types that can be launched with part of the bandwidth to volumes moved to the network, or back",
    key=("instance_type", "weighting"),
    columns=(
        TYPE,
        choice("weighting", ("vpc-1", "ebs-1"), "the cloud's name: more for the network, or more for volumes"),
        rate("network_baseline_bytes_per_s", "network rate that the cloud sustains under it", required=True),
        rate("volume_bytes_per_s", "sustained limit of all block volumes together under it", required=True),
        NOTE,
        *PROVENANCE,
    ),
)

BURSTABLE: Final = Schema(
    name="burstable",
    meaning="types whose processors run at full speed on credit alone, then at a share of it",
    key=("instance_type",),
    columns=(
        TYPE,
        Column(
            name="baseline_share",
            kind="number",
            above=0,
            most=1,
            required=False,
            meaning="share of each virtual CPU once no credit is left; a type where it is blank is not planned with",
        ),
        Column(
            name="launch_credit_vcpu_s",
            kind="number",
            unit="s",
            least=0,
            required=False,
            meaning="seconds of one virtual CPU at full speed that a new instance may take beyond its share",
        ),
        count("credited_nodes_most", "launches that get this credit; blank: all"),
        NOTE,
        *PROVENANCE,
    ),
)

LOCAL_DISK_OPTIONS: Final = Schema(
    name="local_disk_options",
    meaning="local disks bought with an instance; each fitting type and option is one more type, `TYPE+8x375GB`",
    key=("family", "vcpu_least", "disks", "region"),
    columns=(
        Column(name="family", meaning="family of instances.csv that can have them"),
        count("vcpu_least", "fewest virtual CPUs that can have this many"),
        count("vcpu_most", "most virtual CPUs that can have so few"),
        Column(name="disks", kind="whole", least=1, meaning="how many are added"),
        size("disk_bytes", "capacity of each", required=True),
        choice("local_disk_kind", ("nvme", "ssd", "hdd"), "kind of disk"),
        REGION,
        number("price_usd_per_hour", "USD/h", "all of them, on demand", required=True),
        rate("read_bytes_per_s", "reading alone, all together"),
        rate("write_bytes_per_s", "writing alone, all together"),
        number("read_operations_per_s", "1/s", "random reads of 4 KiB as stated, where the rates are stated, too"),
        number("write_operations_per_s", "1/s", "random writes of 4 KiB as stated, where the rates are stated, too"),
        choice("price_evidence", EVIDENCE, "what the price rests on"),
        choice("rate_evidence", EVIDENCE, "what the rates rest on", required=False),
        NOTE,
        *PROVENANCE,
    ),
)

SURCHARGES: Final = Schema(
    name="surcharges",
    meaning="hourly fees on top of an instance's price",
    key=("instance_type", "region", "surcharge"),
    columns=(
        TYPE,
        REGION,
        choice("surcharge", ("volume_optimized",), "what the fee buys; `volume_optimized` is due with volumes"),
        number("price_usd_per_hour", "USD/h", "fee per instance", required=True),
        NOTE,
        *PROVENANCE,
    ),
)

SPOT_INTERRUPTIONS: Final = Schema(
    name="spot_interruptions",
    meaning="how often spot machines are taken back: the share of a type's in a month, as a band",
    key=("instance_type", "region"),
    columns=(
        TYPE,
        REGION,
        Column(name="low_share_per_month", kind="number", least=0, most=1, meaning="least share of the band"),
        Column(name="high_share_per_month", kind="number", least=0, most=1, meaning="greatest share of the band"),
        *PROVENANCE,
    ),
)

VOLUME_LIMITS: Final = Schema(
    name="volume_limits",
    meaning="limits of all block volumes of an instance together, where instances.csv leaves them blank",
    key=("instance_type",),
    columns=(
        TYPE,
        rate("volume_bytes_per_s", "sustained"),
        rate("volume_peak_bytes_per_s", "burst"),
        number("volume_iops", "1/s", "sustained"),
        count("volumes_max", "block volumes that can be attached in addition to the root"),
        NOTE,
        *PROVENANCE,
    ),
)

VOLUMES: Final = Schema(
    name="volumes",
    meaning="block volume types: prices and limits, each with its own evidence",
    key=("volume_type",),
    columns=(
        Column(name="volume_type", meaning="the cloud's name of the volume type"),
        number("price_usd_per_gib_month", "USD/GiB-month", "capacity"),
        number("price_usd_per_iops_month", "USD/(1/s)-month", "operations above the free ones"),
        number("price_usd_per_mibps_month", "USD/(MiB/s)-month", "throughput above the free one"),
        count("free_iops", "operations/s included", least=0),
        rate("free_bytes_per_s", "throughput included"),
        rate("read_bytes_per_s_max", "limit of one volume, reading"),
        rate("write_bytes_per_s_max", "limit of one volume, writing"),
        number("iops_max", "1/s", "limit of one volume"),
        number("iops_per_gib", "1/s/GiB", "operations that come with, or may be bought per, GiB"),
        rate("bytes_per_s_per_gib", "throughput that comes with, or may be bought per, GiB"),
        size("bytes_per_s_per_iops", "most throughput per provisioned operation/s"),
        rate("burst_bytes_per_s", "rate of one volume while its burst credit lasts, whatever its size"),
        rate("burst_bytes_per_s_per_gib", "burst rate that comes with each GiB"),
        size("credit_bytes", "a volume's full credit: moved above what its size sustains before it is spent"),
        number("credit_bytes_per_gib", "bytes/GiB", "credit that comes with each GiB"),
        size("size_bytes_min", "smallest volume"),
        size("size_bytes_max", "largest volume"),
        Column(name="families_without", required=False, meaning="families that cannot have it, with spaces between"),
        choice("price_evidence", EVIDENCE, "what the prices rest on", required=False),
        choice("limit_evidence", EVIDENCE, "what the limits rest on", required=False),
        choice("burst_evidence", EVIDENCE, "what burst rate and credit rest on", required=False),
        NOTE,
        *PROVENANCE,
    ),
)

VOLUME_RATES: Final = Schema(
    name="volume_rates",
    meaning="measured rates of all block volumes of an instance together",
    key=("instance_type", "volume_type", "mode", "aggregate"),
    columns=(
        TYPE,
        Column(name="volume_type", meaning="one of volumes.csv"),
        MODE,
        count("volumes_least", "volumes from which on the rate holds"),
        rate("bytes_per_s", "whole instance", required=True),
        number("operations_per_s", "1/s", "random operations of 4 KiB"),
        *MEASURED,
    ),
)

STRAGGLERS: Final = Schema(
    name="stragglers",
    meaning="long tails seen: which fraction is how many times slower; they belong to the row they were seen on",
    key=("instance_type", "zone", "resource"),
    columns=(
        TYPE,
        Column(name="zone", meaning="where it was seen"),
        choice("resource", ("local_read", "local_write", "network", "volume_read", "volume_write"), "what was slow"),
        Column(name="slow_fraction", kind="number", above=0, most=1, meaning="fraction that was slow"),
        Column(name="slow_factor", kind="number", above=1, meaning="how many times longer the slow ones took"),
        choice("per", ("node", "volume"), "what the fraction counts"),
        NOTE,
        *PROVENANCE,
    ),
)

OBJECT_STORES: Final = Schema(
    name="object_stores",
    meaning="object stores: capacity and request prices",
    key=("object_store",),
    columns=(
        Column(name="object_store", meaning="the cloud's name of the service and class"),
        number("price_usd_per_gib_month", "USD/GiB-month", "capacity"),
        number("write_usd_per_request", "USD", "PUT and the like"),
        number("read_usd_per_request", "USD", "GET and the like"),
        Column(
            name="egress_usd_per_gib",
            kind="number",
            unit="USD/GiB",
            least=0,
            required=False,
            meaning="to instances of the same region; 0 is stated to be free",
        ),
        rate("bytes_per_s_per_vcpu", "either way, for each virtual CPU, where a type has no rate of its own"),
        choice("rate_evidence", EVIDENCE, "what that rate rests on", required=False),
        number("reads_per_s", "1/s", "GET requests that one place (prefix, bucket, account) takes from the start"),
        number("writes_per_s", "1/s", "PUT requests that one place takes from the start"),
        choice("request_evidence", EVIDENCE, "what these limits rest on", required=False),
        NOTE,
        *PROVENANCE,
    ),
)

OBJECT_STORE_RATES: Final = Schema(
    name="object_store_rates",
    meaning="observed rates between an instance and an object store",
    key=("instance_type", "object_store", "mode", "nodes"),
    columns=(
        TYPE,
        Column(name="object_store", meaning="one of object_stores.csv"),
        choice("mode", (*MODES, "whole_job"), "`whole_job`: data sorted from store to store, over the job's time"),
        count("nodes", "size of the cluster"),
        rate("bytes_per_s", "per node", required=True),
        NOTE,
        *PROVENANCE,
    ),
)

TRANSFER_KINDS: Final = ("zone", "region", "continent", "internet")

TRANSFERS: Final = Schema(
    name="transfers",
    meaning="what traffic costs that leaves the zone, the region or the cloud",
    key=("transfer", "from_gib"),
    columns=(
        choice(
            "transfer",
            TRANSFER_KINDS,
            "between two zones, both directions together; between two regions of one continent, or of two; out of the "
            "cloud",
        ),
        Column(
            name="from_gib",
            kind="number",
            unit="GiB",
            least=0,
            required=False,
            meaning="the price holds for what a month carries beyond this; blank: from the first byte on",
        ),
        Column(name="price_usd_per_gib", kind="number", unit="USD/GiB", least=0, meaning="0 is stated to be free"),
        NOTE,
        *PROVENANCE,
    ),
)

PREVIOUS_GENERATIONS: Final = Schema(
    name="previous_generations",
    meaning="families that the cloud's own list calls previous; where it is there, all other families are current",
    key=("family",),
    columns=(
        Column(name="family", meaning="family of instances.csv, or one that is no longer sold"),
        NOTE,
        *PROVENANCE,
    ),
)

REVIEWS: Final = Schema(
    name="reviews",
    meaning="cells that contradict other rows and were looked into: what was decided, and why",
    key=("instance_type", "file", "column", "region", "pricing"),
    columns=(
        TYPE,
        choice("file", ("instances", "prices", "disks", "network_specs", "volume_limits"), "where the cell is"),
        Column(name="column", meaning="the cell's column"),
        Column(name="region", required=False, meaning="of a price; blank: every region"),
        choice("pricing", ("on-demand", "spot"), "of a price", required=False),
        choice(
            "verdict",
            ("accepted", "outvoted", "withheld"),
            "`accepted`: true, however odd; `outvoted`: kept as its source states it, other sources count; "
            "`withheld`: what the source states is not in the file",
        ),
        number("stated", "", "what the source states"),
        number("factor", "", "how many times what other rows lead to expect; only so much is accepted"),
        Column(name="reason", meaning="why it was decided so"),
        *PROVENANCE,
    ),
)

REQUIRED: Final = (INSTANCES, PRICES)
OPTIONAL: Final = (
    DISKS,
    DISK_SPECS,
    SMALL_IO_RATES,
    SORT_RATES,
    LOCAL_DISK_OPTIONS,
    COMPUTE,
    NETWORKS,
    NETWORK_SPECS,
    TOKEN_BUCKETS,
    BANDWIDTH_WEIGHTINGS,
    BURSTABLE,
    SURCHARGES,
    SPOT_INTERRUPTIONS,
    VOLUME_LIMITS,
    VOLUMES,
    VOLUME_RATES,
    STRAGGLERS,
    OBJECT_STORES,
    OBJECT_STORE_RATES,
    TRANSFERS,
    PREVIOUS_GENERATIONS,
    REVIEWS,
)
ALL: Final = (*REQUIRED, *OPTIONAL)
