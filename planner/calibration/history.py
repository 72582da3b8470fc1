"""Checks of user-supplied runs and queries: each row becomes a `JobRow`, and all errors in a table are reported
together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final, TypeAlias

from planner.errors import BadInputError
from planner.units import count_text

Cell: TypeAlias = str | float
Records: TypeAlias = Iterable[Mapping[str, Any]] | Any
"""Rows as dicts, or anything with `to_dict("records")` such as a pandas DataFrame."""

_ALIASES: Final = {"type": "instance_type", "n": "nodes"}
_REQUIRED: Final = ("instance_type", "nodes", "data_gb")
_MOST_REPORTED: Final = 20


@dataclass(frozen=True, kw_only=True)
class ObservedMemory:
    """Observed memory use of a run; None is unknown. The fields are columns of a table of runs.

    `cached_gb` is the most data kept at one time, in memory and on disks, `task_memory_gb` the memory that one task
    needs to avoid spilling, and `usable_gb` the whole cluster's memory for both.
    """

    cached_gb: float | None = None
    task_memory_gb: float | None = None
    usable_gb: float | None = None

    def to_dict(self) -> dict[str, float]:
        """Return the known values."""
        return {name: gb for name, gb in asdict(self).items() if gb is not None}


MEMORY_COLUMNS: Final = tuple(field.name for field in fields(ObservedMemory))


@dataclass(frozen=True, kw_only=True)
class JobRow:
    """A run, or a job to predict (`runtime_s` None): machine type, nodes, GB, observed memory, and further columns as
    text or number.
    """

    instance_type: str
    nodes: int
    data_gb: float
    runtime_s: float | None = None
    options: Mapping[str, Cell] = field(default_factory=dict)
    memory: ObservedMemory = ObservedMemory()

    def to_dict(self) -> dict[str, Cell]:
        """Return the row as a flat dict, without `runtime_s` if there is none."""
        time = {} if self.runtime_s is None else {"runtime_s": self.runtime_s}
        return {
            "instance_type": self.instance_type,
            "nodes": self.nodes,
            "data_gb": self.data_gb,
            **time,
            **self.memory.to_dict(),
            **self.options,
        }


def records(table: Records) -> list[dict[str, Any]]:
    """Return a table's rows as dicts with text keys. Raises BadInputError for anything else."""
    rows = table.to_dict("records") if hasattr(table, "to_dict") and not isinstance(table, Mapping) else table
    if isinstance(rows, Mapping | str) or not isinstance(rows, Iterable):
        raise BadInputError(
            "expected a DataFrame, such as pandas.read_csv('runs.csv'), or a list of dicts", code="wrong-type"
        )
    rows = list(rows)
    if not all(isinstance(row, Mapping) for row in rows):
        raise BadInputError("expected every run to be a dict of column name to value", code="wrong-type")
    return [{str(key): value for key, value in row.items()} for row in rows]


def parse_jobs(table: Records, *, what: str, timed: bool) -> tuple[JobRow, ...]:
    """Return the rows of a table as jobs; `timed` ones must have `runtime_s`, from others it is dropped.

    Columns are `instance_type` (or `type`), `nodes` (or `n`), `data_gb`, `runtime_s`, those of `ObservedMemory` and any
    others. Raises one BadInputError that lists every missing column, and every cell that is blank, NaN, not a number or
    not positive, by row (the first data row is 1) and column.
    """
    rows = [{_ALIASES.get(key, key): value for key, value in row.items()} for row in records(table)]
    needed = (*_REQUIRED, "runtime_s") if timed else _REQUIRED
    problems: list[str] = []
    missing = [name for name in needed if any(name not in row for row in rows)]
    if missing:
        have = ", ".join(rows[0]) or "none"
        raise BadInputError(
            f"{what}: missing column{'s' * (len(missing) > 1)} {', '.join(missing)}; it has {have}",
            code="missing-column",
        )
    jobs = tuple(_job(row, number, problems, timed=timed) for number, row in enumerate(rows, start=1))
    if problems:
        more = [f"and {len(problems) - _MOST_REPORTED} more"] * (len(problems) > _MOST_REPORTED)
        raise BadInputError(
            f"{what}: {count_text(len(problems), 'bad cell')}", [*problems[:_MOST_REPORTED], *more], code="bad-cell"
        )
    return jobs


def _job(row: Mapping[str, Any], number: int, problems: list[str], *, timed: bool) -> JobRow:
    place = f"row {number}"
    instance_type = row["instance_type"]
    if not isinstance(instance_type, str) or not instance_type.strip():
        problems.append(f"{place}, column instance_type: {instance_type!r} is not the name of a machine type")
    nodes = _positive(row["nodes"], f"{place}, column nodes", problems)
    if nodes != round(nodes):
        problems.append(f"{place}, column nodes: {nodes:g} is not a whole number")
    return JobRow(
        instance_type=str(instance_type).strip(),
        nodes=max(1, round(nodes)),
        data_gb=_positive(row["data_gb"], f"{place}, column data_gb", problems),
        runtime_s=_positive(row["runtime_s"], f"{place}, column runtime_s", problems) if timed else None,
        options={
            key: cell
            for key, value in row.items()
            if key not in (*_REQUIRED, "runtime_s", *MEMORY_COLUMNS) and (cell := _cell(value)) != ""
        },
        memory=ObservedMemory(
            **{name: _amount(row.get(name), f"{place}, column {name}", problems) for name in MEMORY_COLUMNS}
        ),
    )


def _amount(value: Any, place: str, problems: list[str]) -> float | None:
    """Return a finite number from 0; None for a blank cell, or after adding an error to `problems`."""
    number = as_number(value)
    if _cell(value) == "" or (number is not None and 0 <= number < math.inf):
        return number if _cell(value) != "" else None
    problems.append(f"{place}: {value!r} must be a number from 0, or blank where it is unknown")
    return None


def _positive(value: Any, place: str, problems: list[str]) -> float:
    """Return a positive finite number, or 1 after adding an error to `problems`."""
    number = as_number(value)
    if number is not None and 0 < number < math.inf:
        return number
    problems.append(f"{place}: {value!r} must be a number above 0")
    return 1.0


def as_number(value: Any) -> float | None:
    """Return a cell as a float, including NaN and infinity, or None if it is blank or not a number."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _cell(value: Any) -> Cell:
    """Return an optional cell as number or text; blank for None, NaN and infinity."""
    if isinstance(value, bool):
        return str(value)
    number = as_number(value)
    if number is not None:
        return number if math.isfinite(number) else ""
    return "" if value is None else str(value).strip()


def describe(jobs: Sequence[JobRow]) -> str:
    """Return a summary of the jobs' ranges: '12 runs on c4.2xlarge, 2-12 nodes, 9.6-19 GB'."""
    if not jobs:
        return "no runs"
    types = ", ".join(dict.fromkeys(job.instance_type for job in jobs))
    nodes, sizes = [job.nodes for job in jobs], [job.data_gb for job in jobs]
    count = count_text(len(jobs), "run")
    return f"{count} on {types}, {_span(min(nodes), max(nodes))} nodes, {_span(min(sizes), max(sizes))} GB"


def _span(low: float, high: float) -> str:
    return f"{low:.4g}" if low == high else f"{low:.4g}-{high:.4g}"
