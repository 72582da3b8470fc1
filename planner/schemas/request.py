"""A `Request`, each field declared once: its type, default, form, place in the help, meaning and option.

The options of `plan`, the arguments of `recommend` and `what_if`, and the commands in reports derive from it.
"""
# ruff: noqa: RUF009 - `field` returns a field of the dataclass

from __future__ import annotations

import dataclasses
import math
from dataclasses import MISSING, Field, dataclass
from functools import cache
from typing import Any, Final, get_args

from planner.schemas import request_forms as forms
from planner.schemas.request_forms import Form, NetworkView, NodeLimit, Objective, OwnPrice, Rule

ALL_MODELS: Final = "all"
"""Value of `Request.model` that ranks the clusters of all models together."""


FORMATS: Final = ("records", "lines", "csv", "parquet")
CODECS: Final = ("none", "zstd", "gzip", "snappy", "lz4", "brotli")
"""Values of `Request.format` and `Request.compression`; a ratio may follow a codec: `zstd=3.1`."""


@dataclass(frozen=True)
class Option:
    """An option of `plan`, also an argument of `recommend`.

    `place` is its heading in the help and its number there; `name` is '' if it equals the field's. `shown` is the
    default in words. `complete` has the words that complete it, or names their source in
    `planner.cli.shell.completion`.
    """

    form: Form
    place: str
    help: str
    name: str = ""
    shown: str | None = None
    complete: str | tuple[str, ...] = ()
    without: str = ""
    """Another option, perhaps with its only value, that excludes this one: `nodes=1`."""


def field(default: Any, *option: Any, also: Option | None = None, **further: Any) -> Any:
    """Return a field of `Request` with its option (see `Option`), and `also`, another option that sets it or adds to
    it.
    """
    metadata = {"options": (Option(*option, **further), *([also] if also else []))}
    if default is dict:
        return dataclasses.field(default_factory=dict, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class Request:
    """The user's request. Each field carries its meaning; `plan --help` prints the same text.

    `assume` maps a rate's name (`network`, `local_read`, ...) to bytes/s that override the catalog; `scale` maps a
    resource (`network`, `local`, `volumes`, `objects`, `cpu`, `price`) or `data` to a factor on it, for what-ifs.
    `data_bytes` are those stored: compressed files unpack to more, and that is sorted. The first of `own_prices`, and
    of `node_limits`, that fits a type counts. The budget must hold the 95th percentile of the whole bill.
    """

    # fmt: off
    data_bytes: int = dataclasses.field(
        metadata={
            "options": (Option(forms.SIZE, "Used first 1", "How much to sort: 100TB; for `sizes`: 3TB,6TB.", "data"),)
        }
    )
    model: str = field(
        "daytona", forms.TEXT, "Used first 7",
        "Cost models: names that `planner models` lists, TOML files, or all.", complete="models",
        shown="daytona; between object stores also indy and object-store"
    )
    catalogs: tuple[str, ...] = field(
        ("aws",), forms.CATALOGS, "Used first 3", "Clouds, comma-separated.", "cloud",
        shown="those in the settings, or aws", complete="catalogs",
        also=Option(forms.CATALOGS, "Where 1", "Catalogs by name or directory, instead of --cloud.", "catalog",
                    complete="catalogs"),
    )
    regions: tuple[str, ...] = field(
        (), forms.NAMES, "Used first 4", "Regions, 'europe-*' or all; each catalog's default otherwise.", "region",
        complete="regions",
    )
    instances: tuple[str, ...] = field(
        (), forms.NAMES, "Machines 1", "Only these types; patterns such as 'i4i.*' work.", "instance",
        complete="instances",
    )
    exclude: tuple[str, ...] = field((), forms.NAMES, "Machines 2", "Not these types; patterns as for --instance.")
    arch: str | None = field(None, forms.TEXT, "Machines 3", "Only x86_64 or arm64.", complete=("x86_64", "arm64"))
    previous_generations: bool = field(
        False, forms.FLAG, "Settings 8", "Also types that their cloud counts as a previous generation."
    )
    min_memory_bytes: int | None = field(
        None, forms.SIZE, "Settings 7", "Only types with at least so much memory: 64GiB.", "min_memory",
        shown="4 vCPUs and 7 GiB",
    )
    max_vcpus: int | None = field(
        None, forms.VCPUS, "Cluster size 3", "Quota: the most vCPUs to launch, spares included."
    )
    nodes: int | None = field(None, forms.COUNT, "Cluster size 1", "Exact number of nodes.")
    max_nodes: int = field(1000, forms.COUNT, "Cluster size 2", "Most machines to launch, spares included.")
    head_room: float | None = field(
        None, forms.SHARE, "Settings 9", "Keep so much of the disks free, 0 to 90%: 10%.",
        shown="for skew, and what a lost node held",
    )
    deadline_s: float | None = field(
        None, forms.SECONDS, "Used first 2", "The whole run, from boot to the end, must be expected to end within: 1h.",
        "deadline",
    )
    sort_deadline_s: float | None = field(
        None, forms.SECONDS, "Limits 3", "The sort alone must be expected to end within: 20m.", "sort_deadline"
    )
    confidence: float | None = field(
        None, forms.SHARE, "Limits 2", "So many of 100 runs must meet the deadlines: 95%.", shown="in expectation"
    )
    budget_usd: float | None = field(
        None, forms.USD, "Limits 1", "Most US dollars that the whole run may cost, in 95 of 100 runs.", "budget"
    )
    objective: Objective = field(
        "balanced", forms.OBJECTIVE, "Money 1", "cost, time or energy.",
        shown="the fastest within 5% of the least total cost, or for under $0.25 per hour saved",
        complete=get_args(Objective),
    )
    evidence: str = field(
        "any", forms.TEXT, "Settings 13",
        "Only types whose rates rest on this or better: measured, spec or any.", complete=("measured", "spec", "any"),
    )
    pricing: str = field(
        "on-demand", forms.PRICING, "Used first 5", "on-demand, spot, or both: on-demand,spot.",
        complete=("on-demand", "spot"),
    )
    interruptions_per_node_hour: float | None = field(
        None, forms.NUMBER, "Settings 10", "How often a spot node is taken back, per hour: 0.05.", "interruptions",
        shown="the catalog's, if it says",
    )
    assume: dict[str, float] = field(
        dict, forms.RATES, "Evidence and what-if 1",
        "What-if: network=800MB/s, network:i4i.*=, local_read=, local_write=, price=1.65, power:i4i.*=350 ...",
    )
    scale: dict[str, float] = field(
        dict, forms.FACTORS, "Used first 8",
        "Multiply data, network, local, volumes, objects, cpu, memory, disks or price: data=2,price=0.7.", "what_if",
    )
    network_distribution: str | None = field(
        None, forms.TEXT, "Settings 12",
        "Nodes' bandwidth is drawn as in one of the eight clouds A to H of Ballani et al.",
    )
    network: NetworkView = field(
        "expected", forms.NETWORK, "Settings 11",
        "The network as expected at scale, as fast as between two nodes (ideal), or unlimited.",
        complete=get_args(NetworkView),
    )
    own_prices: tuple[OwnPrice, ...] = field(
        (), forms.DISCOUNTS, "Used first 6",
        "Off the list prices: 15%, aws=15% or 'i4i.*=15%'; added to those in the settings.", "discount",
        without="pricing=spot",
        also=Option(forms.OWN_PRICES, "Money 2",
                    "What a type costs you per hour: i4i.4xlarge=0.95, i4i.*=0.08/vcpu, or FILE.csv; undiscounted.",
                    "own_price", without="pricing=spot"),
    )
    node_limits: tuple[NodeLimit, ...] = field(
        (), forms.CAPACITIES, "Settings 15", "Most instances of a type: 'i4i.*=40'.", "capacity", without="paper",
        shown="what the cloud refused your runs in the last week",
    )
    input: str | None = field(
        None, forms.TEXT, "Where 2", "Where the data is: s3://bucket/path, or files here; listed without --data.",
        shown="generated on the nodes",
    )
    output: str | None = field(
        None, forms.TEXT, "Where 3", "Where the result goes: s3://bucket/path.", shown="stays on the nodes"
    )
    input_region: str | None = field(
        None, forms.TEXT, "Where 4", "Region of the bucket of --input, and of the machines by default: eu-west-1.",
        shown="that of the machines", complete="regions",
    )
    output_region: str | None = field(
        None, forms.TEXT, "Where 5", "Region of the bucket of --output.", shown="that of the machines",
        complete="regions",
    )
    prefixes: int | None = field(
        None, forms.COUNT, "Where 6", "Prefixes or buckets that the data in a store is spread over: 40.",
        shown="one for each 2.5 TB", without="paper",
    )
    zones: int = field(
        1, forms.COUNT, "Settings 6", "Number of zones to spread the nodes over; traffic between them costs.",
        without="nodes=1",
    )
    map_ratio: float = field(
        1.0, forms.SHARE, "Settings 1", "Bytes the map puts out for each it takes in; a sort's are 1.", shown="1"
    )
    reduce_ratio: float = field(
        1.0, forms.SHARE, "Settings 2", "Bytes the reduce puts out for each it takes in.", shown="1"
    )
    compute_bytes_per_s_per_vcpu: float | None = field(
        None, forms.RATE, "Settings 3", "What the job itself computes of its input, per vCPU: 50MB/s.", "compute",
        shown="no limit",
    )
    format: str | None = field(
        None, forms.TEXT, "What to sort 2", "What the files hold: records, lines, csv or parquet.",
        shown="as listed, or records", complete=FORMATS,
    )
    compression: str | None = field(
        None, forms.TEXT, "Settings 4",
        "How files are compressed, with unpacked over stored bytes if you know it: zstd, gzip=3.1, none.",
        shown="as listed, or none", complete=CODECS,
    )
    files: int | None = field(
        None, forms.FILES, "Settings 5", "Into how many files the input is divided: 500.", shown="as listed"
    )
    engine: str = field(
        "ray", forms.TEXT, "Evidence and what-if 2",
        "What runs the plan: ideal (disks and network alone), ray, local, spark, or a TOML file.", complete="engines",
    )
    unknown: str | None = field(
        None, forms.TEXT, "Settings 14",
        "Whatever nobody knows: exclude the clusters that need it, or assume it, with a range.",
        shown="a machine of unknown rate or price is excluded, the rest assumed", complete=("exclude", "assume"),
    )
    paper: bool = field(False, forms.FLAG, "Evidence and what-if 3", "The papers' equations and nothing else.")
    top: int = field(10, forms.COUNT, "Output 1", "How many candidates to show.")
    most_data: bool = field(
        False, forms.FLAG, "What to sort 1",
        "Instead of --data: how much can be sorted within the deadline, budget and nodes?",
    )
    # fmt: on

    @property
    def bytes_to_sort(self) -> int:
        """Bytes to sort: those requested, multiplied by a what-if's factor; compressed files unpack to more."""
        return round(self.data_bytes * self.scale.get("data", 1.0))

    @property
    def supposed(self) -> str:
        """The what-ifs that suppose other machines than there are, as `--what-if` has them; '' if there are none."""
        return ",".join(f"{name}={by:g}" for name, by in self.scale.items() if name not in ("data", "price"))

    @property
    def most_machines(self) -> float:
        """Most machines to launch, spares included: `max_nodes`, unless `nodes` alone is given."""
        return math.inf if self.nodes and self.max_nodes == Request.max_nodes else self.max_nodes

    def assumes(self, name: str) -> bool:
        """Return whether a rate is assumed, of all types or of some."""
        return any(given.partition(":")[0] == name for given in self.assume)

    def assuming(self, rates: dict[str, float]) -> Request:
        """Return the request with assumed rates of all types in place of those that it has."""
        others = {given: rate for given, rate in self.assume.items() if given.partition(":")[0] not in rates}
        return dataclasses.replace(self, assume=others | rates)

    @property
    def pricings(self) -> tuple[str, ...]:
        """The ways to pay whose clusters are ranked together: on-demand, spot, or both."""
        return tuple(self.pricing.split(","))

    @property
    def rule(self) -> Rule:
        """The rule that ranks clusters: the objective, or the papers' default, which gives time no value."""
        return "papers" if self.paper and self.objective == "balanced" else self.objective

    @property
    def models(self) -> tuple[str, ...]:
        """The requested models, by name; `ALL_MODELS` stands for itself."""
        return tuple(filter(None, (name.strip() for name in self.model.split(","))))

    @property
    def has_several_models(self) -> bool:
        """True if clusters of several models are ranked together."""
        return self.model == ALL_MODELS or len(self.models) > 1

    @property
    def has_deadline(self) -> bool:
        """True if the run or its sort has a deadline."""
        return self.deadline_s is not None or self.sort_deadline_s is not None


def default_of(item: Field[Any]) -> Any:
    """Return the default of a field; MISSING where it has none."""
    return item.default_factory() if item.default_factory is not MISSING else item.default


@cache
def options() -> dict[str, tuple[Field[Any], Option]]:
    """Return each option with its field, by its name in Python."""
    items = ((item, option) for item in dataclasses.fields(Request) for option in item.metadata["options"])
    return {option.name or item.name: (item, option) for item, option in items}
