"""What would overturn a recommendation, in a sentence."""

from __future__ import annotations

from typing import Final

from planner.schemas.plan import Candidate
from planner.units import format_usd

_NAMES: Final = {"local": "local disks", "volumes": "volumes", "objects": "object store", "network": "network"}

_ALL: Final = 0.995
"""A share that is told as 100%."""


def overturn_text(best: Candidate) -> str:
    """Return how far a doubtful rate may fall before another type is the better choice, and what measuring it costs;
    '' where nothing is known to overturn the recommendation.
    """
    turn = best.overturned_by
    if turn is None:
        return ""
    nodes = f"{best.nodes} node{'s' * (best.nodes > 1)}"
    many = turn.rate in ("local", "volumes")
    holds = f"{best.instance_type} stays the best choice while its {_NAMES[turn.rate]} at {nodes}"
    keeps = f"keep{'s' * (not many)} {turn.at_fraction:.0%} of what is planned; below it {turn.winner} is"
    if turn.at_fraction >= _ALL:
        keeps = f"{'are' if many else 'is'} as fast as planned; any slower, and {turn.winner} is"
    measuring = f"Measuring costs about {format_usd(turn.measure_usd)}: {turn.command}"
    return f"{holds} {keeps}. {measuring}"
