"""One way to read the runs: which further columns matter, and what the runs then show; and the worth of what they show.

Each further column must pay for itself, and so must the runs: constants learned from a few of them may predict worse
than the assumptions did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from planner.arrays import Floats
from planner.calibration.history import JobRow
from planner.calibration.machines import NodeSpec
from planner.calibration.options import OptionSet
from planner.calibration.prediction import Mixture, joined, predict
from planner.calibration.suspicion import Verdict, with_population

COLUMN_COST: Final = 0.5
"""Log odds against a column that the runs differ in: a run's number or date is as usual as a parameter."""
TRUST_COST: Final = 2.0
"""Log odds against constants learned from runs that the assumptions predict, too: 7 to 1 (docs/calibration.md)."""
_LEAST_ERROR: Final = 0.1
_MOST_ERROR: Final = 0.2
"""Usual errors of log time, by which learned constants and assumptions are compared."""
_MOST_LEFT_OUT: Final = 0.3
"""Largest error that counts against learned constants: all runs predict better than all but one."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Reading:
    """The columns that count, and the posterior of the runs read with them."""

    options: OptionSet
    verdict: Verdict

    @property
    def log_evidence(self) -> float:
        """The log evidence of the runs, less the price of the columns."""
        return self.verdict.log_evidence - COLUMN_COST * len(self.options.doubtful)

    def mixture(self, runs: Sequence[JobRow], jobs: Sequence[JobRow], machines: Mapping[str, NodeSpec]) -> Mixture:
        """Return the distribution of log seconds of each job; one of two populations, if the runs are a mixture."""
        work, (ours, theirs) = self.options.workload(jobs, machines), self.options.encode(runs, jobs)
        explanations, share = self.verdict.explanations, float(self.verdict.population.mean()) if runs else 0.0
        expected = self.options.expected(jobs)
        if not share:
            return predict(explanations, replace(self.verdict.runs, options=ours), work, theirs).moved(expected)
        grouped = with_population(ours, np.where(self.verdict.population, 1.0, -1.0))
        past = replace(self.verdict.runs, options=grouped)
        sides = (predict(explanations, past, work, with_population(theirs, side)) for side in (-1.0, 1.0))
        return joined(list(zip((1 - share, share), sides, strict=True))).moved(expected)


def trust(ours: Floats, assumed: Floats) -> float:
    """Return the weight of learned constants, from 0 to 1, by the gaps to the log times of the runs: of predictions by
    the other runs, and of the assumptions before any run.
    """
    learned, before = min(float(ours @ ours), len(ours) * _MOST_LEFT_OUT**2), float(assumed @ assumed)
    variance = np.clip((learned + before) / 2 / len(ours), _LEAST_ERROR**2, _MOST_ERROR**2)
    return float(1 / (1 + np.exp(np.clip(TRUST_COST + (learned - before) / 2 / variance, -50, 50))))
