"""Slowdown of a trial by others on this machine or its host: a small fixed loop is timed periodically."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from statistics import fmean
from types import TracebackType
from typing import Final, Self

_EVERY_S: Final = 0.25
_ADDENDS: Final = 20_000


class Probe:
    """Timer of the loop, in a control group of Spark's own weight while entered; it uses half a percent of a core."""

    def __init__(self, group: Path) -> None:
        self._group, self._stop = group, threading.Event()
        self._cpu_s: list[float] = []
        self._wall_s: list[float] = []
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def slowdown(self) -> float:
        """Return the loop's mean time over its fastest: its waits for a core, and slower cores."""
        return fmean(self._wall_s) / min(self._cpu_s)

    def _watch(self) -> None:
        (self._group / "tasks").write_text(str(threading.get_native_id()))
        while not self._stop.wait(_EVERY_S):
            cpu_s, wall_s = time.thread_time(), time.monotonic()
            sum(range(_ADDENDS))
            self._cpu_s.append(time.thread_time() - cpu_s)
            self._wall_s.append(time.monotonic() - wall_s)
