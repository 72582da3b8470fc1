"""Data that does not fit in memory goes to scratch files, packed or plain, and comes back unchanged or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from planner.cli.app import build
from planner.errors import IoFailureError
from planner.sorting.records.generate import generate_file, generate_lines_file
from planner.sorting.records.keyed import TextOrder, sort_text
from planner.sorting.records.keys import parse_key
from planner.sorting.records.local import sort_file
from planner.sorting.records.validate import validate_files
from planner.sorting.sort_job import SortJob, Spill

LINES_BYTES = 30_000_000
SMALL_MEMORY_BYTES = 24_000_000
PLANNER = str(Path(sys.executable).with_name("planner"))


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spill") / "in.log"
    generate_lines_file(path, size_bytes=LINES_BYTES)
    path.read_bytes()  # warm
    return path


def noise(count: int) -> bytes:
    """Return incompressible lines."""
    lines = np.random.default_rng(1).integers(11, 256, (count, 100), dtype=np.uint8)
    lines[:, 99] = 10
    return lines.tobytes()


def choice(report: Any, name: str) -> Any:
    return next(choice for choice in report.choices if choice.name == name)


@pytest.mark.parametrize("spill", ["lz4", "auto"])
def test_what_lz4_cannot_shrink_is_plain(tmp_path: Path, spill: Spill) -> None:
    (tmp_path / "in").write_bytes(noise(300_000))
    report = sort_text(
        [str(tmp_path / "in")], str(tmp_path / "out"), order=TextOrder(), memory_bytes=10_000_000, threads=2,
        temp_dirs=[str(tmp_path)], spill=spill,
    )  # fmt: skip
    lines = noise(300_000).split(b"\n")[:-1]
    assert (tmp_path / "out").read_bytes() == b"".join(line + b"\n" for line in sorted(lines))
    assert report.packed_bytes == 0
    assert report.spilled_bytes > 0
    if spill == "auto":
        assert "which is too much" in report.spill_reason


def test_records_are_packed_only_if_asked_for(tmp_path: Path) -> None:
    generate_file(tmp_path / "in", records=300_000, ascii=True)
    for spill in ("lz4", "auto"):
        report = sort_file(
            tmp_path / "in",
            tmp_path / "out",
            SortJob(memory_bytes=SMALL_MEMORY_BYTES, threads=2, spill=spill, force=True),
        )
        after = validate_files([tmp_path / "out"])
        assert (after.unordered, after.checksum) == (0, validate_files([tmp_path / "in"]).checksum)
        assert (report.packed_bytes > 0) == (spill == "lz4")
    assert choice(report, "spilled").reason == "records are packed only if that is asked for"


stretches = st.lists(
    st.tuples(st.sampled_from(["noise", "log", "equal", "long"]), st.integers(1, 40_000), st.integers(0, 2**32)),
    min_size=1,
    max_size=6,
)


def text_of(shapes: list[tuple[str, int, int]]) -> list[bytes]:
    lines: list[bytes] = []
    for shape, count, seed in shapes:
        random = np.random.default_rng(seed)
        if shape == "noise":
            lines += noise(count)[:-1].split(b"\n")
        elif shape == "equal":
            lines += [b"the same line again and again"] * count
        elif shape == "long":
            lines += [random.bytes(3).hex().encode() * 2_000 for _ in range(min(count, 40))]
        else:
            lines += [b"2026-11-21T%05d host%d: it is done" % (n, n % 7) for n in random.integers(0, 86_400, count)]
    return lines


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(shapes=stretches, spill=st.sampled_from(["plain", "lz4", "auto"]), threads=st.integers(1, 2))
def test_any_mixture_comes_back(tmp_path: Path, shapes: list[tuple[str, int, int]], spill: Spill, threads: int) -> None:
    lines = text_of(shapes)
    (tmp_path / "in").write_bytes(b"".join(line + b"\n" for line in lines))
    sort_text(
        [str(tmp_path / "in")], str(tmp_path / "out"), order=TextOrder(), memory_bytes=1, threads=threads,
        temp_dirs=[str(tmp_path)], spill=spill,
    )  # fmt: skip
    assert (tmp_path / "out").read_bytes() == b"".join(line + b"\n" for line in sorted(lines))


@pytest.mark.parametrize("spill", ["plain", "lz4", "auto"])
@pytest.mark.parametrize("unique", [False, True])
@pytest.mark.parametrize("keys", [(), ("2,2",)])
def test_runs_are_spilled_as_asked(
    log: Path, tmp_path: Path, spill: Spill, unique: bool, keys: tuple[str, ...]
) -> None:
    order = TextOrder(keys=tuple(map(parse_key, keys)), unique=unique)
    runs, whole = tmp_path / "runs", tmp_path / "whole"
    report = sort_text(
        [str(log)], str(runs), order=order, memory_bytes=10_000_000, temp_dirs=[str(tmp_path)], threads=2, spill=spill
    )
    in_memory = sort_text([str(log)], str(whole), order=order, memory_bytes=1_000_000_000, threads=2)
    assert report.runs > 1
    assert in_memory.runs == 0
    assert in_memory.spilled_bytes == 0
    assert runs.read_bytes() == whole.read_bytes()
    assert report.spilled_bytes >= (0 if unique else LINES_BYTES)
    assert report.packed_to_bytes <= report.packed_bytes * 7 // 8
    if spill != "auto":
        assert (report.packed_bytes > report.spilled_bytes * 9 // 10) == (spill == "lz4")
        assert (report.packed_bytes == 0) == (spill == "plain")


@pytest.mark.parametrize("options", [("--lines",), ("--key", "2,2")])
def test_explain_and_json_say_what_was_spilled_and_why(log: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    words = ["sort", *options, str(log), str(tmp_path / "out"), "--memory", "64MB", "--threads", "2", "--force"]
    explained = CliRunner().invoke(build(), [*words, "--spill", "lz4", "--explain"])
    assert explained.exit_code == 0, explained.output
    assert "spilled: " in explained.output
    assert " (asked for)" in explained.output
    told = CliRunner().invoke(build(), [*words, "--spill", "plain", "--json"])
    assert '"spilled_bytes": ' in told.output
    assert '"packed_bytes": 0' in told.output


def run_sort(shim: Path, source: Path, options: list[str], **faults: str) -> subprocess.CompletedProcess[str]:
    command = [PLANNER, "sort", *options, str(source), str(source.with_name("out")), "--force", "--memory", "64MB"]
    environment = os.environ | {"LD_PRELOAD": str(shim)} | faults
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("options", [["--lines"], ["--key", "2,2"]])
def test_without_the_library_all_is_plain(shim: Path, log: Path, options: list[str]) -> None:
    missing = {"FAULT_CALL": "dlopen", "FAULT_NTH": "1", "FAULT_KIND": "2"}
    done = run_sort(shim, log, [*options, "--spill", "lz4", "--explain"], **missing)
    assert done.returncode == 0, done.stderr
    assert "this system has no LZ4 (the library liblz4.so.1)" in done.stdout
    assert log.with_name("out").stat().st_size == log.stat().st_size


@pytest.mark.parametrize("options", [["--lines"], ["--key", "2,2"]])
def test_a_scratch_file_that_was_damaged_is_named(shim: Path, log: Path, options: list[str]) -> None:
    damage = {"FAULT_CALL": "pread", "FAULT_NTH": "1", "FAULT_KIND": "damage"}
    log.with_name("out").unlink(missing_ok=True)
    done = run_sort(shim, log, [*options, "--spill", "lz4", "--threads", "2"], **damage)
    assert done.returncode == IoFailureError.exit_code, done.stderr
    assert "what lies there is not what was written" in done.stderr.replace("\n", " ")
    assert str(log.parent) in done.stderr.replace("\n", "")
    assert [path.name for path in log.parent.iterdir()] == ["in.log"]
