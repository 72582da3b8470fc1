"""The head's health checks of its nodes: with more nodes they are rarer and wait longer."""

from __future__ import annotations

from typing import Final

PERIOD_MS: Final = 250
TIMEOUT_MS: Final = 1000
FAILURES: Final = 3
"""A node that leaves so many checks in a row without an answer is lost."""

_CALM_NODES: Final = 16
"""Up to so many nodes the head has time for the checks above; assumed. In a larger cluster it answers and asks more."""
_MOST_PATIENT: Final = 10.0
"""A check of the largest cluster waits so many times as long; assumed."""


def patience(nodes: int) -> float:
    """Return how many times as long checks wait, and how many times as rare they are, on so many nodes."""
    return min(_MOST_PATIENT, max(1.0, nodes / _CALM_NODES))


def noticed_after_s(nodes: int) -> float:
    """Return the seconds until a node that vanishes from a cluster of so many is given up."""
    return FAILURES * (PERIOD_MS + TIMEOUT_MS) / 1000 * patience(nodes)
