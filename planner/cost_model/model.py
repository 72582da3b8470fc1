"""Cost models as data: phases with a barrier between them, each moving volumes of the job over resources.

A model is a TOML file in `models/`: coefficients are data. The formulas that use them are in
`planner.cost_model.estimate`.
Source of the three equations shipped: Conley, Vahdat, Porter, SoCC 2015, section 3.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from planner.config.model_files import read_model_file
from planner.errors import BadInputError, nearest

VOLUMES: Final = ("map_in", "map_out", "reduce_out")
GROUPS: Final = ("data", "intermediate")
MEDIA: Final = ("local", "volumes", "object-store", "memory")
MEDIA_OF: Final = {"data": ("local", "volumes", "object-store"), "intermediate": ("local", "volumes", "memory")}
"""Where a model may keep each disk group; intermediate data in memory is neither written nor read."""
CPU_WORK: Final = ("partition", "sort")
REQUESTS: Final = ("read_bytes", "write_bytes")
RECOVERY: Final = ("reload", "restart", "redo")
"""What losing a node costs: load the input and begin again, begin again from input that outlived the node, or do again
what the node had done."""

SOFTWARE_EVIDENCE: Final = ("measured", "extrapolated", "recalled", "assumed")

Coefficients = Mapping[str, float]
"""How many times each job volume is moved: {"reduce_out": 2} is two copies of the reduce output."""


@dataclass(frozen=True, kw_only=True)
class JobVolumes:
    """What a job moves through the whole cluster, in bytes. A sort has all three equal to its data size."""

    map_in: float
    map_out: float
    reduce_out: float

    @classmethod
    def of(cls, data_bytes: float, *, map_ratio: float = 1.0, reduce_ratio: float = 1.0) -> JobVolumes:
        """Return the volumes of a job whose map puts out `map_ratio` bytes for each it takes in, whose reduce
        `reduce_ratio`; both are 1 for a sort.
        """
        map_out = data_bytes * map_ratio
        return cls(map_in=data_bytes, map_out=map_out, reduce_out=map_out * reduce_ratio)

    def total(self, coefficients: Coefficients) -> float:
        """Return the bytes that `coefficients` amount to."""
        return sum(times * float(getattr(self, volume)) for volume, times in coefficients.items())


@dataclass(frozen=True, kw_only=True)
class Phase:
    """One barrier-to-barrier phase: volumes per disk group read and written, over the network, and through the CPU."""

    name: str
    read: Mapping[str, Coefficients]
    write: Mapping[str, Coefficients]
    network: Coefficients
    cpu: Mapping[str, Coefficients]
    one_stream: Coefficients = field(default_factory=dict)
    """What passes through a single stream, which more nodes do not speed up."""
    startup_s: float = 0.0
    per_node_s: float = 0.0
    """Seconds before anything is moved: once, and for each node."""


@dataclass(frozen=True, kw_only=True)
class Software:
    """What the software that does the job is like, where it is not the planner's own sort core.

    `bytes_per_s` holds its rates per vCPU by kind of CPU work, and that of `one_stream`. `shared_sigma` is the standard
    deviation of ln(time) between the equations and whole runs, `evidence` what the constants rest on, `source` where
    they are from.
    """

    bytes_per_s: Mapping[str, float]
    shared_sigma: float
    evidence: str
    source: str


@dataclass(frozen=True, kw_only=True)
class CostModel:
    """A cost model: where each disk group lives (`storage`), what it must hold (`capacity`) and the phases.

    `in_memory` says whether intermediate data that fits in memory stays there; `recovery` is one of RECOVERY.
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

    @property
    def output_copies(self) -> int:
        """How many copies of the output the last phase writes."""
        return round(max(self.phases[-1].write.get("data", {}).values(), default=1))


def load_model(name: str) -> CostModel:
    """Return the model called `name`, or the one in the TOML file at that path.

    Raises BadInputError for an unknown name (with the nearest ones) and, all together, for everything wrong in the
    file.
    """
    path, document = read_model_file(name)
    return parse_model(path.stem, document, where=str(path))


def parse_model(name: str, document: Mapping[str, Any], *, where: str) -> CostModel:
    """Build a model from its parsed TOML; `where` names the file in the error that lists all findings."""
    reader = _Reader(document)
    model = reader.model(name)
    if reader.findings:
        raise BadInputError(f"model {where}: {len(reader.findings)} errors", reader.findings)
    return model


def kept_in_memory(model: CostModel) -> CostModel:
    """Return the model of a job whose intermediate data fits in memory: it is neither written, read nor stored."""
    phases = tuple(
        replace(phase, read=_without_intermediate(phase.read), write=_without_intermediate(phase.write))
        for phase in model.phases
    )
    return replace(model, capacity=_without_intermediate(model.capacity), phases=phases)


def on_a_cluster(model: CostModel) -> CostModel:
    """Return the model as the sort on a cluster does it: intermediate data goes to files whatever the memory."""
    return replace(model, in_memory=False)


def _without_intermediate(groups: Mapping[str, Coefficients]) -> dict[str, Coefficients]:
    return {group: coefficients for group, coefficients in groups.items() if group != "intermediate"}


class _Reader:
    """Walks a model document, collecting findings rather than stopping at the first."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.findings: list[str] = []

    def model(self, name: str) -> CostModel:
        keys = ("title", "source", "durability", "recovery", "storage", "capacity", "requests", "software", "phase")
        self._known_keys(self.document, keys, "the model")
        phases = self.document.get("phase")
        if not isinstance(phases, list) or not phases:
            self.findings.append("[[phase]]: a model needs at least one phase")
            phases = []
        return CostModel(
            name=name,
            title=self._text(self.document, "title", "the model"),
            source=self._text(self.document, "source", "the model"),
            durability=self._text(self.document, "durability", "the model"),
            storage=self._storage(),
            capacity=self._groups(self.document.get("capacity", {}), GROUPS, "capacity"),
            phases=tuple(self._phase(phase, number) for number, phase in enumerate(phases, start=1)),
            requests=self._requests(),
            in_memory=self._flag(self.document.get("storage", {}), "in_memory", "storage"),
            recovery=self._word(self.document, "recovery", RECOVERY, "the model"),
            software=self._software(),
        )

    def _phase(self, table: Mapping[str, Any], number: int) -> Phase:
        where = f"phase {number}"
        seconds = ("startup_s", "per_node_s")
        self._known_keys(table, ("name", "read", "write", "network", "cpu", "one_stream", *seconds), where)
        return Phase(
            name=self._text(table, "name", where),
            read=self._groups(table.get("read", {}), GROUPS, f"{where} read"),
            write=self._groups(table.get("write", {}), GROUPS, f"{where} write"),
            network=self._coefficients(table.get("network", {}), f"{where} network"),
            cpu=self._groups(table.get("cpu", {}), CPU_WORK, f"{where} cpu"),
            one_stream=self._coefficients(table.get("one_stream", {}), f"{where} one_stream"),
            **{key: self._number(table, key, where, most=1e6) for key in seconds if key in table},
        )

    def _storage(self) -> dict[str, str]:
        table = self.document.get("storage", {})
        for group in GROUPS:
            if table.get(group) not in MEDIA_OF[group]:
                known = ", ".join(MEDIA_OF[group])
                self.findings.append(f"storage.{group}: {table.get(group)!r} is not one of {known}")
        self._known_keys(table, (*GROUPS, "in_memory"), "storage")
        return {group: str(table.get(group, MEDIA[0])) for group in GROUPS}

    def _requests(self) -> dict[str, float]:
        table = self.document.get("requests", {})
        self._known_keys(table, REQUESTS, "requests")
        if "object-store" not in self.document.get("storage", {}).values():
            return {}
        for key in REQUESTS:
            if not isinstance(table.get(key), int | float) or not table[key] > 0:
                self.findings.append(f"requests.{key}: {table.get(key)!r} is not a positive number of bytes")
        return {key: float(table[key]) for key in REQUESTS if isinstance(table.get(key), int | float)}

    def _software(self) -> Software | None:
        """Read [software]: `one_stream_bytes_per_s` and, for each kind of CPU work, `KIND_bytes_per_s_per_vcpu`."""
        table = self.document.get("software")
        if table is None:
            return None
        kinds = {f"{work}_bytes_per_s_per_vcpu": work for work in CPU_WORK}
        rates = kinds | {"one_stream_bytes_per_s": "one_stream"}
        self._known_keys(table, (*rates, "shared_sigma", "evidence", "source"), "software")
        return Software(
            bytes_per_s={rates[key]: self._number(table, key, "software") for key in rates if key in table},
            shared_sigma=self._number(table, "shared_sigma", "software", most=2),
            evidence=self._word(table, "evidence", SOFTWARE_EVIDENCE, "software"),
            source=self._text(table, "source", "software"),
        )

    def _groups(self, table: Any, known: tuple[str, ...], where: str) -> dict[str, Coefficients]:
        if not isinstance(table, dict):
            self.findings.append(f"{where}: expected a table of {', '.join(known)}")
            return {}
        self._known_keys(table, known, where)
        return {key: self._coefficients(value, f"{where}.{key}") for key, value in table.items() if key in known}

    def _coefficients(self, table: Any, where: str) -> dict[str, float]:
        if not isinstance(table, dict):
            self.findings.append(f"{where}: expected a table such as {{ map_in = 1 }}, found {table!r}")
            return {}
        self._known_keys(table, VOLUMES, where)
        good: dict[str, float] = {}
        for volume, times in table.items():
            if isinstance(times, bool) or not isinstance(times, int | float) or not 0 < times <= 1000:
                self.findings.append(f"{where}.{volume}: {times!r} is not a number above 0 and at most 1000")
            else:
                good[volume] = float(times)
        return good

    def _number(self, table: Mapping[str, Any], key: str, where: str, *, most: float = 1e15) -> float:
        value = table.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
            self.findings.append(f"{where}.{key}: {value!r} is not a number from 0 to {most:g}")
            return 0.0
        return float(value)

    def _word(self, table: Mapping[str, Any], key: str, words: tuple[str, ...], where: str) -> str:
        value = table.get(key, words[0])
        if value not in words:
            self.findings.append(f"{where}: {key} {value!r} is not one of {', '.join(words)}")
        return str(value)

    def _flag(self, table: Mapping[str, Any], key: str, where: str) -> bool:
        value = table.get(key, True)
        if not isinstance(value, bool):
            self.findings.append(f"{where}.{key}: {value!r} is neither true nor false")
        return value is True

    def _text(self, table: Mapping[str, Any], key: str, where: str) -> str:
        value = table.get(key)
        if not isinstance(value, str) or not value.strip():
            self.findings.append(f"{where}: {key} is missing or not text")
            return ""
        return value

    def _known_keys(self, table: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
        for key in table:
            if key not in known:
                self.findings.append(
                    f"{where}: unknown key {key!r}; known are {', '.join(known)}.{nearest(key, known)}"
                )
