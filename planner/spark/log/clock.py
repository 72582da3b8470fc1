"""Jumps of the driver's clock, which times launch and finish of tasks, found from the executors' own run times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from planner.spark.log.stage_tally import amounts_of

_LEAST_MS: Final = 60_000
"""Least jump that counts: garbage collection or heavy scheduling delay a driver by seconds, not minutes."""
_ALIKE_MS: Final = 10_000
_EXPLAINED: Final = amounts_of("run_s", "deserialisation_s", "result_serialisation_s", "getting_result_s")


class ClockTally:
    """Compares each task's time by the driver's clock with the time its executor reports.

    After a step forward, all tasks then running appear longer by the same time; a late driver shifts each by a
    different one.
    """

    def __init__(self) -> None:
        self._back_ms = 0.0
        self._longer_ms: tuple[float, float] | None = None

    def note_task(self, amounts: Sequence[float], *, launched_ms: float, finished_ms: float) -> None:
        """Note a task by its amounts in milliseconds."""
        run_ms, deserialisation_ms, serialisation_ms, getting_ms = _EXPLAINED(amounts)
        left_ms = finished_ms - launched_ms - (run_ms + deserialisation_ms + serialisation_ms) - getting_ms
        if math.isnan(left_ms):
            left_ms = min(0.0, finished_ms - launched_ms)
        if left_ms < 0:
            self._back_ms = max(self._back_ms, -left_ms)
        elif left_ms > _LEAST_MS:
            least, most = self._longer_ms or (left_ms, left_ms)
            self._longer_ms = min(least, left_ms), max(most, left_ms)

    @property
    def jump_s(self) -> float:
        """Seconds of the longest jump: below 0 backward, 0 where none reaches a minute."""
        if self._back_ms > _LEAST_MS:
            return -self._back_ms / 1000
        least, most = self._longer_ms or (0.0, 0.0)
        return most / 1000 if most and most - least < _ALIKE_MS else 0.0
