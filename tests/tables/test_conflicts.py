"""Other writers append, delete and compact while a rewrite is at work: none of their changes is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planner.errors import BadInputError, IoFailureError, PlannerError
from tests.tables.made_tables import SMALL, Made, canonical, make, rows

LEAST = 340 << 20
PROTOCOLS = ("delta", "iceberg")


def sort_while(made: Made, change: Callable[[int], None], **asked: Any) -> Any:
    """Sort a table; call `change` with 0, 1, .. each time its new files are in place and not yet committed."""
    opened = made.open()
    of_format, count = opened._format, 0
    commit = of_format.commit

    def changed_first(*arguments: Any) -> str:
        nonlocal count
        change(count)
        count += 1
        return commit(*arguments)

    of_format.commit = changed_first
    return opened.sort(sort_by="id", memory_bytes=LEAST, target_file_bytes=SMALL, **asked)


def require_no_leftovers(made: Made, folder: Path) -> None:
    """No file is left that no version of the table has, and none of ours that is unfinished."""
    assert not [path for path in folder.rglob("*") if "_planner_sort" in str(path)]
    if made.kind == "delta":
        known = {Path(made.location, file.path) for file in made.open().files}
        ours = set(Path(made.location).rglob("part-*-????????????????.parquet"))
        assert ours <= known


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_appended_rows_stay_and_the_sort_is_not_repeated(kind: str, tmp_path: Path) -> None:
    made = make(kind, tmp_path, [rows(seed, 300) for seed in range(3)], by=None)
    more = rows(9, 200)
    done = sort_while(made, lambda count: made.append(more, by=None) if not count else None)
    expected = canonical(more) + [row for seed in range(3) for row in canonical(rows(seed, 300))]
    assert made.library_rows() == sorted(expected)
    assert [group.attempts for group in done.groups] == [1]
    require_no_leftovers(made, tmp_path)


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_rows_deleted_meanwhile_stay_deleted_and_the_group_is_sorted_again(kind: str, tmp_path: Path) -> None:
    made = make(kind, tmp_path, [rows(seed, 300) for seed in range(3)], by=None)
    after: list[str] = []

    def delete(count: int) -> None:
        if not count:
            made.delete("flag = true")
            after.extend(made.library_rows())

    sort_while(made, delete)
    assert made.library_rows() == after
    assert len(after) < 900
    require_no_leftovers(made, tmp_path)


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_files_compacted_meanwhile_are_not_doubled(kind: str, tmp_path: Path) -> None:
    made = make(kind, tmp_path, [rows(seed, 300) for seed in range(3)], by=None)
    before = made.library_rows()
    sort_while(made, lambda count: made.compact() if not count else None)
    assert made.library_rows() == before
    require_no_leftovers(made, tmp_path)


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_only_the_lost_group_is_sorted_again(kind: str, tmp_path: Path) -> None:
    made = make(kind, tmp_path, [rows(seed, 300) for seed in range(3)])
    after: list[str] = []

    def delete(count: int) -> None:
        if not count:
            made.delete("region = 'eu' and id > 0")
            after.extend(made.library_rows())

    done = sort_while(made, delete)
    assert made.library_rows() == after
    assert sum(group.attempts > 1 for group in done.groups) <= 1
    assert len(done.groups) >= 2


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_a_column_added_meanwhile_is_kept(kind: str, tmp_path: Path) -> None:
    made = make(kind, tmp_path, [rows(seed, 400) for seed in range(3)], by=None)
    more = rows(9, 400, evolved=True)
    sort_while(made, lambda count: made.append(more, by=None) if not count else None)
    found, added = made.library_rows(), set(canonical(more))
    assert len(found) == 1600
    assert sum(row in added for row in found) == 400


def test_a_table_that_changes_all_the_time_is_given_up_and_untouched(tmp_path: Path) -> None:
    made = make("iceberg", tmp_path, [rows(seed, 300) for seed in range(3)], by=None)

    def delete_some(count: int) -> None:
        made.delete(f"day = '2026-01-{count + 1:02}'")

    with pytest.raises(IoFailureError, match="changed the files of a group 5 times"):
        sort_while(made, delete_some)
    assert len(made.library_rows()) == sum(
        int(day.day > 5) for seed in range(3) for day in rows(seed, 300)["day"].to_pylist()
    )
    require_no_leftovers(made, tmp_path)


def test_a_file_of_a_folder_written_meanwhile_is_not_lost(tmp_path: Path) -> None:
    made = make("parquet", tmp_path, [rows(seed, 300) for seed in range(3)], by=None)
    more = rows(9, 300)

    def replace(count: int) -> None:
        import pyarrow.parquet as pq

        if not count:
            pq.write_table(more, sorted(Path(made.location).glob("*.parquet"))[0])

    expected = len(made.library_rows())
    sort_while(made, replace)
    found = made.library_rows()
    assert len(found) == expected
    assert set(canonical(more)) <= set(found)


@pytest.mark.parametrize("kind", ["delta", "iceberg", "parquet"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
@pytest.mark.parametrize("step", ["fetch", "place", "commit"])
def test_an_interrupted_sort_leaves_the_table_as_it_was(
    kind: str, error: Any, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make(kind, tmp_path, [rows(seed, 200) for seed in range(3)], by=None)
    before, files = made.library_rows(), sorted(tmp_path.rglob("*.parquet"))
    opened = made.open()

    def fail(*arguments: Any) -> Any:
        raise error

    monkeypatch.setattr(opened._format, step, fail)
    with pytest.raises((KeyboardInterrupt, OSError, MemoryError, PlannerError)):
        opened.sort(sort_by="id", memory_bytes=LEAST)
    assert made.library_rows() == before
    assert sorted(tmp_path.rglob("*.parquet")) == files
    require_no_leftovers(made, tmp_path)


@pytest.mark.parametrize("kind", ["delta", "iceberg", "parquet"])
def test_an_interrupt_after_the_commit_keeps_it(kind: str, tmp_path: Path) -> None:
    made = make(kind, tmp_path, [rows(seed, 200) for seed in range(3)], by=None)
    before, opened = made.library_rows(), made.open()
    commit = opened._format.commit

    def commit_and_stop(*arguments: Any) -> str:
        commit(*arguments)
        raise KeyboardInterrupt

    opened._format.commit = commit_and_stop  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        opened.sort(sort_by="id", memory_bytes=LEAST)
    assert made.library_rows() == before
    assert made.open().check(sort_by="id").is_sorted
    require_no_leftovers(made, tmp_path)


def test_a_damaged_file_is_refused_and_nothing_is_committed(tmp_path: Path) -> None:
    made = make("delta", tmp_path, [rows(seed, 300) for seed in range(3)], by=None)
    version = made.open().snapshot.version
    path = next(Path(made.location).glob("*.parquet"))
    content = bytearray(path.read_bytes())
    content[50:4000] = bytes(3950)
    path.write_bytes(content)
    with pytest.raises(BadInputError):
        made.open().sort(sort_by="id", memory_bytes=LEAST)
    assert made.open().snapshot.version == version
