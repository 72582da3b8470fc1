"""Account errors, each in one sentence with its remedy, the same for every cloud and call."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from planner.clouds.calls.reading import CallFailure


def account_failure(text: str, *, hint: str, error: object = "") -> CallFailure:
    """Return the failure of a call for lack of an account: `text` fits one line, `hint` is the remedy, and `error` is
    the SDK's error.
    """
    said = [line.strip() for line in str(error).splitlines() if line.strip()]
    return CallFailure(reason="refused", text=text, hints=(hint, *_shortened(said)))


_SET_CLOCK: Final = "set it (`timedatectl set-ntp true`): clouds refuse calls that are minutes old or in the future"


def clock_failure(cloud: str, error: object, *, off: str = "wrong") -> CallFailure:
    """Return the failure of a call that was signed at a wrong time; `off` states how wrong the clock is."""
    return account_failure(f"{cloud}: this machine's clock is {off}", hint=_SET_CLOCK, error=error)


def _shortened(lines: Sequence[str], *, most: int = 12) -> Sequence[str]:
    """Return the first lines, each cut to the width of a screen."""
    return [line if len(line) <= 160 else f"{line[:157]}..." for line in lines[:most]]


def quieten(*loggers: str) -> None:
    """Keep an SDK from writing to stderr what is reported as an error anyway."""
    for name in loggers:
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
