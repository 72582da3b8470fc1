"""A process that is killed at any step leaves a whole table, and the next call removes what it left."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tables.made_tables import FORMATS, SMALL, Made, make, rows

LEAST = 340 << 20
KILLED = """
import os, signal, sys
import planner, {module} as module
kind, step = {kind!r}, {step!r}
opened = planner.table({location!r}, **{options!r})
def die(*given, **named):
    os.kill(os.getpid(), signal.SIGKILL)
target = opened._format if hasattr(opened._format, step) else module
setattr(target, step, die)
opened.sort(sort_by="id", memory_bytes={least}, target_file_bytes={small})
"""


def sort_killed(made: Made, step: str) -> None:
    """Sort in a process that is killed as it begins a step."""
    module = {"delta": "planner.tables.delta", "iceberg": "planner.tables.iceberg", "parquet": "planner.tables.folder"}
    code = KILLED.format(
        kind=made.kind, step=step, location=made.location, options=made.options, least=LEAST, small=SMALL,
        module="planner.tables.rewrite" if step.startswith("_r") else module[made.kind],
    )  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


STEPS = ["fetch", "_read_back", "place", "commit", "_require_proof", "end"]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("step", ["commit", "end"])
def test_a_killed_sort_leaves_a_whole_table_and_the_next_cleans_up(kind: str, step: str, tmp_path: Path) -> None:
    made = make(kind, tmp_path, [rows(seed, 200) for seed in range(3)], by=None)
    require_whole_after_kill(made, step, tmp_path)


@pytest.mark.soak
@pytest.mark.quick
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("step", STEPS)
def test_a_sort_killed_at_any_step(kind: str, step: str, tmp_path: Path) -> None:
    made = make(kind, tmp_path, [rows(seed, 200) for seed in range(3)], by="region")
    require_whole_after_kill(made, step, tmp_path)


def require_whole_after_kill(made: Made, step: str, folder: Path) -> None:
    before = made.library_rows()
    sort_killed(made, step)
    assert made.library_rows() == before
    assert made.duckdb_rows() == sorted(before)
    assert [path for path in folder.rglob("*") if "_planner_sort" in str(path)]
    said: list[str] = []
    made.open().sort(sort_by="id", memory_bytes=LEAST, target_file_bytes=SMALL, say=said.append)
    assert made.library_rows() == before
    assert not [path for path in folder.rglob("*") if "_planner_sort" in str(path)]
    assert made.open().check(sort_by="id").is_sorted
    if step == "commit":
        assert any("removed" in text for text in said)


def test_a_folder_killed_between_its_renames_is_finished_by_the_next_call(tmp_path: Path) -> None:
    made = make("parquet", tmp_path, [rows(seed, 200) for seed in range(3)], by=None)
    before = made.library_rows()
    code = KILLED.format(
        kind="parquet", step="_swap", location=made.location, options={}, least=LEAST, small=SMALL,
        module="planner.tables.folder",
    )  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    waiting = next(path for path in tmp_path.rglob("*.new") if path.is_dir())
    first = next(waiting.glob("part-*.parquet"))
    first.rename(Path(made.location) / first.name)  # the first rename, after which the kill came
    made.open().sort(sort_by="id", memory_bytes=LEAST, target_file_bytes=SMALL)
    assert made.library_rows() == before
    assert not [path for path in tmp_path.rglob("*") if "_planner_sort" in str(path)]
