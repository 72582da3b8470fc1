"""What a cluster's run did, beside what its plan said."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from planner.clusters.runs.utilisation import DISKS, NETWORK, bottleneck, utilisation
from planner.cost_model import run_overheads
from planner.distributed_sort.dataset.dataset import dataset_of
from planner.planning.recommendation import require_best
from planner.schemas.plan import Candidate, PhaseEstimate, Plan
from planner.schemas.run_report import Check, PhaseComparison, RunReport, StagingComparison

_VERBS: Final = {"stage in": "read", "stage out": "write"}


def cluster_report(
    plan: Plan, *, machine: dict[str, Any], done: dict[str, Any], vcpus: float | None = None
) -> RunReport:
    """Return the report of a run whose driver answered `done`; `machine` is what was measured beforehand, `vcpus` the
    processors that all nodes share, where it is not each node that has those it offers.
    """
    best = require_best(plan)
    if vcpus is None:
        vcpus = sum(done["sort"]["cpus"].values())
    phases = tuple(_compared(phase, done["sort"], vcpus=vcpus) for phase in best.phases)
    places = {"stage in": plan.request.input or "", "stage out": done["manifest"].rpartition("/")[0]}
    staging = tuple(
        staging_comparison(best, name, place=places[name], measured_s=done["steps_s"][name], **moved)
        for name, moved in done["staged"].items()
    )
    return RunReport(
        plan=plan,
        machine=machine,
        steps_s=done["steps_s"],
        phases=phases,
        checks=tuple(_check(number, validation, done) for number, validation in enumerate(done["validations"])),
        sort=done["sort"],
        staging=staging,
        manifest=done["manifest"],
    )


def staging_comparison(
    planned: Candidate, name: str, *, place: str, measured_s: float, bytes: int, requests: int
) -> StagingComparison:
    """Set a step of staging beside its lines of the planned bill: machines by their seconds, requests by their number,
    traffic by its bytes, which are those of the plan.
    """
    lines = {line.name: line for line in planned.bill if line.name.partition(":")[0] == name}
    usd = {line_name: line.usd for line_name, line in lines.items()}
    predicted_s = planned.overheads_s.get(name)
    planned_requests = math.ceil(bytes / run_overheads.shipped().staging_request_bytes[_VERBS[name]])
    factors = {
        name: measured_s / predicted_s if predicted_s else math.nan,
        f"{name}: requests": requests / planned_requests if planned_requests else math.nan,
    }
    return StagingComparison(
        name=name,
        place=place,
        bytes=bytes,
        requests=requests,
        predicted_s=predicted_s,
        measured_s=measured_s,
        predicted_usd=_total(usd),
        measured_usd=_total(
            {line: None if amount is None else amount * factors.get(line, 1.0) for line, amount in usd.items()}
        ),
    )


def _total(usd: Mapping[str, float | None]) -> float | None:
    """Return the sum of a bill's lines; None where one of them, or all, are unknown."""
    amounts = [amount for amount in usd.values() if amount is not None and not math.isnan(amount)]
    return sum(amounts) if usd and len(amounts) == len(usd) else None


def _compared(phase: PhaseEstimate, sort: dict[str, Any], *, vcpus: float) -> PhaseComparison:
    disks = [use.bytes_per_s for name, use in phase.resources.items() if name.endswith(("_disks", "_volumes"))]
    rates = {DISKS: sum(disks)}
    if NETWORK in phase.resources:
        rates[NETWORK] = phase.resources[NETWORK].bytes_per_s
    stretches = [stretch for stretch in sort["timeline"] if stretch["phase"] == phase.name]
    shares = utilisation(sort["usage"], stretches, rates_bytes_per_s=rates, vcpus=vcpus)
    return PhaseComparison(
        name=phase.name,
        predicted_s=phase.time_s,
        measured_s=sort["phases_s"][phase.name],
        bottleneck=phase.bottleneck,
        measured_bottleneck=bottleneck(shares),
        utilisation=shares,
    )


def _check(number: int, validation: dict[str, Any], done: dict[str, Any]) -> Check:
    is_distinct = not (done["is_unique"] and validation["duplicates"])
    is_whole = (validation["records"], validation["checksum"]) == (done["records"], done["checksum"])
    return Check(
        path="output" if number == 0 else "replica",
        records=validation["records"],
        checksum=validation["checksum"],
        sorted=validation["sorted"],
        duplicates=validation["duplicates"],
        passed=validation["sorted"] and is_distinct and is_whole,
        unit=dataset_of(done["dataset"]).layout.counted,
    )
