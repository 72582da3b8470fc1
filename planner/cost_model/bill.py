"""The bills of clusters: their totals, to which budgets apply, and for one of them line by line."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce

import numpy as np

from planner.arrays import Flags, Floats
from planner.cost_model.evidence import ASSUMED_CHARGE, ASSUMED_TRAFFIC
from planner.cost_model.prices import (
    Charge,
    Offer,
    billed_s,
    capacity_usd_per_hour,
    charges,
    copies_usd,
    dearer_usd_per_hour,
    doubtful_usd,
    known_usd,
    partly_unknown,
    request_usd,
    spares_paid_s,
)
from planner.cost_model.staging import late_staging_s, place_link
from planner.cost_model.workload import JobContext
from planner.schemas.plan import ADDRESS_LINE, HEAD_LINE, ROOTS_LINE, BillLine, Cost, Range
from planner.units import format_rate, format_usd


@dataclass(frozen=True, kw_only=True, eq=False)
class Hourly:
    """USD per hour of the nodes at work with their storage (`job`), and of all paid nodes (`all_paid`), both (R, N) for
    R layouts by N sizes; spares are paid for `spare_s` seconds (N,), as billed, and never longer than the rest.
    """

    job: Floats
    all_paid: Floats
    spare_s: Floats

    @classmethod
    def of(cls, context: JobContext, offer: Offer, *, nodes: Floats, spares: Floats) -> Hourly:
        """Return the rates of clusters of `nodes` and `spares`, (N,) of every layout or (R, 1); the nodes at work use a
        reservation before the spares.
        """
        type_rows, paid = context.layouts.type_row, nodes + spares
        price, capacity = offer.price_usd_per_hour[type_rows, None], capacity_usd_per_hour(context, nodes)
        job, all_paid = (count * price + capacity for count in (nodes, paid))
        if offer.reservations is not None:
            excess = offer.reservations.excess_usd_per_hour
            job, all_paid = job + excess(type_rows, nodes), all_paid + excess(type_rows, paid)
        return cls(job=job, all_paid=all_paid, spare_s=spares_paid_s(context, nodes))

    def plus(self, other: Hourly) -> Hourly:
        """Return the sum of both; what is unknown of the other adds nothing."""
        job, all_paid = (
            own + np.nan_to_num(more) for own, more in ((self.job, other.job), (self.all_paid, other.all_paid))
        )
        return replace(self, job=job, all_paid=all_paid)

    def usd(self, seconds: Floats) -> Floats:
        """Return the cost of runs of `seconds` (R, N)."""
        return self.job * seconds / 3600 + self.spares_usd(seconds)

    def spares_usd(self, seconds: Floats) -> Floats:
        """Return the cost of their spares."""
        return (self.all_paid - self.job) * np.minimum(seconds, self.spare_s) / 3600


def beside_usd_per_hour(context: JobContext, offer: Offer, *, nodes: Floats, spares: Floats) -> dict[str, Hourly]:
    """Return what a launch pays for beside its machines' price and the data's storage, by the bill's name of it: a head
    on demand among spot nodes, a root volume for each machine, and the head's public address. NaN where unknown.
    """
    found: dict[str, tuple[Floats | float, Floats | float]] = {}
    if context.paper:
        return {}
    if offer.head_usd_per_hour is not None:
        more = (offer.head_usd_per_hour - offer.price_usd_per_hour)[context.layouts.type_row, None]
        found[HEAD_LINE] = more, more
    if launched := context.catalog.manifest.launched:
        root_usd, address_usd = launched.usd_per_hour(context.catalog.manifest.hours_per_month)
        found[ROOTS_LINE] = nodes * root_usd, (nodes + spares) * root_usd
        found[ADDRESS_LINE] = address_usd, address_usd
    spare_s = spares_paid_s(context, nodes)
    shape = (len(context.layouts.type_row), nodes.shape[-1])
    arrays = {name: [np.broadcast_to(np.asarray(usd, float), shape) for usd in pair] for name, pair in found.items()}
    return {name: Hourly(job=job, all_paid=paid, spare_s=spare_s) for name, (job, paid) in arrays.items()}


def lower_bounds(context: JobContext, beside: Mapping[str, Hourly]) -> Flags:
    """Return the layouts (R,) whose bills have a part without a known price, so that they are lower bounds."""
    unknown = (np.isnan(part.job[:, 0]) for part in beside.values())
    return np.asarray(sum(unknown, start=partly_unknown(context)), bool)


@dataclass(frozen=True, kw_only=True, eq=False)
class Bills:
    """The bills of clusters of `nodes`, (N,) of every layout or (R, 1), whose runs take `around_s` (R, N) beside their
    jobs: the whole run, not the job, pays for spares, charges and the steps around the job. `hourly` is the machines'
    price, `beside` what a launch pays for in addition, `whole` their sum. At the 95th percentile of the job's time the
    boot takes `late_s` longer than expected, too, and staging over links between places `late_staging_s`, and machines
    cost the `dearest` that they may.
    """

    context: JobContext
    nodes: Floats
    hourly: Hourly
    beside: Mapping[str, Hourly] = field(default_factory=dict)
    dearest: Hourly
    around_s: Floats
    late_s: Floats
    late_staging_s: Floats = field(default_factory=lambda: np.zeros((1, 1)))

    @classmethod
    def of(cls, context: JobContext, offer: Offer, *, nodes: Floats, spares: Floats, around_s: Floats) -> Bills:
        """Return the bills of clusters of `nodes` and `spares`."""
        hourly = Hourly.of(context, offer, nodes=nodes, spares=spares)
        beside = beside_usd_per_hour(context, offer, nodes=nodes, spares=spares)
        dearest = reduce(Hourly.plus, beside.values(), hourly)
        if offer.most_usd_per_hour is not None:
            dear = Hourly.of(context, offer.dearest, nodes=nodes, spares=spares)
            more = beside_usd_per_hour(context, offer.dearest, nodes=nodes, spares=spares)
            dearest = reduce(Hourly.plus, more.values(), dear)
        late_s = context.overheads.late_booting_s(nodes) - context.overheads.booting_s(nodes)
        return cls(
            context=context,
            nodes=nodes,
            hourly=hourly,
            beside=beside,
            dearest=dearest,
            around_s=around_s,
            late_s=late_s,
            late_staging_s=late_staging_s(context, nodes),
        )

    @cached_property
    def whole(self) -> Hourly:
        """The known hourly costs of each cluster."""
        return reduce(Hourly.plus, self.beside.values(), self.hourly)

    @cached_property
    def charges(self) -> list[Charge]:
        """The charges of each run on its own number of nodes, (R, 1)."""
        return charges(self.context, nodes=self.nodes[:, 0])

    @cached_property
    def requests_usd(self) -> float:
        """The cost of a job's requests to an object store."""
        return request_usd(self.context)

    @cached_property
    def known_usd(self) -> Floats:
        """The part of each bill that does not depend on the cluster's size, (R,): requests and known charges."""
        return self.requests_usd + known_usd(self.context)

    @cached_property
    def at_least(self) -> Flags:
        """Whether each bill is a lower bound, (R,)."""
        return lower_bounds(self.context, self.beside)

    def total_usd(self, job_s: Floats) -> Floats:
        """Return the cost of whole runs with jobs of `job_s` (R, N)."""
        return self.whole.usd(billed_s(job_s + self.around_s, self.context)) + self._further_usd

    def total_p95_usd(self, job_p95_s: Floats) -> Floats:
        """Return the cost of whole runs with jobs as long as `job_p95_s` (R, N), at the highest of uncertain prices."""
        billed = billed_s(job_p95_s + self.around_s + self.late_s + self.late_staging_s, self.context)
        dearer = dearer_usd_per_hour(self.context, self.nodes)
        usd = replace(self.dearest, spare_s=self.dearest.spare_s + self.late_s).usd(billed) + dearer * billed / 3600
        return usd + self._further_usd + doubtful_usd(self.context)[:, None]

    @cached_property
    def _further_usd(self) -> Floats:
        return self.known_usd[:, None] + copies_usd(self.context) / np.maximum(1, self.nodes - 1)

    def late_staging_at(self, at: int) -> float:
        """Return the seconds that slow links add to the staging of a cluster in one of twenty runs."""
        return float(np.broadcast_to(self.late_staging_s, self.around_s.shape)[at, 0])

    def cost(self, at: int, time_s: Range, *, total: float, total_p95: float) -> Cost:
        """Return the cost of a cluster whose job takes `time_s`."""
        per_s, requests = float(self.hourly.job[at, 0]) / 3600, self.requests_usd
        return Cost(
            equation=per_s * time_s.equation + requests,
            expected=per_s * time_s.expected + requests,
            p50=per_s * time_s.p50 + requests,
            p95=per_s * time_s.p95 + requests,
            total=total,
            total_p95=total_p95,
            requests=requests,
            charges=float(self.known_usd[at]),
            unknown=(
                *(name for name, part in self.beside.items() if np.isnan(part.job[at, 0])),
                *(charge.name for charge in self.charges if np.isnan(charge.usd[at])),
            ),
            at_least=bool(self.at_least[at]),
        )

    def lines(self, at: int, steps_s: Mapping[str, float], *, notes: Mapping[str, str]) -> tuple[BillLine, ...]:
        """Return the lines of a cluster's bill whose known amounts add up to its total: `steps_s` are the seconds of
        the job and of the steps around it, `notes` belong to steps, by their names.
        """
        compiling = "assumed: the head compiles the sort core"
        basis = {"boot": self.context.overheads.boot_note, "compile": compiling, **notes}
        job = float(self.hourly.job[at, 0])
        lines = [
            BillLine(name=name, time_s=step_s, usd=job * step_s / 3600, note=basis.get(name, ""))
            for name, step_s in steps_s.items()
        ]
        seconds = np.full(self.nodes.shape, sum(steps_s.values()))
        spares, run = self.whole.spares_usd(seconds)[at, 0], self.whole.usd(seconds)[at, 0]
        rounding = self.whole.usd(billed_s(seconds, self.context))[at, 0] - run
        rest = {"spares": float(spares), "rounding": float(rounding), "requests": self.requests_usd}
        lines += [BillLine(name=name, time_s=None, usd=usd) for name, usd in rest.items() if usd > 0]
        lines += [
            _line(name, float(part.job[at, 0]) * sum(steps_s.values()) / 3600) for name, part in self.beside.items()
        ]
        own = charges(self.context.only(np.array([at])), nodes=self.nodes[at])
        return (*lines, *(_line(charge.name, float(charge.usd[0]), note=charge.basis) for charge in own))


def unpriced(context: JobContext) -> Iterator[str]:
    """Yield notes on charges missing from the bill, and on those with unverified prices."""
    if (launched := context.catalog.manifest.launched) and not context.paper:
        for name, usd in zip((ROOTS_LINE, ADDRESS_LINE), launched.usd_per_hour(1.0), strict=True):
            yield from [f"{name}: the price is unknown and not in the bill"] * math.isnan(usd)
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
        if link := place_link(context, step):
            low, middle, high = (format_rate(getattr(link, f"{name}bytes_per_s")) for name in ("low_", "", "high_"))
            yield f"{step}: one machine reached {middle} between such places in 2022, {low} to {high} nine times in ten"
        elif place and place != context.catalog.cloud:
            way = (place, context.catalog.cloud) if step == "stage in" else (context.catalog.cloud, place)
            between = f"{way[0]} to {way[1]}"
            yield f"{step}: how fast data gets from {between} is unknown: assumed the machines' network, at most"
        elif place:
            region = context.staging.source_region if step == "stage in" else context.staging.sink_region
            if not region:
                yield f"{step}: the object store is taken to be in the cluster's region"


def _line(name: str, usd: float, *, note: str = "") -> BillLine:
    return BillLine(name=name, time_s=None, usd=None if np.isnan(usd) else usd, note=note)
