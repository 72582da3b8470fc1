"""Deviations from the physics: a Gaussian process over log time.

Runs with similar node count, size, machine and options deviate from the physics alike; the further a query lies from
every run, the less it borrows from them and the wider its range. Coordinates are logarithms of physical quantities,
never names.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from planner.arrays import Floats
from planner.calibration.physics import Workload

SCALE_LENGTH: Final = 0.7
"""Deviations at node counts or sizes a factor 2 apart have the correlation exp(-1/2)."""
MACHINE_LENGTH: Final = 0.5
OPTION_LENGTH: Final = 1.0
TREND_SD: Final = 0.05
"""Exponents of nodes and data beyond the physics: T ~ n^a D^b with a, b = 0 +- 0.05."""
UNRUN_MIDDLE: Final = np.log([10.0, 100.0])
"""Pivot of the trends, nodes and GB, before any run; afterwards it is the middle of the runs."""
MACHINE_SD: Final = 0.05
"""Machines of equal specifications deviate by about 5% from these."""
UNKNOWN_SPEC_VARIANCE: Final = 8.0
"""Each figure missing from a machine's specification adds this many times MACHINE_SD^2: 14% for one."""
OPTION_SD: Final = 0.25
"""Exponents of numeric options, and log effects of named ones, before any run."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Coordinates:
    """Coordinates of rows: `scale` (rows, 2) log nodes and log GB, `machine` (rows, 5) log specs, `options` (rows, k),
    `vague` (rows,) >= 1.
    """

    scale: Floats
    machine: Floats
    options: Floats
    vague: Floats


def coordinates(work: Workload, options: Floats) -> Coordinates:
    """Return the coordinates of `work`; `options` are its encoded further columns, shape (rows, k)."""
    specs = (work.cores, work.clock_ghz, work.memory_gb, work.disk_gb_per_s, work.network_gb_per_s)
    return Coordinates(
        scale=np.log(np.stack([work.nodes, work.data_gb], axis=1)),
        machine=np.log(np.stack(specs, axis=1)),
        options=options,
        vague=np.sqrt(1 + UNKNOWN_SPEC_VARIANCE * work.unknown_specs),
    )


@dataclass(frozen=True, eq=False)
class Kinship:
    """Similarity of the rows of `a` and `b`; `known` are the runs, whose middle is the pivot of the trends. Shapes are
    (len a, len b) throughout.
    """

    a: Coordinates
    b: Coordinates
    known: Coordinates

    def variance(self, amplitude: float) -> Floats:
        """Return the variance of each row of `a`, shape (len a,)."""
        trend = _length(self.a.scale, about=_middle(self.known.scale, UNRUN_MIDDLE))
        options = _length(self.a.options, about=_middle(self.known.options, 0.0))
        machine = (MACHINE_SD * self.a.vague) ** 2
        return amplitude**2 + machine + TREND_SD**2 * trend + OPTION_SD**2 * options

    def covariance(self, amplitude: float) -> Floats:
        """Return the covariance of the unexplained log time for smooth deviations of the given size."""
        return self._linear + amplitude**2 * self._smooth

    @cached_property
    def _smooth(self) -> Floats:
        scale = _bell(self.a.scale, self.b.scale, length=SCALE_LENGTH)
        options = _bell(self.a.options, self.b.options, length=OPTION_LENGTH)
        return 0.25 * scale * (1 + self._machine) * (1 + options)

    @cached_property
    def _machine(self) -> Floats:
        return _bell(self.a.machine, self.b.machine, length=MACHINE_LENGTH)

    @cached_property
    def _linear(self) -> Floats:
        machine = MACHINE_SD**2 * self._machine * np.outer(self.a.vague, self.b.vague)
        trend = _product(self.a.scale, self.b.scale, about=_middle(self.known.scale, UNRUN_MIDDLE))
        options = _product(self.a.options, self.b.options, about=_middle(self.known.options, 0.0))
        return machine + TREND_SD**2 * trend + OPTION_SD**2 * options


def _bell(a: Floats, b: Floats, *, length: float) -> Floats:
    gap = (a[:, None, :] - b[None, :, :]) / length
    return np.exp(-0.5 * np.einsum("ijk,ijk->ij", gap, gap))  # type: ignore[no-any-return]


def _middle(past: Floats, unrun: Floats | float) -> Floats | float:
    return past.mean(axis=0) if len(past) else unrun


def _product(a: Floats, b: Floats, *, about: Floats | float) -> Floats:
    return (a - about) @ (b - about).T


def _length(a: Floats, *, about: Floats | float) -> Floats:
    return ((a - about) ** 2).sum(axis=1)  # type: ignore[no-any-return]
