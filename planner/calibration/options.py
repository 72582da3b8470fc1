"""Further columns of the runs (`line_length`, `iterations`, `variant`, ...) as coordinates.

A positive number enters as its logarithm, bent upwards; another number as its share of the largest, a text as equal or
not. A count that grows with the data (`lines`, `links`) carries information only per gigabyte. Two effects are expected
before any run shows one: more records in the same bytes are more work, and a narrower tolerance takes more iterations.
A query whose options differ from all runs gets a wider range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from planner.arrays import Floats
from planner.calibration.history import Cell, JobRow
from planner.calibration.machines import NodeSpec
from planner.calibration.physics import Workload
from planner.calibration.workloads import PHYSICAL_OPTIONS, workload
from planner.errors import BadInputError

_SAME: Final = 0.02
"""Relative difference below which a ratio counts as constant."""
_ALIKE: Final = 0.95
"""Correlation from which a column counts as following another."""
_MOST_NAMES: Final = 20
_MANY_PER_GB: Final = float(np.log(1e4))
RECORDS_SHARE: Final = 0.5
"""Exponent of records per GB before any run: half of the work scales with bytes, half with records
(benchmarks/sizing/README.md).
"""
_LEAST_SHARE: Final = 0.05
"""A column that stays below this is a tolerance or similar: as a share of the data it would output almost nothing."""

Scaling = Literal["logarithm", "share", "per gigabyte", "per gigabyte or not", "name"]


@dataclass(frozen=True, kw_only=True)
class Option:
    """One column: its scaling, the value in the middle of the runs (`centre`, in the coordinate) and the largest one
    (`scale`). It `varies` if the runs differ in more than its count per GB; the runs decide its effect if `learned`.
    """

    name: str
    kind: Scaling
    centre: float = 0.0
    scale: float = 1.0
    varies: bool = True
    is_constant: bool = False
    learned: bool = True

    def for_query(self, query: Sequence[JobRow]) -> Scaling:
        """Return how to read the column for a query: as texts if the query has one, since no number is near to a text,
        and as shares of the largest if it has a number without a logarithm.
        """
        values = [job.options.get(self.name, self.scale) for job in query]
        if self.kind == "name" or any(isinstance(value, str) for value in values):
            return "name"
        return "share" if any(isinstance(value, float | int) and value <= 0 for value in values) else self.kind

    def coordinates(self, jobs: Sequence[JobRow], names: Sequence[str]) -> Floats:
        """Return one column, or one per name in `names` for a text, shape (rows, columns); a blank cell counts as the
        middle of the runs.
        """
        if self.kind == "name":
            cells = [None if (value := job.options.get(self.name)) is None else str(value) for job in jobs]
            return np.array([[float(cell == name) for name in names] for cell in cells]).reshape(len(jobs), len(names))
        return np.array([[self._cell_number(job)] for job in jobs]).reshape(len(jobs), 1)

    @property
    def counts_records(self) -> bool:
        """True if the column's count per GB is so high that it can only count records of the data, in any unit."""
        return self.centre > _MANY_PER_GB

    @property
    def is_only_number(self) -> bool:
        """True if the count is the same for runs of different data, as a date is: it may not count records."""
        return self.counts_records and self.is_constant and self.kind == "logarithm"

    @property
    def is_tolerance(self) -> bool:
        """True if the column stays so near 0 that it can only be a tolerance or similar."""
        return self.kind in ("logarithm", "per gigabyte", "per gigabyte or not") and self.scale < _LEAST_SHARE

    def iterations(self, job: JobRow) -> float:
        """Return the ratio of a job's iterations to the runs', to reach the tolerance, as a logarithm; 0 if unknown.

        Linear convergence gains equally many digits per iteration, so that their number scales with log(1 / tolerance).
        """
        value = job.options.get(self.name)
        if not isinstance(value, float | int) or not 0 < value < 1:
            return 0.0
        return float(np.log(np.log(value) / np.log(self.scale)))

    def records(self, job: JobRow) -> float:
        """Return the ratio of a job's records per GB to the runs', as a logarithm; 0 if unknown."""
        value = job.options.get(self.name)
        if not isinstance(value, float | int) or value <= 0:
            return 0.0
        return float(np.log(value / job.data_gb)) - self.centre

    def _cell_number(self, job: JobRow) -> float:
        value = job.options.get(self.name)
        if not isinstance(value, float | int) or (value <= 0 and self.kind != "share"):
            return 0.0
        if self.kind == "share":
            return value / self.scale - self.centre
        plain, per_gb = np.log(value) - np.log(self.scale), np.log(value / job.data_gb) - self.centre
        readings = {"logarithm": plain, "per gigabyte": per_gb}
        return _bend(float(readings.get(self.kind, min(plain, per_gb, key=abs))))


@dataclass(frozen=True, kw_only=True)
class OptionSet:
    """The options learned from the runs, their columns that the physics reads, and excluded columns with the reason.

    `share` is the option that may give the output's share of the data: the first whose values lie between 0 and 1, not
    all near 0. `parameters` are numbers of the job's own, such as iterations.
    """

    options: tuple[Option, ...] = ()
    physical: tuple[str, ...] = ()
    ignored: dict[str, str]
    share: str | None = None
    parameters: frozenset[str] = frozenset()

    def encode(self, runs: Sequence[JobRow], query: Sequence[JobRow]) -> tuple[Floats, Floats]:
        """Return the coordinates of the runs and of the query, shapes (runs, k) and (query, k).

        Raises BadInputError if the query lacks a column in which the runs differ, or one that the physics reads.
        """
        if lacking := self.lacking(query):
            columns = f"column{'s' * (len(lacking) > 1)} {', '.join(lacking)}"
            raise BadInputError(
                f"query: missing {columns}, which the calibration runs depend on", code="missing-column"
            )
        blocks = []
        for option in self.learned:
            names = sorted({str(job.options[option.name]) for job in (*runs, *query) if option.name in job.options})
            blocks.append((option.coordinates(runs, names), option.coordinates(query, names)))
        empty = (np.zeros((len(runs), 0)), np.zeros((len(query), 0)))
        ours, theirs = zip(empty, *blocks, strict=True)
        return np.concatenate(ours, axis=1), np.concatenate(theirs, axis=1)

    @property
    def learned(self) -> tuple[Option, ...]:
        """The options whose effect the runs decide."""
        return tuple(option for option in self.options if option.learned)

    @property
    def doubtful(self) -> tuple[str, ...]:
        """The learned options that the runs can test: each may explain them no better than chance."""
        return tuple(option.name for option in self.learned if option.varies or option.is_only_number)

    def without(self, name: str) -> OptionSet:
        """Return the options without the effect of one that the runs show; the effect expected of it remains."""
        options = tuple(replace(option, learned=option.learned and option.name != name) for option in self.options)
        ignored = {} if self._is_expected_to_act(name) else {name: "leaving it out explains the runs as well"}
        return replace(self, options=options, ignored={**self.ignored, **ignored})

    def _is_expected_to_act(self, name: str) -> bool:
        named = (option for option in self.options if option.name == name)
        counted = ((option.counts_records and not option.is_only_number) or option.is_tolerance for option in named)
        return name == self.share or any(counted)

    def expected(self, jobs: Sequence[JobRow]) -> Floats:
        """Return the expected effect of the columns on log time before the runs show one, shape (rows,): that of the
        iterations that a tolerance takes, and that of the records `in_any_job`.
        """
        tolerances = [option for option in self.options if option.is_tolerance]
        iterations = np.array([float(sum(option.iterations(job) for option in tolerances)) for job in jobs])
        return iterations + self._records(jobs) if self.in_any_job else iterations

    @property
    def in_any_job(self) -> bool:
        """True if counts of records change the work of sorts, too: unless they vary in runs that differ in no other
        number, where the effect of the data is already known: a sort moves bytes, however many records they hold.
        """
        own = any(option.name in self.parameters for option in self.learned)
        return own or all(option.is_constant for option in self.options if option.counts_records)

    def _records(self, jobs: Sequence[JobRow]) -> Floats:
        """Return the effect of the record count that departs least from the runs', on log time."""
        counts = [option for option in self.options if option.counts_records]
        counts = [option for option in counts if option.learned or not option.is_only_number]
        least = [min((option.records(job) for option in counts), key=abs, default=0.0) for job in jobs]
        return RECORDS_SHARE * np.array(least)

    def unread(self, query: Sequence[JobRow]) -> dict[str, str]:
        """Return the columns of a query that have no effect, each with the reason."""
        read = {*self.physical, *(option.name for option in self.options)} - self.ignored.keys() | PHYSICAL_OPTIONS
        names = dict.fromkeys(name for job in query for name in job.options if name not in read)
        return {name: self.ignored.get(name, "no run has it") for name in names}

    def for_query(self, query: Sequence[JobRow]) -> dict[str, Scaling]:
        """Return the columns whose reading a query changes, with the new reading."""
        needed = {option: option.for_query(query) for option in self.learned}
        return {option.name: kind for option, kind in needed.items() if kind != option.kind}

    def lacking(self, query: Sequence[JobRow]) -> list[str]:
        """Return the columns that a query needs and lacks: without copies there is one."""
        physical = (name for name in self.physical if name != "replicas")
        needed = (*physical, *(option.name for option in self.learned if option.varies))
        return [name for name in needed if any(name not in job.options for job in query)]

    def are_alike(self, job: JobRow, run: JobRow) -> bool:
        """Return whether a job has the values of a run in all columns in which no runs differ, counts aside."""
        constant = (option.name for option in self.learned if not (option.varies or option.kind.startswith("per")))
        return all(job.options.get(name) == run.options.get(name) for name in constant)

    def answers_as(self, other: OptionSet, query: Sequence[JobRow]) -> bool:
        """Return whether a query has all columns that it needs, and whether counts of records act as in `other`."""
        return self.in_any_job == other.in_any_job and not self.lacking(query)

    def workload(self, jobs: Sequence[JobRow], machines: Mapping[str, NodeSpec]) -> Workload:
        """Return jobs as arrays of the physics, read with the options."""
        records = np.ones(len(jobs)) if self.in_any_job else np.exp(self._records(jobs))
        return workload(jobs, machines, share_option=self.share, records=records)


def _bend(log_ratio: float) -> float:
    """Return a coordinate with a slope that rises from 0.5 to 1.5, and is 1 at the middle of the runs.

    Iterations and the like add to a job's fixed work: a few change little, many dominate.
    """
    return log_ratio / 2 + float(np.logaddexp(0, log_ratio)) - float(np.log(2))


def learn_options(runs: Sequence[JobRow], *, slots: Sequence[float], read_as: Mapping[str, Scaling]) -> OptionSet:
    """Return the distinguishable options among the runs' further columns, without the physics' own columns.

    `read_as` overrides how some columns are read, for a query. `slots` are the cores of each run's cluster: a column
    that only repeats them or the node count is excluded.
    """
    names = list(dict.fromkeys(name for job in runs for name in job.options if name not in PHYSICAL_OPTIONS))
    ignored: dict[str, str] = {}
    options = [option for name in names if (option := _learn(name, runs, slots, read_as, ignored))]
    physical = sorted(PHYSICAL_OPTIONS & {name for job in runs for name in job.options})
    numbers = (option.name for option in options if option.kind != "name")
    share = next((name for name in numbers if _is_share([job.options[name] for job in runs])), None)
    counts = [_numbers(option.name, runs) for option in options if option.counts_records]
    varied = (option for option in options if option.varies and not option.counts_records)
    own = frozenset(option.name for option in varied if _is_parameter(option, runs, counts))
    return OptionSet(options=tuple(options), physical=tuple(physical), ignored=ignored, share=share, parameters=own)


def _numbers(name: str, runs: Sequence[JobRow]) -> Floats:
    return np.array([job.options[name] for job in runs], float)


def _is_parameter(option: Option, runs: Sequence[JobRow], counts: Sequence[Floats]) -> bool:
    """Return whether a varied column is a number of the job's own: neither the width of records nor one that rises or
    falls with the data or the nodes, which few runs cannot tell from these.
    """
    if option.kind == "name":
        return False
    numbers = _numbers(option.name, runs)
    nodes, data_gb = (np.array([getattr(job, key) for job in runs], float) for key in ("nodes", "data_gb"))
    follows = [other for other in (nodes, data_gb) if np.ptp(other) and abs(np.corrcoef(numbers, other)[0, 1]) > _ALIKE]
    return not follows and not any(_flat(numbers * count / data_gb) for count in counts)


def _is_share(values: Sequence[Cell]) -> bool:
    numbers = [value for value in values if isinstance(value, float | int)]
    shares = len(numbers) == len(values) and all(0 <= value <= 1 for value in numbers) and set(numbers) != {1}
    return shares and max(numbers) >= _LEAST_SHARE


def _learn(
    name: str, runs: Sequence[JobRow], slots: Sequence[float], read_as: Mapping[str, Scaling], ignored: dict[str, str]
) -> Option | None:
    values = [job.options.get(name) for job in runs]
    if None in values:
        ignored[name] = "blank in some runs"
        return None
    if read_as.get(name) == "name" or not all(isinstance(value, float | int) for value in values):
        return _learn_names(name, [str(value) for value in values], ignored)
    numbers = np.array(values, float)
    if _constant_ratio(numbers, [job.nodes for job in runs]) or _constant_ratio(numbers, slots):
        ignored[name] = "proportional to nodes or cores"
        return None
    if read_as.get(name) == "share" or (numbers <= 0).any():
        return _as_share(name, numbers)
    return _learn_number(name, numbers, np.array([job.data_gb for job in runs]))


def _learn_names(name: str, values: list[str], ignored: dict[str, str]) -> Option | None:
    distinct = len(set(values))
    if distinct > _MOST_NAMES or (distinct == len(values) and distinct > 3):
        ignored[name] = "a different text in every run" if distinct == len(values) else f"more than {_MOST_NAMES} texts"
        return None
    return Option(name=name, kind="name", varies=distinct > 1)


def _learn_number(name: str, numbers: Floats, data_gb: Floats) -> Option:
    constant, per_gb = _flat(numbers), _flat(numbers / data_gb)
    scaling: Scaling = "logarithm" if not per_gb else "per gigabyte or not" if constant else "per gigabyte"
    middle, per_gb_middle = float(np.log(numbers).mean()), float(np.log(numbers / data_gb).mean())
    return Option(
        name=name,
        kind=scaling,
        scale=np.exp(middle),
        centre=per_gb_middle,
        varies=not (constant or per_gb),
        is_constant=constant,
    )


def _as_share(name: str, numbers: Floats) -> Option:
    scale = float(np.abs(numbers).max()) or 1.0
    centre, varies = float((numbers / scale).mean()), bool(np.ptp(numbers) > 0)
    return Option(name=name, kind="share", scale=scale, centre=centre, varies=varies)


def _constant_ratio(numbers: Floats, to: Sequence[float]) -> bool:
    other = np.array(to, float)
    return len(set(to)) > 1 and bool((numbers > 0).all()) and _flat(numbers / other)


def _flat(values: Floats) -> bool:
    return bool(np.ptp(values) <= _SAME * values.mean())
