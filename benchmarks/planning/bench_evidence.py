"""Savings from choosing by evidence: true rates are drawn from the belief about each, and choices are compared.

Usage: python benchmarks/planning/bench_evidence.py [--cloud aws,gcp] [--data 100TB] [--model daytona] [--draws 200]
[--seed 1]

A world draws, for each type, the error of its claimed disks and network (`catalogs/evidence_spreads.csv`), and for each
family how its network falls at scale if that was not measured (`planner.statistics.scaling_prior`). In each world the
cheapest cluster is chosen by the claimed rates as they stand, by expected cost, and by expected cost after measuring
the recommended type until the recommendation stays: always, or only where that is worth more than it costs. The output
is the regret, the share by which a choice costs more than that of an oracle that knows the rates.

No rule that chooses before it knows the world has a lower mean cost than the cluster whose cost, averaged over these
very worlds, is least. That is printed, too (among the best size of each row), with its expected cost.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.arrays import Floats
from planner.catalog import load_catalog
from planner.cost_model.estimate import estimate
from planner.cost_model.evidence import CERTAIN
from planner.cost_model.model_reader import load_model
from planner.cost_model.run_overheads import shipped
from planner.cost_model.workload import JobContext
from planner.planning.candidates.candidate_grid import CandidateGrid, build_grid
from planner.planning.catalog_questions.next_measurement import MANY_INSTANCES, REPEATS, RUN_S
from planner.planning.request.region import Region
from planner.schemas.plan import Request
from planner.statistics.scaling_curve import ENOUGH_POINTS, ScalingCurve, prior_curve
from planner.units import parse_size

SIZES = np.geomspace(2, 1024, 10)
"""Cluster sizes at which a world's network is drawn; between them it is a power law."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Clusters:
    """Total costs of all clusters of all grids in one row per layout: as claimed, as expected; and their types."""

    claimed: Floats
    expected: Floats
    types: np.ndarray
    price_usd_per_hour: Floats


def main() -> None:
    """Print the regret of each choice."""
    asked = _arguments()
    request = Request(
        data_bytes=parse_size(asked.data), model=asked.model, catalogs=tuple(asked.cloud.split(",")), objective="cost"
    )
    grids = [_grid(request, name) for name in request.catalogs]
    clusters = Clusters(
        claimed=np.concatenate([_totals(grid, _as_claimed(grid.context)) for grid in grids]),
        expected=np.concatenate([grid.estimates.total_usd for grid in grids]),
        types=np.concatenate(
            [[f"{grid.context.catalog.name}/{grid.type_name(r)}" for r in _rows(grid)] for grid in grids]
        ),
        price_usd_per_hour=np.concatenate(
            [grid.offer.price_usd_per_hour[grid.context.layouts.type_row] for grid in grids]
        ),
    )
    rng = np.random.default_rng(asked.seed)
    believed = _believed(clusters, grids, rng)
    regrets, of_rows = [], []
    rows = np.arange(len(clusters.types)), np.argmin(clusters.expected, axis=1)
    for _ in range(asked.draws):
        true = np.concatenate([_totals(grid, _world(grid.context, rng)) for grid in grids])
        regrets.append(_regrets(clusters, true, believed=believed))
        of_rows.append((true[rows], true.min()))
    print(f"{asked.draws} worlds, seed {asked.seed}, {len(set(clusters.types))} types that can do it")
    for name, column in zip(CHOICES, np.array(regrets).T, strict=True):
        print(f"{name:55} mean {column.mean():6.1%}   95% {np.quantile(column, 0.95):6.1%}")
    _print_hindsight(clusters, np.array([costs for costs, _ in of_rows]), np.array([least for _, least in of_rows]))


def _print_hindsight(clusters: Clusters, true_usd: Floats, least_usd: Floats) -> None:
    """Print which row is cheapest on average over the worlds, (W, R), and the regret of always choosing it."""
    means = np.where(np.isfinite(true_usd).all(axis=0), true_usd.mean(axis=0), np.inf)
    best = int(np.argmin(means))
    regret = true_usd[:, best] / least_usd - 1
    name = f"the cheapest on average over these worlds ({clusters.types[best]})"
    print(f"{name:55} mean {regret.mean():6.1%}   95% {np.quantile(regret, 0.95):6.1%}")
    print("expected, and mean over these worlds with its standard error, of the leading rows' best sizes:")
    for row in np.argsort(clusters.expected.min(axis=1))[:6].tolist():
        error_usd = true_usd[:, row].std() / len(true_usd) ** 0.5
        expected_usd = clusters.expected[row].min()
        print(f"  {clusters.types[row]:25} ${expected_usd:8.2f}   ${means[row]:8.2f} +- {error_usd:.2f}")


CHOICES = (
    "claimed rates as they stand",
    "expected cost",
    "expected cost, recommended types measured",
    "expected cost, recommended types measured and paid",
    "expected cost, measured where it pays, and paid",
)
_BELIEFS = 40
"""Number of worlds that decide whether measuring is worthwhile; choices are compared in others."""


def _regrets(clusters: Clusters, true: Floats, *, believed: Mapping[str, Floats]) -> list[float]:
    measured, paid_usd = _after_measuring(clusters, true)
    where_worth, worth_usd = _after_measuring(clusters, true, believed=believed)
    chosen = [_choice(clusters.claimed), _choice(clusters.expected), measured, measured, where_worth]
    paid = [0.0, 0.0, 0.0, paid_usd, worth_usd]
    return [float((true[cell] + extra) / true.min() - 1) for cell, extra in zip(chosen, paid, strict=True)]


def _believed(clusters: Clusters, grids: Sequence[CandidateGrid], rng: np.random.Generator) -> dict[str, Floats]:
    """Return the possible costs of each type's best cluster by expected cost, (K,)."""
    cells = {}
    for name in set(clusters.types.tolist()):
        rows = np.flatnonzero(clusters.types == name)
        row, column = _choice(clusters.expected[rows])
        cells[name] = (int(rows[row]), column)
    worlds = []
    for _ in range(_BELIEFS):
        totals = np.concatenate([_totals(grid, _world(grid.context, rng)) for grid in grids])
        worlds.append({name: float(totals[cell]) for name, cell in cells.items()})
    return {name: np.array([world[name] for world in worlds]) for name in cells}


def _choice(totals: Floats) -> tuple[int, int]:
    row, column = np.unravel_index(np.argmin(totals), totals.shape)
    return int(row), int(column)


def _after_measuring(
    clusters: Clusters, true: Floats, *, believed: Mapping[str, Floats] | None = None
) -> tuple[tuple[int, int], float]:
    """Measure the recommended type until the recommendation is one that was measured; return it and the cost of
    measuring. With `believed` a type is measured only where that saves more than it costs: by its possible cost above
    the next.
    """
    totals, paid_usd, measured = clusters.expected.copy(), 0.0, set()
    while True:
        cell = _choice(totals)
        name = str(clusters.types[cell[0]])
        rows = clusters.types == name
        price_usd = _measuring_usd(float(clusters.price_usd_per_hour[cell[0]]))
        if name in measured:
            return cell, paid_usd
        if believed is not None:
            saved = np.maximum(believed[name] - totals[~rows].min(), 0.0)
            if saved.mean() <= price_usd:
                return cell, paid_usd
        measured.add(name)
        totals[rows] = true[rows]
        paid_usd += price_usd


def _measuring_usd(price_usd_per_hour: float) -> float:
    """Return the cost of NetBench while doubling and DiskBench in three modes on one cluster."""
    nodes = max(2**ENOUGH_POINTS, MANY_INSTANCES)
    return nodes * price_usd_per_hour * (shipped().boot_s + REPEATS * RUN_S * (ENOUGH_POINTS + 3)) / 3600


def _grid(request: Request, name: str) -> CandidateGrid:
    catalog = load_catalog(name)
    region = Region.of(request, catalog, catalog.default_region)
    grid, _ = build_grid(request, model=load_model(request.model), region=region, overheads=shipped())
    return grid


def _rows(grid: CandidateGrid) -> range:
    return range(len(grid.context.layouts.type_row))


def _as_claimed(context: JobContext) -> JobContext:
    """Return the job with claimed rates, also in large clusters."""
    network = replace(context.rates.network, stated=np.zeros_like(context.rates.network.stated))
    return replace(context, doubts=CERTAIN, rates=replace(context.rates, network=network))


def _world(context: JobContext, rng: np.random.Generator) -> JobContext:
    """Return the job with true rates, drawn."""
    count = len(context.catalog.instances)

    def drawn(name: str) -> Floats:
        values = context.doubts.slowdowns[name]
        return values[np.arange(count), rng.integers(0, values.shape[1], count)]

    rates = context.rates
    disks = 1 / drawn("disk")
    local = replace(
        rates.local,
        read=rates.local.read * disks,
        write=rates.local.write * disks,
        simultaneous=rates.local.simultaneous * disks,
    )
    flat = rates.network.flat / drawn("network")
    stated = rates.network.stated & ~np.isnan(flat)
    curves = dict(rates.network.curves)
    laws = _laws(rng, count=len(set(context.catalog.instances.family.tolist())))
    families = np.unique(context.catalog.instances.family, return_inverse=True)[1]
    curves |= {
        row: ScalingCurve.through(SIZES, flat[row] * laws[families[row]]) for row in np.flatnonzero(stated).tolist()
    }
    network = replace(rates.network, flat=flat, curves=curves, stated=np.zeros_like(stated))
    return replace(context, doubts=CERTAIN, rates=replace(rates, local=local, network=network))


def _laws(rng: np.random.Generator, *, count: int) -> Floats:
    """Return the fraction of its two-node rate that each family's network keeps at `SIZES`, (count, S)."""
    slowdowns = prior_curve().slowdowns_at(SIZES, count=64)
    return 1 / slowdowns[rng.integers(0, len(slowdowns), count)]


def _totals(grid: CandidateGrid, context: JobContext) -> Floats:
    estimates = estimate(context, grid.offer, nodes=grid.nodes, budgeted=False)
    return np.where(np.isnan(estimates.total_usd), np.inf, estimates.total_usd)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cloud", default="aws")
    parser.add_argument("--data", default="100TB")
    parser.add_argument("--model", default="daytona")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
