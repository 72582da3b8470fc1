"""The margin of a recommendation: how much of a doubtful rate its type may lose and stay the best."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final

import numpy as np

from planner.arrays import Flags, Floats, distinct
from planner.catalog import EVIDENCE
from planner.catalog.instances import is_bare_metal, weighted_name
from planner.cost_model.rates import evidence_name
from planner.planning.candidates.candidate_grid import CandidateGrid
from planner.planning.candidates.candidates import Cluster
from planner.planning.catalog_questions.next_measurement import proposal
from planner.planning.ranking.selection import Figures, Limit
from planner.planning.what_if.reliefs import used_resources
from planner.schemas.plan import Candidate, Overturn, Request

LEAST_FRACTION: Final = 0.1
"""A rate that may fall to this share and change nothing is not in doubt."""

PARTS: Final = 16
"""A range of factors is divided into as many, whose bounds are estimated together; then the part with the turn is."""


def break_even(
    request: Request,
    best: Candidate,
    others: Sequence[Cluster],
    grids: Sequence[CandidateGrid],
    *,
    beside: Sequence[Cluster] = (),
) -> Overturn | None:
    """Return the doubtful rate of the recommended type with the least margin before another type is better; None if no
    rate is in doubt, no other type was evaluated, or none ever overtakes it. `beside` are compared with, too: they may
    cost less, or be faster.
    """
    grid = grid_of(best, grids)
    if grid is None or request.paper:
        return None
    rivals = [rival for rival in others if not _same_machine(rival, best, grid)]
    if not rivals:
        return None
    trial = partial(Trial, request=request, best=best, rivals=rivals, beside=beside, grid=grid)
    fractions = np.linspace(LEAST_FRACTION, 1.0, PARTS + 1).tolist()
    overturns = (_overturn(trial(rate=rate, factors=fractions), evidence) for rate, evidence in _doubtful(best, grid))
    return max(filter(None, overturns), key=lambda overturn: overturn.at_fraction, default=None)


def _overturn(trial: Trial, evidence: str) -> Overturn | None:
    """Return what puts another type first when a rate is lower; None if nothing does down to the least fraction."""
    if trial.holds(LEAST_FRACTION):
        return None
    below, fraction = trial.turn(np.linspace)
    boot_s = trial.grid.context.overheads.boot_s
    is_network = trial.rate == "network"
    measuring = proposal(
        trial.best, trial.grid.context.catalog, network=is_network, storage=not is_network, boot_s=boot_s
    )
    return Overturn(
        rate=trial.rate,
        evidence=evidence,
        at_fraction=fraction,
        winner=trial.winner(below),
        measure_usd=measuring.cost_usd,
        command=measuring.command,
    )


def grid_of(candidate: Candidate, grids: Sequence[CandidateGrid]) -> CandidateGrid | None:
    """Return the grid that a cluster was chosen from, None if it is not among `grids`."""
    return next((grid for grid in grids if _is_of(grid, candidate)), None)


def _is_of(grid: CandidateGrid, candidate: Candidate) -> bool:
    return (grid.context.model.name, grid.context.catalog.cloud, grid.offer.region, grid.offer.pricing) == (
        candidate.model,
        candidate.cloud,
        candidate.region,
        candidate.pricing,
    ) and candidate.instance_type in grid.context.catalog.instances.rows


def _row_of(cluster: Candidate, grid: CandidateGrid) -> int:
    """Return the row of a cluster's type at its bandwidth weighting."""
    return grid.context.catalog.instances.index(weighted_name(cluster.instance_type, cluster.bandwidth_weighting))


def _same_machine(rival: Cluster | Candidate, best: Candidate, grid: CandidateGrid) -> bool:
    """Return whether two types are one, or bare metal and the largest virtual machine on it: a slower rate affects
    both.

    Such a pair is of one family, with the same number of virtual CPUs and the same disks.
    """
    if rival.instance_type == best.instance_type:
        return True
    instances = grid.context.catalog.instances
    metal = [is_bare_metal(of.instance_type) for of in (rival, best)]
    if rival.cloud != best.cloud or metal[0] == metal[1] or rival.instance_type not in instances.rows:
        return False
    rows = [instances.index(of.instance_type) for of in (rival, best)]
    sizes = np.stack([instances.vcpu, instances.local_disks, instances.local_disk_bytes])[:, rows]
    same_size = np.array_equal(sizes[:, 0], sizes[:, 1], equal_nan=True)
    return same_size and bool(instances.family[rows[0]] == instances.family[rows[1]])


def _doubtful(best: Candidate, grid: CandidateGrid) -> Iterator[tuple[str, str]]:
    """Yield the unmeasured rates that the best cluster waits for (names of `Request.scale`), and their evidence."""
    rates, type_row = grid.context.rates, _row_of(best, grid)
    used = used_resources(best)
    devices = {"local": rates.local, "volumes": rates.volumes, "objects": rates.objects}
    words = {name: evidence_name(int(device.evidence[type_row])) for name, device in devices.items()}
    words["network"] = rates.network.evidence_at(type_row, best.nodes)
    for name, word in words.items():
        if name in used and word not in (*EVIDENCE[:1], "assumed", "unknown"):
            yield name, word


@dataclass(frozen=True, kw_only=True, eq=False)
class Trial:
    """The type of `best` with one of its rates multiplied, against the best clusters of other types. With one of
    `factors`, which rise and include 1, it begins to come first.
    """

    request: Request
    best: Candidate
    rivals: Sequence[Cluster | Candidate]
    beside: Sequence[Cluster | Candidate]
    grid: CandidateGrid
    rate: str
    factors: Sequence[float]

    def turn(self, divided: Callable[[float, float, int], Floats]) -> tuple[float, float]:
        """Return neighbouring factors, at the greater of which the type comes first, given that it does at the last of
        `factors`, and not at the first; `divided` returns some factors from one to another.
        """
        between = divided(*self._neighbours(self.factors), PARTS + 1).tolist()
        self._estimate(between[1:-1])
        return self._neighbours(between)

    def _neighbours(self, factors: Sequence[float]) -> tuple[float, float]:
        place = bisect_left(factors, True, lo=1, hi=len(factors) - 1, key=self.holds)
        return factors[place - 1], factors[place]

    def holds(self, factor: float) -> bool:
        """Return whether the type comes first when its rate is multiplied by a factor."""
        return self.winner(factor) == self.best.instance_type

    def winner(self, factor: float) -> str:
        """Return the type that comes first when the rate is multiplied by a factor."""
        ratios, names = self._ratios(factor), [self.best.instance_type, *(of.instance_type for of in self.rivals)]
        able, beside = (
            figures.times(*(np.where(is_own, ratio, 1.0) for ratio in ratios))  # the type's other clusters change alike
            if ratios
            else figures.only(np.flatnonzero(~is_own))
            for figures, is_own in self._compared
        )
        return names[-len(able) :][int(able.in_order(self.request.rule, beside=beside)[0])]

    @cached_property
    def _compared(self) -> list[tuple[Figures, Flags]]:
        """The figures of the best cluster and its rivals, and of those beside, and which of them are of its type."""
        name = self.best.instance_type
        groups = [self.best, *self.rivals], self.beside
        return [(Figures.of(group), np.array([of.instance_type == name for of in group], bool)) for group in groups]

    def _ratios(self, factor: float) -> list[float]:
        """Return by how much time and total cost of the type's best cluster grow at a factor, by the estimates; empty
        if no cluster meets the constraints, there or as planned.
        """
        if not self._figures:
            self._estimate(self.factors)
        after, planned = self._figures[factor], self._figures[1.0]
        pairs = zip(after, planned, strict=True) if after and planned else ()
        return [now / before if before else 1.0 for now, before in pairs]

    @cached_property
    def _figures(self) -> dict[float, tuple[float, float] | None]:
        """The expected seconds and total cost of the type's best cluster at each factor estimated so far; None if none
        meets the constraints.
        """
        return {}

    def _estimate(self, factors: Sequence[float]) -> None:
        """Estimate the type's clusters at some factors in one batch, of sizes spread evenly in their logarithm with the
        best cluster's among them.
        """
        grid = self.grid
        rows = np.flatnonzero(grid.context.layouts.type_row == _row_of(self.best, grid))
        context = grid.context.only_rows(np.tile(rows, len(factors)))
        context = context.times({self.rate: np.repeat(factors, len(rows))})
        nodes = distinct(np.append(grid.sampled.nodes, self.best.nodes))
        slower = CandidateGrid.of(context, grid.offer, nodes=nodes, request=grid.request)
        best = slower.cells(np.arange(len(factors)) * len(rows)).best(self.request.rule, limit=self._limit)
        time_s, usd = (of[best.rows, best.columns] for of in (slower.estimates.expected_s, slower.estimates.total_usd))
        figures = zip(time_s.tolist(), usd.tolist(), strict=True)
        self._figures.update(
            (factor, of if found else None)
            for factor, of, found in zip(factors, figures, best.found.tolist(), strict=True)
        )

    @cached_property
    def _limit(self) -> Limit:
        return Figures.of(self.rivals).limit()
