"""Faults of an account, each in one sentence with its remedy: the same for every cloud and call."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from planner.clouds.calls.reading import CallFailure


def account_failure(text: str, *, hint: str, error: object = "") -> CallFailure:
    """Return the failure of a call for want of an account: `text` fits one line, `hint` says what to do, and `error` is
    what the SDK says.
    """
    said = [line.strip() for line in str(error).splitlines() if line.strip()]
    return CallFailure(reason="refused", text=text, hints=(hint, *_shortened(said)))


def _shortened(lines: Sequence[str], *, most: int = 12) -> Sequence[str]:
    """Return the first lines, each cut to what a screen holds."""
    return [line if len(line) <= 160 else f"{line[:157]}..." for line in lines[:most]]


def quieten(*loggers: str) -> None:
    """Keep an SDK from writing to stderr what is said as an error anyway."""
    for name in loggers:
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
