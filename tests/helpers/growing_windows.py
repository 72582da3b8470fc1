"""Measurements in windows that grow until something was done in them, however long a disk or a processor is busy."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from planner.errors import IoFailureError

Result = TypeVar("Result")


def in_growing_windows(measure: Callable[[float], Result], *, is_enough: Callable[[Result], bool]) -> Result:
    """Return a measurement in a window of 0.25 s that is enough, or of 1, 4 or 16 s if the shorter ones are not. The
    last is returned in any case.
    """
    for seconds in (0.25, 1.0, 4.0):
        with suppress(IoFailureError):  # nothing arrived
            if is_enough(result := measure(seconds)):
                return result
    return measure(16.0)
