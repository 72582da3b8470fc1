"""The boundary between planning and spending: a Request in, a Plan out, both JSON-able values that round-trip exactly.

Units throughout: seconds, bytes, bytes per second, US dollars. An unknown amount is None, never zero.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final

from planner.schemas.door import checked
from planner.schemas.json_values import from_jsonable, read_versioned, to_jsonable, versioned
from planner.schemas.rejections import STORED_BY_REASON, Rejection
from planner.schemas.request import ALL_MODELS, Request
from planner.schemas.request_forms import OWN, NetworkView, NodeLimit, Objective, OwnPrice, Rule
from planner.schemas.wrong_words import attribute_error
from planner.units import format_duration

__all__ = ["ALL_MODELS", "NetworkView", "NodeLimit", "Objective", "OwnPrice", "Plan", "Rejection", "Request", "Rule"]


TIMES_OF_PROFILE: Final = "time and range: from the profile"
"""First words of the note of a cluster whose times come from a profile."""

_ROUNDING: Final = 1e-6
_SUMMED: Final = 1e-2
"""Shares by which figures of a file may differ: rounding, and the error of adding distributions by finite values."""

ASSUMED_OF_ALL: Final = "assume "
"""First word of the note on a rate assumed of all types."""

NEVER_RAN: Final = " never ran, "
"""Part of the note on a type without a run in the profile."""


@dataclass(frozen=True, kw_only=True)
class Range:
    """A predicted quantity: `equation` without variation (the papers' value), its mean, median and 95th percentile."""

    equation: float
    expected: float
    p50: float
    p95: float

    @property
    def both_times(self) -> str:
        """Both planned figures of a time, in words."""
        return f"{format_duration(self.equation)} by the equations, {format_duration(self.expected)} as runs vary"


MACHINES_LINE: Final = "machines"
"""The line of a rented cluster's bill so far that has all machines for as long as they ran."""
HEAD_LINE: Final = "head on demand"
"""The bill's line of a head on demand among spot machines: what it costs more than one of them."""
ROOTS_LINE: Final = "root volumes"
EGRESS_LINE: Final = "stage out: egress"
ADDRESS_LINE: Final = "head's address"


@dataclass(frozen=True, kw_only=True)
class BillLine:
    """One part of the whole bill: the price of all nodes during `time_s`, or a charge that has no time.

    `usd` is None for a charge whose price is not known: it is not in the total.
    """

    name: str
    time_s: float | None
    usd: float | None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Cost(Range):
    """Cost of the job; `total` adds boot, generating or staging, screening, validating, teardown, spares, traffic and
    the cloud's rounding of billed amounts to `expected`, `total_p95` to `p95`. `requests` of the job to an object store
    are in all of them. `charges` is the part of both totals that does not depend on the cluster's size: requests and
    traffic. `unknown` names the lines of the bill that have no price and are in none of them: then the totals are lower
    bounds (`at_least`) of the run's cost.
    """

    total: float
    total_p95: float
    requests: float = 0.0
    charges: float = 0.0
    unknown: tuple[str, ...] = ()
    at_least: bool = False


@dataclass(frozen=True, kw_only=True)
class ResourceUse:
    """Work of one resource of a node in a phase: the expected time on the slowest node (`time_s`), and the time by the
    equation (`equation_s`), which is `bytes_per_node` at `bytes_per_s`.
    """

    bytes_per_node: float
    bytes_per_s: float
    time_s: float
    equation_s: float


@dataclass(frozen=True, kw_only=True)
class PhaseEstimate:
    """A phase: its expected time, the resource whose doubling would shorten it most (its `bottleneck`), and the
    equation's time, that of its slowest resource.
    """

    name: str
    time_s: float
    bottleneck: str
    resources: dict[str, ResourceUse]
    equation_s: float


@dataclass(frozen=True, kw_only=True)
class DiskSplit:
    """Numbers of local disks that hold data and intermediate files."""

    data: int
    intermediate: int


@dataclass(frozen=True, kw_only=True)
class Interruptions:
    """Planned interruptions of spot nodes: their rate per node, the expected number over all nodes during the job, the
    recovery (`reload`, `restart` or `redo`, see `planner.cost_model.model`), and the expected delay of the job.
    """

    per_node_hour: float
    expected: float
    recovery: str
    delay_s: float
    evidence: str


@dataclass(frozen=True, kw_only=True)
class VolumeSet:
    """The block volumes of one node: `count` of `volume_type`, each with the capacity and rates that the plan needs."""

    volume_type: str
    count: int
    bytes_each: float
    bytes_per_s_each: float


@dataclass(frozen=True, kw_only=True)
class Overturn:
    """The doubtful `rate` that the recommendation rests on most: below `at_fraction` of the value that the plan
    expects, `winner` is the better choice. `command`, run on a small cluster of the type for `measure_usd`, would
    settle it.
    """

    rate: str
    evidence: str
    at_fraction: float
    winner: str
    measure_usd: float
    command: str


@dataclass(frozen=True, kw_only=True)
class Quoted:
    """A sort in the field's units (sortbenchmark.org): terabytes (10^12) a minute, megabytes (10^6) a second and node,
    US dollars a terabyte of the sort alone and of the whole bill, and records of 100 bytes a joule.

    All are of the expected time; `records_per_j` is None where the power of a node is not known.
    """

    tb_per_min: float
    mb_per_s_per_node: float
    usd_per_tb: float
    usd_per_tb_total: float
    records_per_j: float | None


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One node as its cloud describes it: its network's baseline and burst peak, and the included local disks,
    `local_disk_bytes` each. Unstated values are None, and '' for the kind.
    """

    vcpus: float | None
    memory_bytes: float | None
    network_bytes_per_s: float | None
    network_peak_bytes_per_s: float | None
    local_disks: int | None
    local_disk_bytes: float | None
    local_disk_kind: str


@dataclass(frozen=True, kw_only=True)
class FrontierPoint:
    """A cluster that no other beats in both time and total cost."""

    model: str
    cloud: str
    instance_type: str
    nodes: int
    time_s: float
    cost_usd_total: float
    bandwidth_weighting: str = ""
    pricing: str = ""
    region: str = ""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One cluster: its machines, time and cost, and the confidence in them.

    `disk_split` is None where the local disks are `shared` by both groups or not used. `nodes_min` is the fewest nodes
    that hold the data; `capacity_bytes` (None: without limit) and `needed_bytes` are per node and disk group.
    `cloud_type` is the type to order from the cloud, to which `instance_type` may add local disks; `usd_per_hour` is
    the whole cluster with its volumes. `energy_j` is known where the power of a node is. `durability` is the model's
    guarantee; `spares` are launched in addition to `nodes`; `interruptions` are None for nodes that are not taken back,
    or where their frequency is unknown. `deadline_kept` is the probability that the requested deadlines are kept, if
    the steps around the sort take as long as expected; `late_staging_s` is what slow links between regions or clouds
    add to them in one of twenty runs. `quoted` is None for a job that takes no time. Only the
    recommended cluster has the rate that would overturn it (`overturned_by`), the seconds that the whole run saves with
    each resource twice as fast (`reliefs_s`, by the names of what-ifs), and the resource that helps most
    (`bottleneck`). `price_as_of` is the day of the list price (ISO), '' for a price of one's own. `bandwidth_weighting`
    is the setting that a launch on EC2 requests: `vpc-1` is more bandwidth for the network and less for volumes,
    `ebs-1` the reverse; '' is the cloud's default.
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
    price_as_of: str = ""
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
    late_staging_s: float = 0.0
    evidence: str
    bill: tuple[BillLine, ...]
    durability: str = ""
    spares: int = 0
    energy_j: float | None = None
    interruptions: Interruptions | None = None
    warnings: tuple[str, ...] = ()
    volumes: VolumeSet | None = None
    overturned_by: Overturn | None = None
    quoted: Quoted | None = None
    deadline_kept: float | None = None
    bottleneck: str = ""
    reliefs_s: dict[str, float] = field(default_factory=dict)
    bandwidth_weighting: str = ""
    machine: Machine

    @property
    def whole_run_s(self) -> float:
        """Expected seconds of the whole run, from boot to the end."""
        return self.time_s.expected + sum(self.overheads_s.values())

    @property
    def late_run_s(self) -> float:
        """Seconds of the whole run if its sort, and its links between places, are as slow as one in twenty."""
        return self.time_s.p95 + sum(self.overheads_s.values()) + self.late_staging_s

    @property
    def is_own(self) -> bool:
        """True for machines of one's own."""
        return self.cloud == OWN

    @property
    def is_free(self) -> bool:
        """True for machines of one's own without a price."""
        return self.is_own and not self.cost_usd.total_p95

    @property
    def point(self) -> FrontierPoint:
        """The cluster as a point of the frontier."""
        return FrontierPoint(
            model=self.model,
            cloud=self.cloud,
            instance_type=self.instance_type,
            bandwidth_weighting=self.bandwidth_weighting,
            nodes=self.nodes,
            pricing=self.pricing,
            region=self.region,
            time_s=self.time_s.expected,
            cost_usd_total=self.cost_usd.total,
        )

    if not TYPE_CHECKING:  # a type checker would take any name

        def __getattr__(self, name: str) -> Any:
            raise attribute_error(self, name, fields=[item.name for item in fields(Candidate)])

    def contradictions(self) -> Iterator[str]:
        """Yield the figures that cannot be those of one cluster: a bill or times that do not add up to the totals."""
        cost, hours = self.cost_usd, self.whole_run_s / 3600
        yield from _negative(to_jsonable(replace(self, reliefs_s={})), "")
        if self.nodes < 1:
            yield f"a cluster of {self.nodes} nodes"
        if self.usd_per_hour < self.nodes * self.price_usd_per_hour * (1 - _ROUNDING):
            yield "usd_per_hour: less than the price of its nodes"
        if cost.total < max(self.usd_per_hour * hours, cost.expected) * (1 - _ROUNDING):
            yield "cost_usd.total: less than the cluster costs in the time of the run"
        if cost.total > cost.total_p95 * (1 + _ROUNDING) or self.time_s.p50 > self.time_s.p95 * (1 + _ROUNDING):
            yield "cost_usd and time_s: more as expected than in 95 of 100 runs"
        if not math.isclose(math.fsum(line.usd or 0.0 for line in self.bill), cost.total, rel_tol=_ROUNDING):
            yield "bill: its lines do not add up to cost_usd.total"
        if not math.isclose(math.fsum(line.time_s or 0.0 for line in self.bill), self.whole_run_s, rel_tol=_ROUNDING):
            yield "bill: its times do not add up to time_s and overheads_s"
        unpriced = tuple(line.name for line in self.bill if line.usd is None)
        if unpriced != cost.unknown or (unpriced and not cost.at_least):
            yield "bill: its lines without a price are not those of cost_usd.unknown"
        summed_s = math.fsum(phase.time_s for phase in self.phases)
        expected_s = self.time_s.expected - (self.interruptions.delay_s if self.interruptions else 0.0)
        is_of_profile = any(text.startswith(TIMES_OF_PROFILE) for text in self.warnings)
        if not is_of_profile and not math.isclose(summed_s, expected_s, rel_tol=_SUMMED):
            yield "phases: their times do not add up to time_s"

    def __repr__(self) -> str:
        place = f"{self.nodes} x {self.instance_type}, {self.cloud} {self.region}, {self.model}"
        return f"<Candidate {place}: sort {self.time_s.expected:.0f} s, ${self.cost_usd.total:,.2f} in all>"


def _negative(value: Any, where: str) -> Iterator[str]:
    """Yield the places of the negative numbers in plain values."""
    if isinstance(value, dict | list):
        for name, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _negative(item, f"{where}.{name}" if where else str(name))
    elif isinstance(value, int | float) and value < 0:
        yield f"{where}: {value:g} is less than nothing"


@dataclass(frozen=True, kw_only=True)
class Unmeasured:
    """The number of a cloud's types left out because the rate or the number of their local disks is unknown, and the
    command that measures one.
    """

    cloud: str
    types: int
    measure: str


@dataclass(frozen=True, kw_only=True)
class CapacityRequest:
    """Machines of one type, spares included, that must be requested in advance, and their vCPUs as a quota counts them;
    `smaller` is the best cluster that needs no request, if there is one.
    """

    machines: int
    vcpus: float
    smaller: FrontierPoint | None


@dataclass(frozen=True, kw_only=True)
class CatalogStamp:
    """The catalog used, the age of its prices (ISO date), and the clouds for which shapes and prices that the user
    refreshed replace the shipped ones.
    """

    name: str
    prices_as_of: str
    refreshed: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The answer to a Request: `best` is the first of `candidates`; None when nothing is feasible.

    `conflicts` names the constraints that can be met each but not together; `warnings` are about the whole answer.
    `beyond` states what prevents more data, where the request was for the most. `left_out` names catalogs without a
    type that could be planned, and why; `unmeasured` counts types with unmeasured disks. `higher_confidence` is the
    cluster that keeps the deadlines in 95 of 100 runs where the best does not; `capacity` is None where a cloud usually
    has enough machines at hand. `by_pricing` has the best of each way to pay, where several are requested. `feasible`
    counts the types, once for each model and region, with some size that meets the request by the estimates:
    `candidates` are the best of them. It is None if not counted.
    """

    request: Request
    catalog: CatalogStamp
    best: Candidate | None
    candidates: tuple[Candidate, ...]
    rejected: tuple[Rejection, ...] = field(metadata={"stored": STORED_BY_REASON})
    frontier: tuple[FrontierPoint, ...] = ()
    conflicts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    beyond: str | None = None
    left_out: tuple[str, ...] = ()
    higher_confidence: FrontierPoint | None = None
    capacity: CapacityRequest | None = None
    unmeasured: tuple[Unmeasured, ...] = ()
    by_pricing: tuple[Candidate, ...] = ()
    feasible: int | None = None

    def contradictions(self) -> Iterator[str]:
        """Yield what cannot be one answer: gates read `best`, launches read `candidates`."""
        if self.best != next(iter(self.candidates), None):
            yield "best: not the first of the candidates"
        for name in ("candidates", "by_pricing"):
            for place, candidate in enumerate(getattr(self, name)):
                yield from (f"{name}[{place}].{text}" for text in candidate.contradictions())

    @property
    def not_shown(self) -> int | None:
        """Number of feasible types not among the candidates; None if not counted."""
        return None if self.feasible is None else max(self.feasible - len(self.candidates), 0)

    def to_json(self) -> str:
        """Return the plan as one JSON object; numbers keep every digit."""
        return json.dumps(versioned(self), indent=2, allow_nan=False)

    @classmethod
    @checked
    def from_json(cls, text: str) -> Plan:
        """Read the output of `to_json`. `rejected` is in the order of `by_reason`.

        Raises BadInputError, naming the field, for anything else.
        """
        plan: Plan = from_jsonable(cls, read_versioned(text, what="plan"), where="plan")
        return plan
