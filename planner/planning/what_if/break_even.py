"""The margin of a recommendation: how much of a doubtful rate its type may lose and stay the best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from planner.arrays import Floats
from planner.catalog import EVIDENCE
from planner.catalog.instances import is_bare_metal, weighted_name
from planner.cost_model.rates import evidence_name
from planner.planning.candidates.candidate_grid import CandidateGrid
from planner.planning.candidates.candidates import Cluster
from planner.planning.catalog_questions.next_measurement import proposal
from planner.planning.ranking import selection
from planner.planning.ranking.selection import Figures, figures_of
from planner.planning.what_if.reliefs import used_resources
from planner.schemas.plan import Candidate, Overturn, Request

LEAST_FRACTION: Final = 0.1
"""A rate that may fall to this share and change nothing is not in doubt."""

_STEPS: Final = 8
"""Halvings of the range of the fraction, which is found to half a percent."""

_RESOLUTION: Final = (1 - LEAST_FRACTION) / 2**_STEPS
"""Distance below the fraction found at which the type no longer comes first."""


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
    fragile, fraction = None, LEAST_FRACTION
    for rate, evidence in _doubtful(best, grid):
        trial = Trial(request=request, best=best, rivals=rivals, beside=beside, grid=grid, rate=rate, evidence=evidence)
        if (least := trial.fraction()) > fraction:
            fragile, fraction = trial, least
    return None if fragile is None else _overturn(fragile, fraction)


def _overturn(trial: Trial, fraction: float) -> Overturn:
    boot_s = trial.grid.context.overheads.boot_s
    is_network = trial.rate == "network"
    measuring = proposal(
        trial.best, trial.grid.context.catalog, network=is_network, storage=not is_network, boot_s=boot_s
    )
    return Overturn(
        rate=trial.rate,
        evidence=trial.evidence,
        at_fraction=fraction,
        winner=trial.winner(fraction - _RESOLUTION),
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


@dataclass(frozen=True, kw_only=True)
class _Lowered:
    """The best type with one of its rates lowered."""

    instance_type: str
    figures: Figures


@dataclass(frozen=True, kw_only=True, eq=False)
class Trial:
    """The type of `best` with one of its rates multiplied, against the best clusters of other types."""

    request: Request
    best: Candidate
    rivals: Sequence[Cluster | Candidate]
    beside: Sequence[Cluster | Candidate]
    grid: CandidateGrid
    rate: str
    evidence: str

    def fraction(self) -> float:
        """Return the least share of its rate at which the type still comes first: 1 if it may lose nothing."""
        low, high = LEAST_FRACTION, 1.0
        if self._holds(low):
            return low
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (low, middle) if self._holds(middle) else (middle, high)
        return high

    def winner(self, fraction: float) -> str:
        """Return the type that comes first when the rate is a share of the planned one."""
        name, own = self.best.instance_type, Figures.of(self.best)
        lowered = self._at(fraction)
        able = [*([] if lowered is None else [lowered]), *self.rivals]
        beside = [figures_of(of) for of in self.beside if of.instance_type != name]
        if lowered is not None:  # the type's other clusters change as its best does
            ratio = lowered.figures.total_usd / own.total_usd if own.total_usd else 1.0
            slower = lowered.figures.time_s / own.time_s if own.time_s else 1.0
            same = (figures_of(of) for of in self.beside if of.instance_type == name)
            beside += [replace(of, total_usd=ratio * of.total_usd, time_s=slower * of.time_s) for of in same]
        return selection.order(able, self.request.rule, beside=beside)[0].instance_type

    def _holds(self, fraction: float) -> bool:
        return self.winner(fraction) == self.best.instance_type

    def _at(self, fraction: float) -> _Lowered | None:
        """Return the type's best cluster at a share of its rate: the exact one, scaled as its estimates change."""
        cell, before = self._estimated(fraction), self._as_planned
        if cell is None or before is None:
            return None
        time_s, total = (after / planned if planned else 1.0 for after, planned in zip(cell, before, strict=True))
        own = Figures.of(self.best)
        scaled = replace(own, time_s=own.time_s * time_s, total_usd=own.total_usd * total)
        return _Lowered(instance_type=self.best.instance_type, figures=scaled)

    @cached_property
    def _as_planned(self) -> tuple[float, float] | None:
        return self._estimated(1.0)

    def _estimated(self, fraction: float) -> tuple[float, float] | None:
        """Return the expected seconds and total cost of the type's best cluster; None if none meets the constraints."""
        rows = np.flatnonzero(self.grid.context.layouts.type_row == self._type_row)
        context = self.grid.context.only_rows(rows)
        context = replace(context, rates=context.rates.times({self.rate: fraction}))
        slower = CandidateGrid.of(context, self.grid.offer, nodes=self._sizes, request=self.grid.request)
        cell = slower.cells(np.arange(len(rows))).best(self.request.rule, limit=selection.limit_of(self.rivals))
        return (
            None
            if cell is None
            else (float(slower.estimates.expected_s[cell]), float(slower.estimates.total_usd[cell]))
        )

    @cached_property
    def _sizes(self) -> Floats:
        """Sizes to choose from, spread evenly in their logarithm, the best cluster's among them."""
        return np.union1d(self.grid.sampled.nodes, [self.best.nodes])

    @property
    def _type_row(self) -> int:
        return _row_of(self.best, self.grid)
