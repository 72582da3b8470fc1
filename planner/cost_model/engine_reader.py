"""From the TOML file of an engine to an `Engine`, or to everything that is wrong with the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, Final

from planner.config.paths import engine_names, read_engine_file
from planner.cost_model.engine import IDEAL, RATES, Emulated, Engine, TaskCost, TaskSizes
from planner.errors import BadInputError, nearest

_TABLES: Final = ("cpu_s_per_byte", "tasks", "sizes", "busy", "emulated")
_FLAGS: Final = ("in_memory", "one_machine")
_TEXTS: Final = ("title", "source", "evidence")
_NUMBERS: Final = ("send_s_per_byte", "copy_s_per_byte", "memory_node_bytes", "memory_task_bytes", "shared_sigma")


def engine_choices() -> tuple[str, ...]:
    """Return the names that `--engine` takes, the papers' first."""
    return (IDEAL.name, *engine_names())


def load_engine(name: str) -> Engine:
    """Return the engine called `name`, or the one in the TOML file at that path.

    Raises BadInputError for an unknown name (with the nearest ones) and, all together, for everything wrong in the
    file.
    """
    if name == IDEAL.name:
        return IDEAL
    path, document = read_engine_file(name)
    return parse_engine(path.stem, document, where=str(path))


def parse_engine(name: str, document: Mapping[str, Any], *, where: str) -> Engine:
    """Build an engine from its parsed TOML; `where` names the file in the error that lists all findings."""
    findings = list(_unknown(document, (*_TEXTS, *_NUMBERS, *_FLAGS, *_TABLES), "the engine"))
    given: dict[str, Any] = {key: _number(document, key, findings) for key in _NUMBERS if key in document}
    given |= {key: _flag(document, key, findings) for key in _FLAGS if key in document}
    rates = {work: _number(document.get("cpu_s_per_byte", {}), work, findings) for work in RATES}
    tasks = {work: _record(TaskCost, document["tasks"].get(work, {}), findings) for work in document.get("tasks", {})}
    sizes = _record(TaskSizes, document["sizes"], findings) if "sizes" in document else None
    if "emulated" in document:
        given["emulated"] = _record(Emulated, document["emulated"], findings)
    busy = {
        name: {work: _number(shares, work, findings) for work in shares}
        for name, shares in document.get("busy", {}).items()
    }
    findings += [f"{key}: missing" for key in ("title", "source", "cpu_s_per_byte") if key not in document]
    if sizes is not None and set(tasks) != set(RATES):
        findings.append(f"tasks: what has sizes needs the costs of {' and '.join(RATES)}")
    if findings:
        raise BadInputError(f"engine {where}: {len(findings)} errors", findings)
    texts: dict[str, Any] = {key: str(document[key]) for key in _TEXTS if key in document}
    return Engine(name=name, cpu_s_per_byte=rates, busy=busy, tasks=tasks, sizes=sizes, **texts, **given)


def _record(record: type, table: Mapping[str, Any], findings: list[str]) -> Any:
    """Return a record whose fields are all numbers from a table of them."""
    needed = [field.name for field in fields(record) if field.default is MISSING]
    findings += [f"{name}: missing" for name in needed if name not in table]
    findings += _unknown(table, [field.name for field in fields(record)], record.__name__)
    numbers = {field.name: _number(table, field.name, findings) for field in fields(record) if field.name in table}
    return record(**dict.fromkeys(needed, 0.0) | numbers)


def _number(table: Mapping[str, Any], key: str, findings: list[str]) -> float:
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
