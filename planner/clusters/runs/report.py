"""The report of a cluster's run: measured next to planned."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from planner.cost_model import run_overheads
from planner.distributed_sort.dataset.dataset import Layout, dataset_of
from planner.errors import BadInputError
from planner.planning.recommendation import require_best
from planner.schemas.plan import Candidate, PhaseEstimate, Plan
from planner.schemas.run_report import Check, PhaseComparison, RunReport, StagingComparison
from planner.units import format_exact_size

_VERBS: Final = {"stage in": "read", "stage out": "write"}


def cluster_report(
    plan: Plan, *, machine: dict[str, Any], done: dict[str, Any], vcpus: float | None = None
) -> RunReport:
    """Return the report of a run whose driver answered `done`; `machine` has the measurements made before, `vcpus` the
    processors that all nodes share, if not each node has its own.
    """
    best = require_best(plan)
    if vcpus is None:
        vcpus = sum(done["sort"]["cpus"].values())
    phases = tuple(_compare_phase(phase, done["sort"], vcpus=vcpus) for phase in best.phases)
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
    """Compare a step of staging with its lines of the planned bill: machines by their seconds, requests by their
    number, traffic by its bytes, which are those of the plan.
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
    """Return the sum of a bill's lines; None if there are none or any is unknown."""
    amounts = [amount for amount in usd.values() if amount is not None and not math.isnan(amount)]
    return sum(amounts) if usd and len(amounts) == len(usd) else None


def _compare_phase(phase: PhaseEstimate, sort: dict[str, Any], *, vcpus: float) -> PhaseComparison:
    disks = [use.bytes_per_s for name, use in phase.resources.items() if name.endswith(("_disks", "volumes"))]
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
        unit=dataset_of(done["dataset"]).layout.counted_unit,
    )


CPU: Final = "cpu"
NETWORK: Final = "network"
DISKS: Final = "disks"

Samples = Mapping[str, Sequence[Mapping[str, float]]]
"""Samples by node, in order of `at_s`; each holds the means since the one before."""


def utilisation(
    samples: Samples, stretches: Sequence[Mapping[str, Any]], *, rates_bytes_per_s: Mapping[str, float], vcpus: float
) -> dict[str, float]:
    """Return the used share of each resource, over all nodes, during a phase's `stretches` (`start_s` and `end_s` of
    each): 1 is all of it.

    `rates_bytes_per_s` are a node's rates of NETWORK and DISKS, `vcpus` the number of all nodes together. The network
    counts in its busier direction; disks by the sum of reads and writes. A resource without a known rate is left out;
    without samples the result is empty. SoCC 2015, Figure 11 reads the bottleneck off such samples.
    """
    inside = [
        sample
        for of_node in samples.values()
        for sample in of_node
        if any(stretch["start_s"] < sample["at_s"] <= stretch["end_s"] for stretch in stretches)
    ]
    if not inside:
        return {}

    def mean(name: str) -> float:
        return sum(sample[name] for sample in inside) / len(inside)

    cpu_share = {CPU: mean("cpu_cores") * len(samples) / vcpus} if vcpus > 0 else {}
    moved = {
        NETWORK: max(mean("network_in_bytes_per_s"), mean("network_out_bytes_per_s")),
        DISKS: mean("disk_read_bytes_per_s") + mean("disk_write_bytes_per_s"),
    }
    return cpu_share | {name: moved[name] / rate for name, rate in rates_bytes_per_s.items() if rate > 0}


def bottleneck(shares: Mapping[str, float]) -> str | None:
    """Return the busiest resource; None without shares."""
    return max(shares, key=lambda name: shares[name]) if shares else None


_RECORD_BYTES: Final = Layout().record_size


def record_count(data_bytes: int) -> int:
    """Return the records in `data_bytes` of the sort benchmark's data. Raises BadInputError for half a record."""
    if data_bytes % _RECORD_BYTES:
        size = format_exact_size(data_bytes)
        raise BadInputError(
            f"--data {size} is not a whole number of {_RECORD_BYTES}-byte records", code="partial-records"
        )
    return data_bytes // _RECORD_BYTES
