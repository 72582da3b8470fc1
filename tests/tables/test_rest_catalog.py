"""Iceberg tables in a REST catalog: an answer that fails need not mean that the commit did."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from refusals import refused

from planner.errors import IoFailureError
from planner.tables import iceberg
from tests.tables.made_tables import SMALL, Made, make, rows
from tests.tables.rest_catalog import RestCatalog, served

LEAST = 340 << 20


@dataclass
class Shop:
    """A table, the server of its catalog, and its rows."""

    made: Made
    server: RestCatalog
    rows: list[str]
    folder: Path

    def sort(self) -> Any:
        return self.made.open().sort(sort_by="id", memory_bytes=LEAST, target_file_bytes=SMALL)

    @property
    def files(self) -> set[str]:
        """The files of the newest version."""
        return {file.path for file in self.made.open().files}

    def left_over(self) -> int:
        """The number of new files that no version has."""
        ours = {f"file://{path}" for path in self.folder.rglob("part-*-????????????????.parquet")}
        return len(ours - self.files)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    made = make("iceberg", tmp_path, [rows(seed, 300) for seed in range(3)], by=None)
    with served(made.options["catalog"]) as server:
        catalog = {"name": "rest", "type": "rest", "uri": server.uri}
        yield Shop(replace(made, options={"catalog": catalog}), server, made.library_rows(), tmp_path)


def test_a_table_is_sorted_and_checked(shop: Shop) -> None:
    assert len(shop.sort().groups) == shop.server.commits == 1
    assert shop.made.library_rows() == shop.rows
    assert shop.made.open().check(sort_by="id").is_sorted
    assert shop.left_over() == 0


def test_a_commit_that_another_came_before_is_made_again(shop: Shop) -> None:
    more = rows(9, 100)

    def append_first(commit: Callable[[], None]) -> None:
        shop.made.append(more, by=None)
        commit()

    shop.server.faults.append(append_first)  # type: ignore[arg-type]
    assert [group.attempts for group in shop.sort().groups] == [1]
    assert len(shop.made.library_rows()) == 1000
    assert shop.left_over() == 0


def committed(commit: Callable[[], None], *, status: int) -> int:
    commit()
    return status


def committed_later(commit: Callable[[], None]) -> int:
    def wait_and_commit() -> None:
        time.sleep(1)
        commit()

    threading.Thread(target=wait_and_commit).start()
    return 504


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(lambda commit: committed(commit, status=502), id="bad gateway"),
        pytest.param(lambda commit: committed(commit, status=500), id="internal error"),
        pytest.param(lambda commit: committed(commit, status=0), id="connection lost"),
        pytest.param(committed_later, id="later than the answer"),
    ],
)
def test_a_commit_counts_whatever_the_answer(shop: Shop, fault: Callable[[Callable[[], None]], int]) -> None:
    shop.server.faults.append(fault)
    assert [group.attempts for group in shop.sort().groups] == [1]
    assert shop.server.commits == 1
    assert shop.made.library_rows() == shop.rows
    assert shop.made.open().check(sort_by="id").is_sorted
    assert shop.left_over() == 0


def test_files_of_a_commit_that_may_still_come_stay(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iceberg, "_LOOK_AFTER_S", (0.0, 0.1))
    before = shop.files
    shop.server.faults.append(lambda _: 504)
    with refused("commit-unknown", "run the same command again", kind=IoFailureError):
        shop.sort()
    assert shop.files == before and shop.left_over() > 0
    assert len(shop.sort().groups) == 1, "the next call finds that the commit was not made"
    assert shop.made.library_rows() == shop.rows
    assert shop.left_over() == 0


@pytest.mark.parametrize("status", [400, 403])
def test_a_commit_that_is_refused_leaves_nothing(shop: Shop, status: int) -> None:
    before = shop.files
    shop.server.faults.append(lambda _: status)
    with refused("commit-refused", "as the test asks", kind=IoFailureError):
        shop.sort()
    assert (shop.files, shop.left_over()) == (before, 0)


def test_ctrl_c_while_a_commit_is_looked_for_leaves_the_files(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalog makes the commit after all: it names files that are there."""
    late: list[Callable[[], None]] = []

    def keep(commit: Callable[[], None]) -> int:
        late.append(commit)
        return 504

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    shop.server.faults.append(keep)
    with monkeypatch.context() as patched, refused("commit-unknown", kind=IoFailureError):
        patched.setattr(iceberg, "time", SimpleNamespace(sleep=interrupt))  # not that of other threads
        shop.sort()
    late[0]()
    assert shop.made.library_rows() == shop.rows
    assert shop.made.open().check(sort_by="id").is_sorted
