"""The timeline of waits in a phase: spans of time for each group of nodes, from the phase's stretches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import numpy as np

from planner.arrays import Floats, Ints
from planner.simulation.events import Stretch
from planner.simulation.machines import NodeGroup
from planner.simulation.resources import Layout

ONE_TASK: Final = "one task"
"""Label for tasks limited only by the speed of their own threads."""
OTHERS: Final = "others"
"""Label for nodes that have nothing to do before the phase ends."""
_STEPS: Final = 200
"""Number of equal time steps that show a phase."""


@dataclass(frozen=True, kw_only=True)
class Span:
    """Span of a phase, from `start_s` to `end_s`, in which nodes wait mostly for a resource, for `ONE_TASK` or for
    `OTHERS`.
    """

    start_s: float
    end_s: float
    waits_for: str


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """Share of a phase's flows that wait for each resource, and the spans of each group: its number of nodes first."""

    waits: Mapping[str, float]
    groups: tuple[tuple[int, tuple[Span, ...]], ...]

    @property
    def bottleneck(self) -> str:
        """The resource or label that most flows wait for."""
        return max(self.waits, key=lambda name: self.waits[name], default="nothing")


def timeline_of(stretches: Sequence[Stretch], placed: Layout, groups: Sequence[NodeGroup]) -> Timeline:
    """Return the timeline of a phase from its stretches."""
    names = [*dict.fromkeys((*placed.names, *placed.fixed)), ONE_TASK, OTHERS]
    number_of = np.array([*(names.index(name) for name in placed.names), names.index(ONE_TASK), names.index(OTHERS)])
    lengths = np.array([stretch.end_s - stretch.start_s for stretch in stretches])
    weights = np.zeros((len(stretches), len(groups), len(names)))
    for row, stretch in enumerate(stretches):
        weights[row] = _weights(stretch, number_of, placed.group_of, (len(groups), len(names)))
        if not stretch.counts[placed.group_of >= 0].any():  # only fixed times
            fixed = placed.fixed[int(stretch.counts[placed.group_of < 0].argmax())]
            weights[row] = np.eye(len(names))[names.index(fixed)]
    sizes = np.array([float(group.nodes) for group in groups])
    totals = np.einsum("s,g,sgn->n", lengths, sizes, weights)
    whole = float(totals.sum()) or 1.0
    waits = {name: float(total) / whole for name, total in zip(names, totals, strict=True) if total > 0}
    ends = np.cumsum(lengths)
    shown = tuple(
        (group.nodes, tuple(_spans(ends, weights[:, number].argmax(axis=1), names)))
        for number, group in enumerate(groups)
    )
    return Timeline(waits=waits, groups=shown)


def _weights(stretch: Stretch, number_of: Ints, group_of: Ints, shape: tuple[int, int]) -> Floats:
    """Return the share of each group's flows waiting for each name, (G, N); a group without flows waits for others."""
    is_of_group = group_of >= 0
    held, counts = number_of[stretch.held_by[is_of_group]], stretch.counts[is_of_group]
    weights = np.zeros(shape)
    np.add.at(weights, (group_of[is_of_group], held), counts)
    weights[weights.sum(axis=1) == 0, shape[1] - 1] = 1.0
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _spans(ends: Floats, waits: Ints, names: Sequence[str]) -> Iterator[Span]:
    """Yield the spans of a group, at most `_STEPS`: the wait at the middle of each step counts."""
    if not len(ends):
        return
    step_s = float(ends[-1]) / _STEPS
    middles = (np.arange(_STEPS) + 0.5) * step_s
    seen = waits[np.minimum(np.searchsorted(ends, middles), len(waits) - 1)].tolist()
    first = 0
    for number, steps in groupby(seen):
        end = first + len(list(steps))
        yield Span(start_s=first * step_s, end_s=end * step_s, waits_for=names[number])
        first = end
