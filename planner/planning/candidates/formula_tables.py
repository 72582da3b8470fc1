"""One grid of types as tables and numbers for each byte of data: see `planner.planning.candidates.formulas`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Final

import numpy as np

from planner.arrays import Floats, Rows
from planner.cost_model.capacity import node_bounds
from planner.cost_model.duration import quantile_over_mean
from planner.cost_model.engine import Engine
from planner.cost_model.model import Phase
from planner.cost_model.prices import copies_usd, known_usd
from planner.cost_model.rate_doubts import DOUBTED
from planner.cost_model.staging import device_node_seconds, least_seconds, link_node_seconds
from planner.planning.candidates.candidate_grid import CandidateGrid
from planner.planning.request.constraints import most_nodes
from planner.planning.request.filters import weak_network
from planner.schemas.plan import Request
from planner.statistics.order_statistics import Spread, lognormal, slowest_mean
from planner.statistics.scaling_curve import BAND_VALUES, ScalingCurve

_DIGITS: Final = 9
"""Figures of a number: far more than a page is checked to."""

_TABLE_DIGITS: Final = 8
_CELLS: Final = 30_000
"""Numbers in all tables together: they take 0.3 MB of a page."""

_FEWEST, _MOST = 40, 1000
"""Up to so many nodes, within these bounds, tables have every cluster size; beyond, each is 1% more than the last."""

_RESOURCES: Final = ("local_disks", "data_disks", "intermediate_disks")


class Tables:
    """The formulas of some layouts of one grid; spreads and curves are numbered as they come up."""

    def __init__(self, grid: CandidateGrid, rows: Rows, sizes: Floats) -> None:
        self.context, self.offer = grid.context.only_rows(rows), grid.offer
        self.data_bytes = float(self.context.job.map_in)
        self.curves = {int(row): curve for row, curve in self.context.rates.network.curves.items()}
        self.sizes = sizes
        self.spreads: list[Spread] = []

    def document(self, request: Request) -> dict[str, Any]:
        """Return the grid as plain values."""
        context, life = self.context, self.context.overheads
        billing = None if context.paper else context.catalog.manifest.billing
        curves = self._own_curves()
        rows = [self._row(row, curves, request) for row in range(len(context.layouts.type_row))]
        return {
            "model": context.model.name,
            "cloud": context.catalog.cloud,
            "region": self.offer.region,
            "boot_s": short(life.booting_s(self.sizes)),
            "late_boot_s": short(life.late_booting_s(self.sizes)),
            "screen_s": life.screen_s,
            "teardown_s": life.teardown_s,
            "copies_usd": copies_usd(context) / self.data_bytes,
            "spare_fraction": life.spare_fraction,
            "skew": life.skew,
            "lost_nodes": life.lost_nodes,
            "nodes_min": context.nodes_min,
            "shared_sigma": life.shared_sigma,
            "later_at_95": quantile_over_mean(0.95, shared_sigma=life.shared_sigma),
            "later_as_asked": quantile_over_mean(request.confidence or 0.5, shared_sigma=life.shared_sigma),
            "billing": asdict(billing) if billing else None,
            "keeps_own_share": not context.paper,
            "engine": _engine(context.model.engine, context.rates.cpu_factor),
            "varies": bool(context.spreads.node_sigma),
            "curves": [self._curve(type_row) for type_row in curves],
            "phases": [self._phase(phase) for phase in context.model.phases],
            "rows": rows,
            "spreads": [self._spread(spread) for spread in self.spreads],
        }

    def _own_curves(self) -> list[int]:
        return [row for row in sorted({*self.context.layouts.type_row.tolist()}) if row in self.curves]

    def _curve(self, type_row: int) -> dict[str, Any]:
        curve = self.curves[type_row]
        return {
            "log_rate": short(np.log(curve.each(self.sizes))),
            "slowdowns": [short(row) for row in self.context.rates.network.slowdowns(type_row, self.sizes)],
            "measured_to": curve.measured_to_nodes,
        }

    def _phase(self, phase: Phase) -> dict[str, Any]:
        context, total = self.context, self.context.job.total
        work = context.works(phase).get("cpu")
        busy = context.model.engine.busy_share("cpu", phase.cpu)
        sent_s = context.model.engine.send_s_per_byte * total(phase.network) / context.rates.cpu_factor
        vcpu = context.rates.vcpu[context.layouts.type_row]
        whole_s = 0.0 if work is None else float(np.nanmax(work.node_seconds * vcpu, initial=0.0)) * busy
        return {
            "name": phase.name,
            "works": list(phase.cpu),
            "exchanged": total(phase.network) / self.data_bytes,
            "copied": total(phase.replicate) / self.data_bytes,
            "busy_cpu": busy,
            "busy_network": context.model.engine.busy_share("network", phase.cpu),
            "sent_share": sent_s / whole_s if sent_s and whole_s else 0.0,
            "start_s": 0.0 if context.paper else phase.startup_s,
            "per_node_s": 0.0 if context.paper else phase.per_node_s,
            "stream_s": 0.0
            if context.paper
            else total(phase.one_stream) / context.rates.one_stream_bytes_per_s / self.data_bytes,
        }

    def _row(self, row: int, curves: list[int], request: Request) -> dict[str, Any]:
        context, type_row = self.context, int(self.context.layouts.type_row[row])
        instances, network = context.catalog.instances, context.rates.network
        steps = {name: _one(float(s[row]) / self.data_bytes) for name, s in device_node_seconds(context).items()}
        link = {name: _one(float(s[row]) / self.data_bytes) for name, s in link_node_seconds(context).items()}
        least = {name: _one(float(s[row]) / self.data_bytes) for name, s in least_seconds(context).items()}
        slowdowns = context.doubts.slowdowns
        return {
            "type": str(instances.instance_type[type_row]),
            "vcpu": float(context.rates.vcpu[type_row]),
            "memory": float(instances.memory_bytes[type_row]),
            "price": _one(float(self.offer.price_usd_per_hour[type_row])),
            "disks": self._bound("disks", row),
            "buffers": self._bound("memory", row),
            "most": self._most(row, request),
            "charges": _one(float(known_usd(context)[row]) / self.data_bytes),
            "around": {name: node_s for name, node_s in steps.items() if node_s or link[name]},
            "around_link": {name: node_s for name, node_s in link.items() if node_s},
            "around_least": {name: seconds for name, seconds in least.items() if seconds},
            "rate": _one(float(network.flat[type_row]) * network.factor),
            "network_factor": network.factor,
            "slowest_of_n": bool(network.slowest_of_n[type_row]),
            "stated": bool(network.stated[type_row]),
            "extrapolated": network.evidence_at(type_row, 1) == "extrapolated",
            "curve": curves.index(type_row) if type_row in self.curves else None,
            "burst": _one(float(network.burst[type_row]) * network.factor),
            "tokens": _one(float(network.bucket_bytes[type_row])),
            "tailed": type_row in context.spreads.own_rows,
            "doubts": {name: short(slowdowns[name][type_row]) for name in ("disk", "network") if name in slowdowns},
            "phases": [self._works(phase, row) for phase in context.model.phases],
        }

    def _bound(self, name: str, row: int) -> float:
        """Return how many nodes a byte of data takes by one limit, before head room."""
        bare = replace(self.context, overheads=replace(self.context.overheads, skew=0.0, lost_nodes=0.0))
        return _one(float(node_bounds(bare)[name][row]) / self.data_bytes) or 0.0

    def _most(self, row: int, request: Request) -> float | None:
        """Return how many nodes may be launched, spares included; None without a limit."""
        context, type_row = self.context, int(self.context.layouts.type_row[row])
        most = float(most_nodes(request.node_limits, context.catalog, region=self.offer.region)[type_row])
        if request.max_vcpus is not None:
            most = min(most, request.max_vcpus / float(context.catalog.instances.vcpu[type_row]))
        if request.evidence != "any" and weak_network(context, request.evidence)[row]:
            most = 1.0  # a network in doubt rules out clusters, not one node alone
        return most if math.isfinite(most) else None

    def _works(self, phase: Phase, row: int) -> dict[str, Any]:
        """Return each resource's node-seconds for a byte of data, and the number of its spread."""
        context, works = self.context, self.context.works(phase)
        type_row = int(context.layouts.type_row[row])
        uses = {}
        for name in (*_RESOURCES, "cpu", "network"):
            work = works.get(name)
            if work is None and name != "network":
                continue
            uses[name] = {
                "node_s": 0.0 if work is None else _one(float(work.node_seconds[row]) / self.data_bytes),
                "spread": self._number(context.spread(name, work, row=row)),
                "screened": context.spreads.stays(name, type_row=type_row),
                "doubt": DOUBTED.get(name, ""),
            }
        return uses

    def _number(self, spread: Spread) -> int:
        for number, there in enumerate(self.spreads):
            if there is spread:
                return number
        self.spreads.append(spread)
        return len(self.spreads) - 1

    def _spread(self, spread: Spread) -> dict[str, Any]:
        """Return a spread: a lognormal by its sigma, another by its points; and the mean of the slowest of n."""
        mean = short(slowest_mean(spread, self.sizes))
        standard = lognormal(1.0)
        if np.array_equal(spread.log_cdf, standard.log_cdf):
            return {"sigma": _one(float(spread.log_slowness[-1] / standard.log_slowness[-1])), "mean": mean}
        log_cdf = [log if math.isfinite(log) else None for log in spread.log_cdf.tolist()]
        return {"log_slowness": spread.log_slowness.tolist(), "log_cdf": log_cdf, "mean": mean}


def _engine(engine: Engine, cpu_factor: float) -> dict[str, Any] | None:
    if engine.sizes is None:
        return None
    return {
        "sizes": asdict(engine.sizes),
        "tasks": {work: asdict(cost) for work, cost in engine.tasks.items()},
        "shares_processors": engine.shares_processors,
        "cpu_factor": cpu_factor,
    }


def table_sizes(most: float, curves: Sequence[Sequence[ScalingCurve]]) -> Floats:
    """Return the cluster sizes of the tables up to `most` nodes, for grids with these curves of their own: all sizes,
    as far as the tables stay small, and those between which a curve bends.
    """
    tables = BAND_VALUES + sum(6 + (1 + BAND_VALUES) * len(of_grid) for of_grid in curves)
    dense = float(np.clip(_CELLS // tables, _FEWEST, _MOST))
    steps = max(2, math.ceil(math.log(max(most / dense, 1.01)) / math.log(1.01)) + 1)
    bends = [curve.nodes for of_grid in curves for curve in of_grid]
    sizes = np.concatenate([np.arange(1.0, dense + 1), np.geomspace(dense, max(most, dense), steps), *bends])
    return np.unique(sizes[sizes <= max(most, 1.0)])


def own_curves(grid: CandidateGrid, rows: Rows) -> list[ScalingCurve]:
    """Return the measured curves of some layouts' types."""
    curves = grid.context.rates.network.curves
    return [curves[row] for row in sorted(set(grid.context.layouts.type_row[rows].tolist())) if row in curves]


def _one(number: float, digits: int = _DIGITS) -> float | None:
    """Return a number with few digits; None for what is unknown or without limit."""
    return float(f"{number:.{digits}g}") if math.isfinite(number) else None


def short(numbers: Floats) -> list[Any]:
    """Return numbers with few digits; None for what is unknown or without limit."""
    return [_one(number, _TABLE_DIGITS) for number in np.asarray(numbers, float).tolist()]
