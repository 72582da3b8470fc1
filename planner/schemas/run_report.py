"""Report of a run: predicted and measured values in separate fields, phase by phase."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from planner.schemas.door import checked
from planner.schemas.json_values import from_jsonable, read_versioned, to_jsonable, versioned
from planner.schemas.plan import BillLine, Plan


@dataclass(frozen=True, kw_only=True)
class PhaseComparison:
    """One phase: the plan's seconds, the clock's, and the bottleneck that the plan expected.

    On a cluster `utilisation` is the mean used share of each resource, as sampled each second, and
    `measured_bottleneck` the busiest of them; elsewhere neither is measured.
    """

    name: str
    predicted_s: float
    measured_s: float
    bottleneck: str
    measured_bottleneck: str | None = None
    utilisation: dict[str, float] = field(default_factory=dict)

    @property
    def error(self) -> float:
        """The prediction's error as a fraction of the measurement: 0.1 is 10% too long."""
        return self.predicted_s / self.measured_s - 1


@dataclass(frozen=True, kw_only=True)
class Check:
    """A validated file: its contents, and whether they are as expected. `unit` is the unit of `records`: records, lines
    or rows.
    """

    path: str
    records: int
    checksum: str
    sorted: bool
    duplicates: int
    passed: bool
    unit: str = "records"


@dataclass(frozen=True, kw_only=True)
class RunCost:
    """Cost of rented machines from launch to end at the price at launch: an estimate until the cloud's own bill
    arrives. `predicted_usd` is the total of the plan that was agreed to; `bill` has the lines of the cost.
    """

    node_hours: float
    usd: float
    predicted_usd: float
    bill: tuple[BillLine, ...] = ()


@dataclass(frozen=True, kw_only=True)
class StagingComparison:
    """Data brought from an object store (`stage in`), or taken there or to a folder (`stage out`): time and US dollars,
    machines and requests together, planned and actual. Unknown values are None.
    """

    name: str
    place: str
    bytes: int
    requests: int
    predicted_s: float | None
    measured_s: float
    predicted_usd: float | None
    measured_usd: float | None


@dataclass(frozen=True, kw_only=True)
class RunReport:
    """A whole run: its plan, the rates it was planned with, each step's seconds, phases compared, files checked.

    `steps_s` are the steps around the sort (measure, generate, validate); `sort` is the sort core's own report. On
    rented machines `first_plan` is the plan they were rented for, and `plan` was made with the rates measured on them.
    `manifest` is the URI or path of the list of output partitions, '' when they stayed on the nodes. `asked` are the
    words after `planner` that the user gave, none for a call from Python.
    """

    plan: Plan
    machine: dict[str, Any]
    steps_s: dict[str, float]
    phases: tuple[PhaseComparison, ...]
    checks: tuple[Check, ...]
    sort: dict[str, Any] = field(default_factory=dict)
    cost: RunCost | None = None
    first_plan: Plan | None = None
    staging: tuple[StagingComparison, ...] = ()
    manifest: str = ""
    asked: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """True if every file is sorted and holds the data that went in."""
        return all(check.passed for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-able values; phases include their error."""
        phases = [to_jsonable(phase) | {"error": phase.error} for phase in self.phases]
        return versioned(self) | {"phases": phases, "passed": self.passed}

    def to_json(self) -> str:
        """Return the report as one JSON object."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    @classmethod
    @checked
    def from_json(cls, text: str) -> RunReport:
        """Read the output of `to_json`; derived values (`error`, `passed`) are derived again.

        Raises BadInputError, naming the field, for anything else.
        """
        report: RunReport = from_jsonable(cls, read_versioned(text, what="run report"), where="run report")
        return report
