"""Reader of a cost model's TOML file: returns a `CostModel`, or reports all errors in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, Final

from planner.config.paths import engine_names, read_engine_file, read_model_file
from planner.cost_model.engine import IDEAL, RATES, Emulated, Engine, TaskCost, TaskSizes
from planner.cost_model.model import (
    CPU_WORK,
    GROUPS,
    MEDIA,
    MEDIA_OF,
    RECOVERY,
    REQUESTS,
    SOFTWARE_EVIDENCE,
    VOLUMES,
    Coefficients,
    CostModel,
    Phase,
    Software,
)
from planner.errors import BadInputError, nearest
from planner.schemas.request import FORMATS
from planner.units import count_text


def load_model(name: str) -> CostModel:
    """Return the model called `name`, or the one in the TOML file at that path.

    Raises BadInputError for an unknown name (with the nearest ones), and for all errors in the file together.
    """
    path, document = read_model_file(name)
    return parse_model(path.stem, document, where=str(path))


def parse_model(name: str, document: Mapping[str, Any], *, where: str) -> CostModel:
    """Build a model from its parsed TOML; `where` names the file in the error that lists all findings."""
    reader = _Reader(document)
    model = reader.model(name)
    if reader.findings:
        raise BadInputError(f"model {where}: {count_text(len(reader.findings), 'error')}", reader.findings)
    return model


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
        self._known_keys(table, ("name", "read", "write", "network", "replicate", "cpu", "one_stream", *seconds), where)
        return Phase(
            name=self._text(table, "name", where),
            read=self._groups(table.get("read", {}), GROUPS, f"{where} read"),
            write=self._groups(table.get("write", {}), GROUPS, f"{where} write"),
            network=self._coefficients(table.get("network", {}), f"{where} network"),
            cpu=self._groups(table.get("cpu", {}), CPU_WORK, f"{where} cpu"),
            replicate=self._coefficients(table.get("replicate", {}), f"{where} replicate"),
            one_stream=self._coefficients(table.get("one_stream", {}), f"{where} one_stream"),
            **{key: self._number(table, key, where, most=1e6) for key in seconds if key in table},
        )

    def _storage(self) -> dict[str, str]:
        table = self.document.get("storage", {})
        for group in GROUPS:
            if table.get(group) not in MEDIA_OF[group]:
                media = ", ".join(MEDIA_OF[group])
                self.findings.append(f"storage.{group}: {table.get(group)!r} is not one of {media}")
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
        rates = {f"{work}_bytes_per_s_per_vcpu": work for work in CPU_WORK} | {"one_stream_bytes_per_s": "one_stream"}
        self._known_keys(table, (*rates, "shared_sigma", "evidence", "source"), "software")
        return Software(
            bytes_per_s={rates[key]: self._number(table, key, "software") for key in rates if key in table},
            shared_sigma=self._number(table, "shared_sigma", "software", most=2),
            evidence=self._word(table, "evidence", SOFTWARE_EVIDENCE, "software"),
            source=self._text(table, "source", "software"),
        )

    def _groups(self, table: Any, names: tuple[str, ...], where: str) -> dict[str, Coefficients]:
        if not isinstance(table, dict):
            self.findings.append(f"{where}: expected a table of {', '.join(names)}")
            return {}
        self._known_keys(table, names, where)
        return {key: self._coefficients(value, f"{where}.{key}") for key, value in table.items() if key in names}

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

    def _known_keys(self, table: Mapping[str, Any], names: tuple[str, ...], where: str) -> None:
        for key in table:
            if key not in names:
                self.findings.append(
                    f"{where}: unknown key {key!r}; known are {', '.join(names)}.{nearest(key, names)}"
                )


_CODING: Final = ("decode_s_per_byte", "encode_s_per_byte")
_TABLES: Final = ("cpu_s_per_byte", *_CODING, "tasks", "sizes", "busy", "emulated")
_FLAGS: Final = ("in_memory", "one_machine")
_TEXTS: Final = ("title", "source", "evidence")
_NUMBERS: Final = (
    "send_s_per_byte",
    "copy_s_per_byte",
    "memory_node_bytes",
    "memory_task_bytes",
    "tasks_per_vcpu",
    "shared_sigma",
    "measured_nodes",
    "start_s",
    "start_per_node_s",
    "barrier_per_node_s",
)


def engine_choices() -> tuple[str, ...]:
    """Return the names that `--engine` accepts, the papers' first."""
    return (IDEAL.name, *engine_names())


def load_engine(name: str) -> Engine:
    """Return the engine called `name`, or the one in the TOML file at that path.

    Raises BadInputError for an unknown name (with the nearest ones), and for all errors in the file together.
    """
    if name == IDEAL.name:
        return IDEAL
    path, document = read_engine_file(name)
    return parse_engine(path.stem, document, where=str(path))


def parse_engine(name: str, document: Mapping[str, Any], *, where: str) -> Engine:
    """Build an engine from its parsed TOML; `where` names the file in the error that lists all findings."""
    findings = list(_unknown(document, (*_TEXTS, *_NUMBERS, *_FLAGS, *_TABLES), "the engine"))
    given: dict[str, Any] = {key: _engine_number(document, key, findings) for key in _NUMBERS if key in document}
    given |= {key: _flag(document, key, findings) for key in _FLAGS if key in document}
    rates = {work: _engine_number(document.get("cpu_s_per_byte", {}), work, findings) for work in RATES}
    for key in _CODING:
        findings += _unknown(document.get(key, {}), FORMATS, key)
        given[key] = {form: _engine_number(document[key], form, findings) for form in document.get(key, {})}
    tasks = {work: _record(TaskCost, document["tasks"].get(work, {}), findings) for work in document.get("tasks", {})}
    sizes = _record(TaskSizes, document["sizes"], findings) if "sizes" in document else None
    if "emulated" in document:
        given["emulated"] = _record(Emulated, document["emulated"], findings)
    busy = {
        name: {work: _engine_number(shares, work, findings) for work in shares}
        for name, shares in document.get("busy", {}).items()
    }
    findings += [f"{key}: missing" for key in ("title", "source", "cpu_s_per_byte") if key not in document]
    if sizes is not None and set(tasks) != set(RATES):
        findings.append(f"tasks: what has sizes needs the costs of {' and '.join(RATES)}")
    if given["decode_s_per_byte"].keys() != given["encode_s_per_byte"].keys():
        findings.append("decode_s_per_byte and encode_s_per_byte: both need the same formats")
    if findings:
        raise BadInputError(f"engine {where}: {count_text(len(findings), 'error')}", findings)
    texts: dict[str, Any] = {key: str(document[key]) for key in _TEXTS if key in document}
    return Engine(name=name, cpu_s_per_byte=rates, busy=busy, tasks=tasks, sizes=sizes, **texts, **given)


def _record(record: type, table: Mapping[str, Any], findings: list[str]) -> Any:
    """Return a record of numeric fields from a table of them."""
    needed = [field.name for field in fields(record) if field.default is MISSING]
    findings += [f"{name}: missing" for name in needed if name not in table]
    findings += _unknown(table, [field.name for field in fields(record)], record.__name__)
    numbers = {
        field.name: _engine_number(table, field.name, findings) for field in fields(record) if field.name in table
    }
    return record(**dict.fromkeys(needed, 0.0) | numbers)


def _engine_number(table: Mapping[str, Any], key: str, findings: list[str]) -> float:
    value = table.get(key, 0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1e15:
        findings.append(f"{key}: {value!r} is not a number from 0 to 1e15")
        return 0.0
    return float(value)


def _flag(table: Mapping[str, Any], key: str, findings: list[str]) -> bool:
    if not isinstance(table[key], bool):
        findings.append(f"{key}: {table[key]!r} is neither true nor false")
    return table[key] is True


def _unknown(table: Mapping[str, Any], names: Any, where: str) -> list[str]:
    names = tuple(names)
    return [
        f"{where}: unknown key {key!r}; known are {', '.join(names)}.{nearest(key, names)}"
        for key in table
        if key not in names
    ]
