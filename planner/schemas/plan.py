"""The seam between planning and spending: a Request in, a Plan out, both JSON-able values that round-trip exactly.

Units throughout: seconds, bytes, bytes per second, US dollars. An unknown amount is None, never zero.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal

from planner.errors import BadInputError
from planner.schemas.json_values import from_jsonable, to_jsonable
from planner.units import format_duration

ALL_MODELS: Final = "all"
"""What `Request.model` says to rank the clusters of every model against each other."""

Objective = Literal["balanced", "cost", "time", "energy"]

NetworkView = Literal["unlimited", "ideal", "expected"]
"""The three networks of SoCC 2015, Figure 9: never the bottleneck, scaling ideally, as at scale."""


@dataclass(frozen=True, kw_only=True)
class OwnPrice:
    """A price of the user's own: a `discount` (a share of the list price), or `price_usd_per_hour` for a negotiated
    price or a reservation, which holds for `nodes` instances (None: for any number; others cost the list price).

    `instance` and `region` are patterns; `note` says where it is from.
    """

    cloud: str = "*"
    instance: str = "*"
    region: str = "*"
    pricing: str = "on-demand"
    discount: float | None = None
    price_usd_per_hour: float | None = None
    nodes: int | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class NodeLimit:
    """No more than `nodes` instances of a type, spares included: what a cloud was seen to have, or what one placement
    group takes. `instance` and `region` are patterns; `note` says where it is from.
    """

    nodes: int
    cloud: str = "*"
    instance: str = "*"
    region: str = "*"
    note: str = ""


def _field(default: Any, says: str, **further: Any) -> Any:
    """Return a field of `Request` with its meaning."""
    return field(default=default, metadata={"meaning": says, **further})


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the user asks for. Each field says what it means; `plan --help` says the same.

    `assume` maps a rate's name (`network`, `local_read`, ...) to bytes/s that override the catalog; `scale` maps a
    resource (`network`, `local`, `volumes`, `objects`, `cpu`, `price`) to a factor on it, for what-ifs.
    Of `own_prices`, and of `node_limits`, the first that fits a type counts. The budget must hold the 95th percentile
    of the whole bill.
    """

    data_bytes: int = field(metadata={"meaning": "How much to sort: 100TB, 1TiB."})
    model: str = _field("daytona", "Cost model: a name that `planner models` lists, a TOML file, or all.")
    catalogs: tuple[str, ...] = _field(("aws",), "Catalogs by name or directory.")
    regions: tuple[str, ...] = _field((), "Regions; each catalog's default otherwise.")
    instances: tuple[str, ...] = _field((), "Only these types; patterns such as 'i4i.*' work.")
    exclude: tuple[str, ...] = _field((), "Not these types; patterns as for --instance.")
    arch: str | None = _field(None, "Only x86_64 or arm64.")
    previous_generations: bool = _field(False, "Also types that their cloud counts as a previous generation.")
    max_vcpus: int | None = _field(None, "Quota: launch at most so many vCPUs, spares included.")
    nodes: int | None = _field(None, "Exactly so many nodes.")
    max_nodes: int = _field(1000, "At most so many nodes.")
    head_room: float | None = _field(None, "Keep so much of the disks free, 0 to 90%: 10%.")
    deadline_s: float | None = _field(None, "The whole run, from boot to the end, must be expected to end within: 1h.")
    sort_deadline_s: float | None = _field(None, "The sort alone must be expected to end within: 20m.")
    confidence: float | None = _field(None, "Meet the deadlines with this probability: 95%.")
    budget_usd: float | None = _field(None, "The whole run may cost so many US dollars, at its 95%.")
    objective: Objective = field(default="balanced", metadata={"meaning": "cost, time or energy."})
    evidence: str = _field("any", "Only types whose rates rest on this or better: measured, spec or any.")
    pricing: str = _field("on-demand", "on-demand or spot.")
    interruptions_per_node_hour: float | None = _field(None, "How often a spot node is taken back, per hour: 0.05.")
    assume: dict[str, float] = field(
        default_factory=dict,
        metadata={"meaning": "What-if: network=800MB/s, local_read=, local_write=, price=1.65, power:i4i.*=350 ..."},
    )
    scale: dict[str, float] = field(
        default_factory=dict,
        metadata={"meaning": "Multiply network, local, volumes, objects, cpu or price: network=1.5,price=0.7."},
    )
    network_distribution: str | None = _field(
        None, "Nodes' bandwidth is drawn as in one of the eight clouds A to H of Ballani et al."
    )
    network: NetworkView = field(
        default="expected",
        metadata={"meaning": "The network as expected at scale, as fast as between two nodes (ideal), or unlimited."},
    )
    own_prices: tuple[OwnPrice, ...] = _field((), "What types cost you: see OwnPrice.")
    node_limits: tuple[NodeLimit, ...] = _field((), "Types of which there are only so many.")
    input: str | None = _field(None, "Where the data is: s3://bucket/path.")
    output: str | None = _field(None, "Where the result goes: s3://bucket/path.")
    zones: int = _field(1, "Spread the nodes over so many zones; traffic between them costs.")
    map_ratio: float = _field(1.0, "Bytes the map puts out for each it takes in; a sort's are 1.")
    reduce_ratio: float = _field(1.0, "Bytes the reduce puts out for each it takes in.")
    compute_bytes_per_s_per_vcpu: float | None = _field(
        None, "What the job itself computes of its input, per vCPU: 50MB/s."
    )
    engine: str = _field(
        "ray", "What runs the plan: ideal (disks and network alone), ray, local, or a TOML file.", in_old_files="ideal"
    )
    paper: bool = _field(False, "The papers' equations and nothing else.")
    top: int = _field(10, "How many candidates to show.")
    most_data: bool = _field(False, "Instead of --data: how much can be sorted within the deadline, budget and nodes?")

    @property
    def has_deadline(self) -> bool:
        """Whether the run or its sort must end within a time."""
        return self.deadline_s is not None or self.sort_deadline_s is not None


def meaning(name: str) -> str:
    """Return what a field of `Request` means."""
    return next(str(item.metadata["meaning"]) for item in fields(Request) if item.name == name)


@dataclass(frozen=True, kw_only=True)
class Range:
    """A predicted quantity: `equation` without variation (the papers' value), its mean, median and 95th percentile."""

    equation: float
    expected: float
    p50: float
    p95: float

    @property
    def both_times(self) -> str:
        """Both figures of a time that are called planned, in words."""
        return f"{format_duration(self.equation)} by the equations, {format_duration(self.expected)} as runs vary"


@dataclass(frozen=True, kw_only=True)
class BillLine:
    """One part of the whole bill: what every node is paid for during `time_s`, or a charge that has no time.

    `usd` is None for a charge whose price is not known: it is not in the total.
    """

    name: str
    time_s: float | None
    usd: float | None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Cost(Range):
    """Cost of the job; `total` adds boot, generating or staging, screening, validating, teardown, spares, traffic and
    how the cloud rounds what it bills to `expected`, `total_p95` to `p95`. `requests` of the job to an object store are
    in all of them. `charges` is what of both totals is charged whatever the cluster's size: requests and traffic.
    `unknown` names the lines of the bill that have no price and are in none of them: then the totals are `at_least`
    what the run costs.
    """

    total: float
    total_p95: float
    requests: float = 0.0
    charges: float = 0.0
    unknown: tuple[str, ...] = ()
    at_least: bool = False


@dataclass(frozen=True, kw_only=True)
class ResourceUse:
    """What one resource of a node does in a phase."""

    bytes_per_node: float
    bytes_per_s: float
    time_s: float


@dataclass(frozen=True, kw_only=True)
class PhaseEstimate:
    """A phase lasts as long as its slowest resource, the `bottleneck`."""

    name: str
    time_s: float
    bottleneck: str
    resources: dict[str, ResourceUse]


@dataclass(frozen=True, kw_only=True)
class DiskSplit:
    """How many local disks hold data and how many intermediate files."""

    data: int
    intermediate: int


@dataclass(frozen=True, kw_only=True)
class Interruptions:
    """What is planned for spot nodes that are taken back: how often each is, how many there are of all nodes during the
    job, what one costs (`reload`, `restart` or `redo`, see `planner.cost_model.model`), and how much longer the job is
    expected to take for it.
    """

    per_node_hour: float
    expected: float
    recovery: str
    delay_s: float
    evidence: str


@dataclass(frozen=True, kw_only=True)
class VolumeSet:
    """The block volumes of one node: `count` of `volume_type`, each with what the plan needs of it."""

    volume_type: str
    count: int
    bytes_each: float
    bytes_per_s_each: float


@dataclass(frozen=True, kw_only=True)
class Overturn:
    """The doubtful `rate` that the recommendation rests on most: below `at_fraction` of what the plan expects of it,
    `winner` is the better choice. `command`, run on a small cluster of the type for `measure_usd`, would settle it.
    """

    rate: str
    evidence: str
    at_fraction: float
    winner: str
    measure_usd: float
    command: str


@dataclass(frozen=True, kw_only=True)
class Quoted:
    """A sort in the units that the field quotes (sortbenchmark.org): terabytes (10^12) a minute, megabytes (10^6) a
    second and node, US dollars a terabyte of the sort alone and of the whole bill, and records of 100 bytes a joule.

    All are of the expected time; `records_per_j` is None where the power of a node is not known.
    """

    tb_per_min: float
    mb_per_s_per_node: float
    usd_per_tb: float
    usd_per_tb_total: float
    records_per_j: float | None


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One cluster: what it is, how long it takes, what it costs, and how sure that is.

    `disk_split` is None where the local disks are `shared` by both groups or not used. `nodes_min` is the fewest
    nodes that hold the data; `capacity_bytes` (None: without limit) and `needed_bytes` are per node and disk group.
    `cloud_type` is what to order from the cloud, to which `instance_type` may add local disks; `usd_per_hour` is the
    whole cluster with its volumes. `energy_j` is known where the power of a node is. `durability` is what the model
    buys; `spares` are launched beside `nodes`; `interruptions` are None for nodes that are not taken back, or where it
    is not known how often they are. `deadline_kept` is how likely it is that the deadlines asked for are kept,
    if what surrounds the sort takes as long as expected. `quoted` is None for a job that takes no time; `overturned_by`
    is known of the recommended cluster alone.
    """

    model: str
    cloud: str
    region: str
    instance_type: str
    cloud_type: str
    nodes: int
    nodes_min: int
    placement_group: bool
    pricing: str
    price_usd_per_hour: float
    usd_per_hour: float
    storage: str
    disk_split: DiskSplit | None
    shared: bool
    time_s: Range
    cost_usd: Cost
    phases: tuple[PhaseEstimate, ...]
    capacity_bytes: dict[str, float | None]
    needed_bytes: dict[str, float]
    overheads_s: dict[str, float]
    evidence: str
    bill: tuple[BillLine, ...] = ()
    durability: str = ""
    spares: int = 0
    energy_j: float | None = None
    interruptions: Interruptions | None = None
    warnings: tuple[str, ...] = ()
    volumes: VolumeSet | None = None
    overturned_by: Overturn | None = None
    quoted: Quoted | None = None
    deadline_kept: float | None = None

    def __repr__(self) -> str:
        place = f"{self.nodes} x {self.instance_type}, {self.cloud} {self.region}, {self.model}"
        return f"<Candidate {place}: sort {self.time_s.expected:.0f} s, ${self.cost_usd.total:,.2f} in all>"


@dataclass(frozen=True, kw_only=True)
class Rejection:
    """A type that is not among the candidates, and why. `nearness` orders them: how far off the mark it is (1 is on
    it), if known.
    """

    instance_type: str
    reason: str
    detail: str = ""
    nearness: float | None = None


@dataclass(frozen=True, kw_only=True)
class FrontierPoint:
    """A cluster that no other beats in both time and total cost."""

    model: str
    cloud: str
    instance_type: str
    nodes: int
    time_s: float
    cost_usd_total: float


@dataclass(frozen=True, kw_only=True)
class CatalogStamp:
    """Which catalog answered, how old its prices are (ISO date), and the clouds whose shapes and prices are those that
    the user had read anew instead of the shipped ones.
    """

    name: str
    prices_as_of: str
    refreshed: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The answer to a Request: `best` is the first of `candidates`; None when nothing is feasible.

    `conflicts` names the constraints that can be met each but not together; `warnings` are about the whole answer.
    `beyond` says what stands against more data, where the request was for the most. `left_out` names catalogs of which
    no type could be planned, and why. `surer` is what keeps the deadlines with a probability of 95% where the best does
    not.
    """

    request: Request
    catalog: CatalogStamp
    best: Candidate | None
    candidates: tuple[Candidate, ...]
    rejected: tuple[Rejection, ...]
    frontier: tuple[FrontierPoint, ...] = ()
    conflicts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    beyond: str | None = None
    left_out: tuple[str, ...] = ()
    surer: FrontierPoint | None = None

    def to_json(self) -> str:
        """Return the plan as one JSON object; numbers keep every digit."""
        return json.dumps(to_jsonable(self), indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Read what `to_json` wrote. Raises BadInputError, naming the field, for anything else."""
        try:
            document = json.loads(text)
        except json.JSONDecodeError as error:
            raise BadInputError(f"plan is not JSON: {error}") from error
        if isinstance(document, dict):
            document.pop("simulation", None)  # `plan --simulate --json` adds it, and `planner report` shows it
        plan = from_jsonable(cls, document, where="plan")
        if not isinstance(plan, cls):
            raise BadInputError("plan: expected an object")
        return plan
