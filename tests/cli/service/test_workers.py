"""The processes of `planner serve`: requests refused under overload, and late answers."""

from __future__ import annotations

import asyncio
import multiprocessing
from typing import Any

from planner.cli.service.server import Limits, Workers

SMALL = {"asked": {"data": "1TB", "instance": "i4i.4xlarge", "nodes": 8}}


async def _asked(limits: Limits, times: int) -> list[tuple[int, dict[str, Any]]]:
    workers = Workers(limits, folder=None)
    try:
        return list(await asyncio.gather(*(workers.ask("plan", SMALL) for _ in range(times))))
    finally:
        workers.close()


def test_more_than_may_wait_are_refused_at_once() -> None:
    made = asyncio.run(_asked(Limits(processes=1, waiting=1, seconds=300), 4))
    assert [status for status, _ in made] == [200, 200, 503, 503]
    assert "too many questions" in made[-1][1]["error"]


def test_an_answer_that_is_late_is_given_up() -> None:
    ((status, document),) = asyncio.run(_asked(Limits(processes=1, seconds=0.001), 1))
    assert status == 504 and "no answer within 0.001 s" in document["error"]


def test_after_a_process_died_questions_are_answered_again() -> None:
    async def killed() -> list[int]:
        workers = Workers(Limits(processes=1, seconds=300), folder=None)
        try:
            assert (await workers.ask("plan", SMALL))[0] == 200
            (process,) = multiprocessing.active_children()
            process.kill()
            process.join()
            return [(await workers.ask("plan", SMALL))[0] for _ in range(3)]
        finally:
            workers.close()

    statuses = asyncio.run(killed())
    assert set(statuses) <= {200, 500} and statuses[-1] == 200


def test_logs_are_read_only_where_a_folder_was_given() -> None:
    async def ask() -> tuple[int, dict[str, Any]]:
        workers = Workers(Limits(processes=1, seconds=300), folder=None)
        try:
            return await workers.ask("explain-log", {"file": "app-1"})
        finally:
            workers.close()

    status, document = asyncio.run(ask())
    assert status == 400 and "without --logs FOLDER" in document["error"]
