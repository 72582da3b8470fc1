"""Tasks that Ray's memory monitor kills: Ray tries them again without end, unless it is told how often."""

from __future__ import annotations

import os
import re
from typing import Final

from planner.errors import IoFailureError

_RETRIES: Final = 4
"""The pauses before them double from a second on: a task that is always killed fails after about half a minute."""
_PLACE: Final = re.compile(r"\(IP: ([^,)\s]+)")
_USED: Final = re.compile(r"was (\S+ used / \S+ limit)")


class KilledForMemoryError(IoFailureError):
    """Ray's memory monitor killed a task each time that it was tried; elsewhere or later it may run."""

    code = "killed-for-memory"

    @classmethod
    def of(cls, told: str) -> KilledForMemoryError:
        """Return the error from Ray's own, which names the node and its memory."""
        place, used = _PLACE.search(told), _USED.search(told)
        return cls(
            f"Ray's memory monitor killed a task again and again{f' on {place[1]}' if place else ''}",
            [
                *([f"the node's memory: {used[1]}"] if used else ()),
                "end what else uses memory there, add memory or nodes, or sort with less: --memory",
                "RAY_memory_usage_threshold, set when Ray starts, is the share of memory from which it kills",
            ],
        )


def limit_retries() -> None:
    """Let tasks that this process begins fail when they are killed for memory again and again; for Ray's import."""
    os.environ.setdefault("RAY_task_oom_retries", str(_RETRIES))
