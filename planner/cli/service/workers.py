"""Worker processes, so that planning uses all cores, with limits on waiting questions and their time."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any, Final

from planner.cli.service.answers import answer, refusal

_ANSWERS_PER_PROCESS: Final = 200
"""Answers after which a process ends, and its caches with it: this bounds its memory."""

_OBJECTS_BETWEEN_COLLECTIONS: Final = 50_000
"""As in `planner.cli.entry`: plans are many objects, and hardly any are garbage in a cycle."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of a caller: bytes of a question, seconds until its answer, simultaneous answers, and waiting ones."""

    body_bytes: int = 1 << 20
    seconds: float = 60.0
    processes: int = 2
    waiting: int = 16


class Workers:
    """The processes. `ask` is called from one event loop."""

    def __init__(self, limits: Limits, *, folder: str | None) -> None:
        self._limits = limits
        self._folder = folder
        self._pool = self._new_pool()
        self._in_hand = 0

    def _new_pool(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            self._limits.processes,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=gc.set_threshold,
            initargs=(_OBJECTS_BETWEEN_COLLECTIONS,),
            max_tasks_per_child=_ANSWERS_PER_PROCESS,
        )

    async def ask(self, question: str, arguments: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return the HTTP status and the JSON of an answer; 503 where too many wait, 504 where it takes too long. A
        late answer keeps its place until its process is done with it.
        """
        if self._in_hand >= self._limits.processes + self._limits.waiting:
            return 503, refusal("too many questions at once; ask again in a few seconds", code="busy")
        loop = asyncio.get_running_loop()
        try:
            future = self._pool.submit(answer, question, arguments, self._folder)
            self._in_hand += 1
            future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._done))
            return await asyncio.wait_for(asyncio.wrap_future(future), self._limits.seconds)
        except TimeoutError:
            text = f"no answer within {self._limits.seconds:g} s; ask for fewer types, regions or sizes"
            return 504, refusal(text, code="too-slow")
        except BrokenProcessPool:
            self._pool = self._new_pool()
            return 500, refusal("the process that answered ended; ask again", code="worker-ended")

    def _done(self) -> None:
        self._in_hand -= 1

    def close(self) -> None:
        """End the processes when they have answered; waiting questions are dropped."""
        self._pool.shutdown(cancel_futures=True)
