"""The whole bill of one cluster, line by line, and its total, to which budgets apply."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from planner.cost_model.duration import PlannedSpares
from planner.cost_model.prices import (
    Charge,
    Reservations,
    billed_s,
    capacity_usd_per_hour,
    charges,
    dearer_usd_per_hour,
    doubtful_usd,
    known_usd,
    partly_unknown,
    request_usd,
)
from planner.cost_model.unknowns import ASSUMED_CHARGE, ASSUMED_TRAFFIC
from planner.cost_model.workload import JobContext
from planner.schemas.plan import BillLine, Candidate, Cost, Range
from planner.units import format_usd


@dataclass(frozen=True, kw_only=True)
class Hourly:
    """USD per hour of the `nodes` at work with their storage (`job`), and of all paid nodes (`all_paid`); spares are
    paid for `spare_s` seconds, as billed, and never longer than the rest.
    """

    job: float
    all_paid: float
    spare_s: float
    nodes: int

    @classmethod
    def of(
        cls,
        context: JobContext,
        *,
        nodes: int,
        spares: PlannedSpares,
        price_usd_per_hour: float,
        reservations: Reservations | None,
    ) -> Hourly:
        """Return the rates of a cluster; the nodes at work use a reservation before the spares."""
        count = np.array([float(nodes)])
        paid = count + spares.count
        capacity = float(capacity_usd_per_hour(context, count)[0, 0])
        job, all_paid = (float(number[0]) * price_usd_per_hour + capacity for number in (count, paid))
        if reservations is None:
            return cls(job=job, all_paid=all_paid, spare_s=spares.paid_s, nodes=nodes)
        beyond = (reservations.excess_usd_per_hour(context.layouts.type_row, number)[0, 0] for number in (count, paid))
        more_job, more_whole = beyond
        job, all_paid = job + float(more_job), all_paid + float(more_whole)
        return cls(job=job, all_paid=all_paid, spare_s=spares.paid_s, nodes=nodes)

    def usd(self, seconds: float) -> float:
        """Return the cost of a run of `seconds`."""
        return self.job * seconds / 3600 + self.spares_usd(seconds)

    def spares_usd(self, seconds: float) -> float:
        """Return the cost of its spares."""
        return (self.all_paid - self.job) * min(seconds, self.spare_s) / 3600


def cost(context: JobContext, hourly: Hourly, time_s: Range, *, overheads_s: float, late_s: float) -> Cost:
    """Convert times to dollars; the whole run, not the job, pays for spares, charges and the steps around the job.

    At the 95th percentile of the job's time the boot takes `late_s` longer than expected, too.
    """
    requests, charged = request_usd(context), charges(context, nodes=hourly.nodes)
    further = requests + math.fsum(np.nan_to_num(charge.usd[0]) for charge in charged)
    per_s = hourly.job / 3600

    def total(job_s: float, *, late_s: float = 0.0, dearer: float = 0.0) -> float:
        billed = float(billed_s(np.array([job_s + overheads_s + late_s]), context)[0])
        return replace(hourly, spare_s=hourly.spare_s + late_s).usd(billed) + dearer * billed / 3600 + further

    dearer = float(dearer_usd_per_hour(context, np.array([float(hourly.nodes)]))[0, 0])

    return Cost(
        equation=per_s * time_s.equation + requests,
        expected=per_s * time_s.expected + requests,
        p50=per_s * time_s.p50 + requests,
        p95=per_s * time_s.p95 + requests,
        total=total(time_s.expected),
        total_p95=total(time_s.p95, late_s=late_s, dearer=dearer) + float(doubtful_usd(context)[0]),
        requests=requests,
        charges=requests + float(known_usd(context)[0]),
        unknown=tuple(charge.name for charge in charged if np.isnan(charge.usd[0])),
        at_least=bool(partly_unknown(context)[0]),
    )


def bill(
    context: JobContext,
    hourly: Hourly,
    *,
    job_s: float,
    overheads_s: Mapping[str, float],
    notes: Mapping[str, str] | None = None,
) -> tuple[BillLine, ...]:
    """Return the lines whose known amounts add up to `cost_usd.total`; `notes` belong to steps, by their names."""
    steps = {"job": job_s, **overheads_s}
    seconds = sum(steps.values())
    billed = float(billed_s(np.array([seconds]), context)[0])
    basis = {"boot": context.overheads.boot_note, **(notes or {})}
    lines = [
        BillLine(name=name, time_s=step_s, usd=hourly.job * step_s / 3600, note=basis.get(name, ""))
        for name, step_s in steps.items()
    ]
    rounding = hourly.usd(billed) - hourly.usd(seconds)
    rest = {"spares": hourly.spares_usd(seconds), "rounding": rounding, "requests": request_usd(context)}
    lines += [BillLine(name=name, time_s=None, usd=usd) for name, usd in rest.items() if usd > 0]
    return (*lines, *(_line(charge) for charge in charges(context, nodes=hourly.nodes)))


def retimed(candidate: Candidate, *, job_s: float) -> tuple[BillLine, ...]:
    """Return a candidate's bill for a job that takes `job_s` instead, prorated: the cloud's rounding is left out."""
    old_s = candidate.time_s.expected
    return tuple(
        replace(line, time_s=job_s, usd=line.usd * job_s / old_s)
        if line.name == "job" and line.usd is not None and old_s
        else line
        for line in candidate.bill
        if line.name != "rounding"
    )


def unpriced(context: JobContext) -> Iterator[str]:
    """Yield notes on charges missing from the bill, and on those with unverified prices."""
    for charge in charges(context):
        if np.isnan(charge.usd[0]):
            yield f"{charge.name}: the price is unknown and not in the bill ({charge.basis})"
        elif charge.high_usd is not None and charge.evidence == "assumed":
            middle, high = (format_usd(float(usd[0])) for usd in (charge.usd, charge.high_usd))
            basis = ASSUMED_TRAFFIC if charge.basis.endswith(ASSUMED_TRAFFIC) else ASSUMED_CHARGE
            yield f"{charge.name}: {basis}: {middle}, at most {high}"
        elif charge.evidence == "recalled" and charge.usd[0] > 0:
            yield f"{charge.name}: the price is recalled, not verified against a source"
    for step, place in (("stage in", context.staging.source), ("stage out", context.staging.sink)):
        if place and place != context.catalog.cloud:
            way = (place, context.catalog.cloud) if step == "stage in" else (context.catalog.cloud, place)
            between = f"{way[0]} to {way[1]}"
            yield f"{step}: how fast data gets from {between} is unknown: assumed the machines' network, at most"
        elif place:
            region = context.staging.source_region if step == "stage in" else context.staging.sink_region
            if not region:
                yield f"{step}: the object store is taken to be in the cluster's region"


def _line(charge: Charge) -> BillLine:
    usd = float(charge.usd[0])
    return BillLine(name=charge.name, time_s=None, usd=None if np.isnan(usd) else usd, note=charge.basis)
