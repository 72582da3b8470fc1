"""The head's health checks of its nodes: with more nodes they are rarer and wait longer."""

from __future__ import annotations

from typing import Final

PERIOD_MS: Final = 250
TIMEOUT_MS: Final = 1000
FAILURES: Final = 3
"""A node that does not answer this many checks in a row is lost."""

_CALM_NODES: Final = 16
"""Up to this many nodes the head has time for the checks above; assumed. In a larger cluster it has more calls to
answer and make.
"""
_MOST_PATIENT: Final = 10.0
"""Longest wait of a check, in the largest cluster, as a multiple; assumed."""


def patience(nodes: int) -> float:
    """Return the factor by which checks wait longer, and are rarer, on this number of nodes."""
    return min(_MOST_PATIENT, max(1.0, nodes / _CALM_NODES))


def noticed_after_s(nodes: int) -> float:
    """Return the seconds until a node that vanishes from a cluster of this size is given up."""
    return FAILURES * (PERIOD_MS + TIMEOUT_MS) / 1000 * patience(nodes)
