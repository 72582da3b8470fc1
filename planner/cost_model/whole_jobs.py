"""Rates from observed whole jobs from store to store: lower bounds on links, store and disks together.

A row `whole_job` of object_store_rates.csv has the bytes per second that each node sorted, over the job's time. If that
exceeds the equations' result for the type, its rates are too low: all of them are raised by the one factor that makes
the equations as fast as the job, as the data does not show which of them was too low. A job slower than its equations
lowers nothing, as its software may have been the cause: its rate is a lower bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from planner.arrays import Floats
from planner.catalog import EVIDENCE
from planner.cost_model.disk_layout import OBJECTS
from planner.cost_model.model import MEDIA, JobVolumes
from planner.cost_model.rates import Device, Network, Rates
from planner.cost_model.workload import JobContext
from planner.statistics.scaling_curve import ScalingCurve

_DERIVED: Final = EVIDENCE.index("derived")


def at_least_observed_rates(context: JobContext) -> Rates:
    """Return the context's rates, raised for each type to match whole jobs on it, if its model has its data in the
    store. The rates must be the catalog's, not scaled by a what-if.
    """
    if context.model.storage["data"] != MEDIA[OBJECTS] or context.paper:
        return context.rates
    speedups = {row: seen for row, seen in _speedups(context).items() if max(seen.values()) > 1}
    if not speedups:
        return context.rates
    factors = np.ones(len(context.catalog.instances))
    for row, by_nodes in speedups.items():
        factors[row] = max(1.0, by_nodes[max(by_nodes)])
    rates = context.rates
    return replace(
        rates,
        network=_raised_network(rates.network, speedups),
        objects=_raised_device(rates.objects, factors, evidence=_DERIVED),
        local=_raised_device(rates.local, factors),
        volumes=_raised_device(rates.volumes, factors),
    )


def _speedups(context: JobContext) -> Mapping[int, Mapping[float, float]]:
    """Return by type, and by the nodes of each observed job, the factor by which it was faster than the equations;
    types whose network was measured separately are left out.
    """
    table, instances = context.catalog.tables["object_store_rates"], context.catalog.instances
    seen = (table["mode"] == "whole_job") & (table["object_store"] == context.objects.name)
    sort = JobVolumes.of(context.job.map_in, map_ratio=1.0, reduce_ratio=1.0)
    sorting = replace(context, job=sort)
    speedups: dict[int, dict[float, float]] = {}
    for place in np.flatnonzero(seen & ~np.isnan(table["nodes"])).tolist():
        type_row, nodes = instances.index(str(table["instance_type"][place])), float(table["nodes"][place])
        rows = np.flatnonzero(context.layouts.type_row == type_row)
        if context.rates.network.stated[type_row] and len(rows):
            seen_s = sort.map_in / nodes / float(table["bytes_per_s"][place])
            equation_s = float(_equation_s(sorting.only(rows), nodes).min())
            if np.isfinite(equation_s):
                speedups.setdefault(type_row, {})[nodes] = equation_s / seen_s
    return speedups


def _equation_s(context: JobContext, nodes: float) -> Floats:
    """Return the seconds of each layout, (R,), by disks, store and links, without processors and requests."""
    whole_s = np.zeros(len(context.layouts.type_row))
    for phase in context.model.phases:
        times = [work.node_seconds / nodes for name, work in context.works(phase).items() if name != "cpu"]
        whole_s += np.max([*times, context.network_seconds(phase, np.array([nodes]))[:, 0]], axis=0)
    return whole_s


def _raised_network(network: Network, speedups: Mapping[int, Mapping[float, float]]) -> Network:
    """Return the raised network. A job waits for its slowest node, so its rate is that node's, at observed sizes."""
    flat, evidence, most = network.flat.copy(), network.evidence.copy(), network.most.copy()
    slowest, stated, curves = network.slowest_of_n.copy(), network.stated.copy(), dict(network.curves)
    for row, by_nodes in speedups.items():
        stated_bytes_per_s = float(network.flat[row])
        points = {nodes: stated_bytes_per_s * max(1.0, factor) for nodes, factor in by_nodes.items()}
        curves[row] = ScalingCurve.through(list(points), list(points.values()))
        flat[row], evidence[row], slowest[row], stated[row] = min(points.values()), _DERIVED, True, False
        most[row] = np.fmax(most[row], max(points.values()))
    return replace(network, flat=flat, evidence=evidence, most=most, slowest_of_n=slowest, stated=stated, curves=curves)


def _raised_device(device: Device, factors: Floats, *, evidence: int | None = None) -> Device:
    raised = replace(
        device, read=device.read * factors, write=device.write * factors, simultaneous=device.simultaneous * factors
    )
    if evidence is None:
        return raised
    return replace(raised, evidence=np.where(factors > 1, evidence, device.evidence).astype(np.int8))
