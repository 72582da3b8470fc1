"""Do bad apples stay bad? Whether a node that is slow in one run is slow in its next, more often than other nodes are.

The question is a reader's of Scalyr's study (2013), which has no repeated runs to answer it with. A run's bad nodes are
those that `slow_node_screening` would drop on that run alone. Of all pairs of a run and the next of the same node, the
share that is bad again after a bad run is set beside the share that turns bad after a good one. How likely as many
would be if it were all the same is Fisher's exact test, one-sided.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from planner.statistics.slow_node_screening import MIN_NODES, bad_nodes

_CHANCE: Final = 0.05
"""What would happen by chance in fewer than one of twenty such studies is taken to be no chance."""


@dataclass(frozen=True, kw_only=True)
class Staying:
    """Pairs of a run and the next of the same node: bad before, of them bad again, good before, of them turned bad.

    `chance` is the probability of so many bad again if a bad run said nothing of the next.
    """

    metric: str
    bad: int
    bad_again: int
    good: int
    turned_bad: int
    chance: float

    @property
    def stays(self) -> bool:
        """Whether bad apples stay bad, beyond what chance explains."""
        return self.bad > 0 and self.chance < _CHANCE

    @property
    def text(self) -> str:
        """The answer with its counts."""
        if not self.bad:
            return f"{self.metric}: no node was bad in a run that another followed"
        again = f"{self.bad_again} of {self.bad} bad runs were followed by a bad one"
        others = f"{self.turned_bad} of {self.good} good ones" if self.good else "there were no good ones"
        verdict = "bad apples stay bad" if self.stays else "no sign that bad apples stay bad"
        return f"{self.metric}: {verdict}: {again}, {others} (by chance {self.chance:.2g})"


def staying(metric: str, runs: Mapping[str, Sequence[float]], *, lower_is_better: bool = False) -> Staying | None:
    """Return the answer for one metric, given each node's runs in order; None without two runs of MIN_NODES nodes."""
    rounds = [
        {node: values[number] for node, values in runs.items() if len(values) > number}
        for number in range(max(map(len, runs.values()), default=0))
    ]
    rounds = [figures for figures in rounds if len(figures) >= MIN_NODES]
    if len(rounds) < 2:
        return None
    bad = [bad_nodes(metric, figures, lower_is_better=lower_is_better) for figures in rounds]
    pairs = [
        (node in bad[number], node in bad[number + 1])
        for number in range(len(rounds) - 1)
        for node in rounds[number]
        if node in rounds[number + 1]
    ]
    before = [after for was_bad, after in pairs if was_bad]
    others = [after for was_bad, after in pairs if not was_bad]
    return Staying(
        metric=metric,
        bad=len(before),
        bad_again=sum(before),
        good=len(others),
        turned_bad=sum(others),
        chance=_chance(drawn=len(before), hits=sum(before), total=len(pairs), marked=sum(before) + sum(others)),
    )


def _chance(*, drawn: int, hits: int, total: int, marked: int) -> float:
    """Return the probability that of `drawn` out of `total`, of which `marked` are marked, at least `hits` are."""
    ways = sum(math.comb(marked, k) * math.comb(total - marked, drawn - k) for k in range(hits, min(drawn, marked) + 1))
    return ways / math.comb(total, drawn)
