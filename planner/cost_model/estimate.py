"""Seconds and dollars of every cluster at once: R layouts by N cluster sizes.

A phase lasts as long as its slowest resource (SoCC 2015, equations 1 to 11); the cost is nodes x price x time
(equation 7). `expected` stretches each resource by the mean slowness of the slowest node, a lower bound that is exact
where one resource decides; figures shown to a user are computed exactly, by `planner.planning.candidates.candidates`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planner.arrays import Floats, Rows
from planner.cost_model.bill import Bills
from planner.cost_model.capacity import fewest_nodes
from planner.cost_model.clusters import energy_j
from planner.cost_model.duration import Kinds, PhaseUses, kinds_of, node_spreads, quantile_over_mean
from planner.cost_model.prices import Offer, paid_nodes
from planner.cost_model.staging import loading_seconds, overheads_s
from planner.cost_model.workload import JobContext
from planner.statistics.order_statistics import slowest_mean_cached
from planner.statistics.scaling_curve import mean_slowdowns
from planner.statistics.taught_times import TaughtJobs


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimates:
    """`expected_s`, `total_usd` and `total_p95_usd`, each of shape (R, N): inf where the cluster cannot hold the data,
    NaN where unknown. The last is computed only if a budget requires it. `charges_usd` (R,) is the least part of the
    totals that is charged regardless of the cluster's size: requests and traffic. `power_w` (R,) is a node's, NaN where
    unknown.
    """

    nodes: Floats
    fewest: Floats
    expected_s: Floats
    total_usd: Floats
    total_p95_usd: Floats | None
    charges_usd: Floats
    power_w: Floats
    shared_sigma: float
    known: TaughtJobs | None

    def quantile_s(self, probability: float) -> Floats:
        """Return a quantile of the jobs' times, (R, N), or less: inf where the cluster cannot hold the data."""
        late_s = _quantile_s(self.expected_s, self.known, probability, shared_sigma=self.shared_sigma)
        return np.where(np.isfinite(self.expected_s), late_s, np.inf)

    def energy_j(self, rows: Rows) -> Floats:
        """Return the expected energy of the job on some rows, shape (rows, N): NaN where the power is unknown."""
        return energy_j(self.expected_s[rows], nodes=self.nodes, power_w=self.power_w[rows, None])


def estimate(context: JobContext, offer: Offer, *, nodes: Floats, budgeted: bool) -> Estimates:
    """Return the estimates of every layout at each of `nodes` (N,), increasing, at the prices of an offer; `budgeted`
    requests the 95th percentile of the bill.
    """
    fewest = fewest_nodes(context)
    too_few = np.where(nodes < fewest[:, None], np.inf, 0.0)
    undisturbed = undisturbed_s(context, nodes)
    known = None if context.known is None else context.known.estimated(context, nodes, undisturbed)
    expected_s = _with_risk(context, undisturbed if known is None else known.usual_s, nodes)
    spares = paid_nodes(nodes, spare_fraction=context.overheads.spare_fraction) - nodes
    bills = Bills.of(context, offer, nodes=nodes, spares=spares, around_s=overheads_s(context, nodes))
    sigma = context.overheads.shared_sigma
    return Estimates(
        nodes=nodes,
        fewest=fewest,
        expected_s=expected_s + too_few,
        total_usd=bills.total_usd(expected_s) + too_few,
        total_p95_usd=bills.total_p95_usd(_quantile_s(expected_s, known, 0.95, shared_sigma=sigma)) + too_few
        if budgeted
        else None,
        charges_usd=bills.known_usd,
        power_w=context.power_w[context.layouts.type_row],
        shared_sigma=sigma,
        known=known,
    )


def _quantile_s(expected_s: Floats, known: TaughtJobs | None, probability: float, *, shared_sigma: float) -> Floats:
    if known is not None:
        return known.quantile_s(probability)
    return expected_s * quantile_over_mean(probability, shared_sigma=shared_sigma)


def undisturbed_s(context: JobContext, nodes: Floats) -> Floats:
    """Return the expected time of the jobs by the equations, (R, N), as if all clusters held the data and none lost a
    node.
    """
    kinds = kinds_of(context)
    times = np.zeros((len(context.layouts.type_row), len(nodes)))
    for phase in context.model.phases:
        times += _longest_s(context, PhaseUses.of(context, phase, nodes), nodes, kinds)
    return times * math.exp(context.overheads.shared_sigma**2 / 2)


def _with_risk(context: JobContext, times: Floats, nodes: Floats) -> Floats:
    risk = context.risk
    if risk is None:
        return times
    zeros = np.zeros((len(times), 1))
    load_s = sum(loading_seconds(context, nodes).values(), start=zeros)
    return risk.expected_s(times, nodes=nodes, load_s=load_s)


def _longest_s(context: JobContext, uses: PhaseUses, nodes: Floats, kinds: Kinds) -> Floats:
    """Return the expected time of a phase: of its slowest resource on its slowest node."""
    works, longest = context.works(uses.phase), np.zeros((len(context.layouts.type_row), len(nodes)))
    for name, seconds in uses.seconds.items():
        slowed = seconds * context.doubts.mean(name, context.layouts.type_row)[:, None]
        for spread, rows in node_spreads(context, name, works, kinds):
            slowed[rows] *= slowest_mean_cached(spread, nodes.tobytes())
        if name == "network" and context.spreads.node_sigma:
            stated = context.rates.network.stated[context.layouts.type_row]
            slowed[stated] *= mean_slowdowns(nodes.tobytes())
        np.maximum(longest, slowed, out=longest)
    return longest + context.barrier_s(nodes)
