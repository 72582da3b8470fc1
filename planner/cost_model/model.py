"""Cost models as data: phases with a barrier between them, each moving volumes of the job over resources.

A model is a TOML file in `models/`: coefficients are data. The formulas that use them are in
`planner.cost_model.estimate`.
Source of the three equations shipped: Conley, Vahdat, Porter, SoCC 2015, section 3.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Final, Literal

from planner.cost_model.engine import IDEAL, Engine
from planner.schemas.door import Between

VOLUMES: Final = ("map_in", "map_out", "reduce_out")
GROUPS: Final = ("data", "intermediate")
MEDIA: Final = ("local", "volumes", "object-store", "memory")
CPU_WORK: Final = ("partition", "sort")
Recovery = Literal["reload", "restart", "redo"]
"""Ways to recover a lost node: load the input and begin again, begin again from input that outlived the node, or redo
the node's work.
"""

Coefficients = Mapping[Annotated[str, VOLUMES], Annotated[float, Between(0, 1000, above=True)]]
"""Number of times each job volume is moved: {"reduce_out": 2} is two copies of the reduce output."""
Groups = Mapping[Annotated[str, GROUPS], Coefficients]
Startup = Annotated[float, Between(0, 1e6)]


@dataclass(frozen=True, kw_only=True)
class JobVolumes:
    """Bytes that a job moves through the whole cluster. A sort has all three equal to its data size."""

    map_in: float
    map_out: float
    reduce_out: float

    @classmethod
    def of(cls, data_bytes: float, *, map_ratio: float = 1.0, reduce_ratio: float = 1.0) -> JobVolumes:
        """Return the volumes of a job whose map puts out `map_ratio` bytes for each input byte, and its reduce
        `reduce_ratio`; both are 1 for a sort.
        """
        map_out = data_bytes * map_ratio
        return cls(map_in=data_bytes, map_out=map_out, reduce_out=map_out * reduce_ratio)

    def total(self, coefficients: Coefficients) -> float:
        """Return the total bytes for `coefficients`."""
        return sum(times * float(getattr(self, volume)) for volume, times in coefficients.items())


@dataclass(frozen=True, kw_only=True)
class Phase:
    """One barrier-to-barrier phase: volumes per disk group read and written, over the network, and through the CPU."""

    name: str
    read: Groups = field(default_factory=dict)
    write: Groups = field(default_factory=dict)
    network: Coefficients = field(default_factory=dict)
    """Shuffled data: each of n nodes keeps 1/n of its own."""
    cpu: Mapping[Annotated[str, CPU_WORK], Coefficients] = field(default_factory=dict)
    replicate: Coefficients = field(default_factory=dict)
    """Data that always goes to another node: copies that must outlive the node."""
    one_stream: Coefficients = field(default_factory=dict)
    """Data that passes through a single stream, which more nodes do not speed up."""
    startup_s: Startup = 0.0
    per_node_s: Startup = 0.0
    """Seconds before any data is moved: `startup_s` once, `per_node_s` for each node."""


@dataclass(frozen=True, kw_only=True)
class Software:
    """Properties of the software that does the job, if it is not the planner's own sort core.

    `bytes_per_s` holds its rates per vCPU by kind of CPU work, and that of `one_stream`. `shared_sigma` is the standard
    deviation of ln(time) between the equations and whole runs, `evidence` the basis of the constants, `source` their
    origin, `vcpu_bytes_per_s` as for an engine.
    """

    bytes_per_s: Mapping[str, float]
    shared_sigma: float
    evidence: str
    source: str
    vcpu_bytes_per_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class CostModel:
    """A cost model: the place of each disk group (`storage`), its contents (`capacity`) and the phases.

    `in_memory` is true if intermediate data that fits in memory stays there; `recovery` is a `Recovery`. `engine`
    carries the model out; the papers' own, which states no start, takes `start_and_end_s` beside the phases.
    """

    name: str
    title: str
    source: str
    durability: str
    storage: Mapping[str, str]
    capacity: Mapping[str, Coefficients]
    phases: tuple[Phase, ...]
    requests: Mapping[str, float]
    """Bytes per request to the object store: `read_bytes`, `write_bytes`; empty for a model that uses none."""
    in_memory: bool = True
    recovery: str = "reload"
    software: Software | None = None
    engine: Engine = IDEAL
    start_and_end_s: float = 0.0

    @property
    def output_copies(self) -> int:
        """Number of copies of the output that the last phase writes."""
        return round(max(self.phases[-1].write.get("data", {}).values(), default=1))

    @property
    def nodes_min(self) -> int:
        """Fewest nodes that keep the model's guarantees: a copy on another node takes two."""
        return 2 if any(phase.replicate for phase in self.phases) else 1


def on_one_machine(model: CostModel) -> CostModel:
    """Return the model for a single machine: copies stay there, where they protect against nothing."""
    return replace(model, phases=tuple(replace(phase, replicate={}) for phase in model.phases))


def kept_in_memory(model: CostModel) -> CostModel:
    """Return the model of a job whose intermediate data fits in memory: it is neither written, read nor stored."""
    phases = tuple(
        replace(phase, read=_without_intermediate(phase.read), write=_without_intermediate(phase.write))
        for phase in model.phases
    )
    return replace(model, capacity=_without_intermediate(model.capacity), phases=phases)


def on_a_cluster(model: CostModel) -> CostModel:
    """Return the model of the sort on a cluster: intermediate data goes to files whatever the memory."""
    return replace(model, in_memory=False)


def run_by(model: CostModel, engine: Engine) -> CostModel:
    """Return the model as carried out by an engine; a model that describes its own software is returned unchanged."""
    if model.software is not None:
        return model
    whole = on_one_machine(model) if engine.one_machine else model
    if engine is IDEAL and model.start_and_end_s:
        start = Phase(name="start and end", startup_s=model.start_and_end_s)
        whole = replace(whole, phases=(start, *whole.phases))
    return replace(whole, engine=engine, in_memory=model.in_memory and engine.in_memory)


def _without_intermediate(groups: Mapping[str, Coefficients]) -> dict[str, Coefficients]:
    return {group: coefficients for group, coefficients in groups.items() if group != "intermediate"}
