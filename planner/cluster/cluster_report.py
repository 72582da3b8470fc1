"""What a cluster's run on generated data did, beside what its plan said."""

from __future__ import annotations

from typing import Any

from planner.plan import Plan
from planner.recommendation import require_best
from planner.run_report import Check, PhaseComparison, RunReport


def cluster_report(plan: Plan, *, machine: dict[str, Any], records: int, done: dict[str, Any]) -> RunReport:
    """Return the report of a run whose driver answered `done`; `machine` is what was measured beforehand."""
    phases_s = done["sort"]["phases_s"]
    phases = tuple(
        PhaseComparison(
            name=phase.name, predicted_s=phase.time_s, measured_s=phases_s[phase.name], bottleneck=phase.bottleneck
        )
        for phase in require_best(plan).phases
    )
    checks = tuple(_check(number, found, records, done["checksum"]) for number, found in enumerate(done["found"]))
    return RunReport(
        plan=plan, machine=machine, steps_s=done["steps_s"], phases=phases, checks=checks, sort=done["sort"]
    )


def _check(number: int, found: dict[str, Any], records: int, checksum: str) -> Check:
    return Check(
        path="output" if number == 0 else "replica",
        records=found["records"],
        checksum=found["checksum"],
        sorted=found["sorted"],
        duplicates=found["duplicates"],
        passed=found["sorted"] and (found["records"], found["checksum"]) == (records, checksum),
    )
