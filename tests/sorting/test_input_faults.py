"""Inputs that cannot be read, and inputs that others write to: an error that names them, or the correct rows."""

from __future__ import annotations

import errno
import gzip
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import planner
from planner.errors import BadInputError, InputChangedError, IoFailureError

ROWS = [f"{i * 7919 % 40_009:06},{'x' * (i % 50)}" for i in range(40_009)]
TEXT = "".join(f"{row}\n" for row in ROWS).encode()
FORMS = {
    "lines": ["--lines"],
    "keys": ["--format", "lines", "--separator", ",", "--key", "1,1n"],
    "csv": ["--format", "csv", "--no-header", "--key", "1:num"],
    "recognised": ["--key", "1:num", "--no-header"],
    "gz": ["--format", "csv", "--no-header", "--key", "1:num"],
    "merge": ["--format", "lines", "--merge"],
    "parquet": ["--format", "parquet", "--key", "row"],
    "consumed": ["--lines", "--consume-input"],
}

QUICK = ("csv", "consumed")


def written(folder: Path, form: str) -> Path:
    path = folder / ("in.csv.gz" if form == "gz" else "in.csv")
    if form == "parquet":
        pq.write_table(pa.table({"row": ROWS}), path, row_group_size=10_000)
    else:
        text = b"".join(sorted(TEXT.splitlines(keepends=True))) if form == "merge" else TEXT
        path.write_bytes(gzip.compress(text) if form == "gz" else text)
    return path


def rows_of(path: Path) -> list[str]:
    content = path.read_bytes()
    if content.startswith(b"PAR1"):
        return [str(row) for row in pq.read_table(path).column("row").to_pylist()]
    return (gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content).decode().splitlines()


@pytest.mark.parametrize(
    "form", [form if form in QUICK else pytest.param(form, marks=pytest.mark.soak) for form in FORMS]
)
def test_a_read_that_fails_is_an_error_that_names_the_file(form: str, shim: Path, tmp_path: Path) -> None:
    failed = 0
    for nth in (1, 2, 4, 1000):
        source, output = written(tmp_path, form), tmp_path / "out"
        command = [sys.executable, "-m", "planner", "sort", *FORMS[form], str(source), str(output)]
        fault = {"FAULT_CALL": "input", "FAULT_FILE": source.name, "FAULT_NTH": str(nth), "FAULT_KIND": str(errno.EIO)}
        preloaded = os.environ | {"LD_PRELOAD": str(shim)} | fault
        done = subprocess.run(command, env=preloaded, capture_output=True, text=True, check=False, timeout=120)
        if done.returncode == 0:
            assert rows_of(output) == sorted(ROWS)
            output.unlink()
            continue
        failed += 1
        assert done.returncode == IoFailureError.exit_code, done.stderr
        assert source.name in done.stderr
        assert os.strerror(errno.EIO) in done.stderr
        if not (tmp_path / ".out.sorting").exists():
            assert sorted(path.name for path in tmp_path.iterdir()) == [source.name]
            continue
        planner.sort([], output, resume=True)
        assert rows_of(output) == sorted(ROWS)
        output.unlink()
    assert failed >= 1


@contextmanager
def growing(path: Path, piece: bytes) -> Iterator[None]:
    """Append a piece repeatedly, at most 5,000 times."""
    ended = threading.Event()

    def grow() -> None:
        with path.open("ab", buffering=0) as file:
            for _ in range(5_000):
                if ended.is_set():
                    return
                file.write(piece)

    thread = threading.Thread(target=grow)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@pytest.mark.parametrize("memory_bytes", [pytest.param(96 << 20, marks=pytest.mark.soak), None])
@pytest.mark.parametrize(
    "options", [{"lines": True}, {"key": "1,1"}, {"record_size": 100}], ids=["lines", "key", "records"]
)
def test_an_input_that_grows_is_refused_or_sorted_as_it_was_at_one_time(
    options: dict[str, object], memory_bytes: int | None, tmp_path: Path
) -> None:
    source, output = tmp_path / "in", tmp_path / "out"
    source.write_bytes(b"".join(b"%010d%089d\n" % (i * 7919 % 300_007, i) for i in range(300_007)))
    with growing(source, b"".join(b"%010d%089d\n" % (i, i) for i in range(50, 0, -1))):
        try:
            planner.sort(source, output, memory_bytes=memory_bytes, **options)  # type: ignore[arg-type]
        except (BadInputError, InputChangedError) as error:
            if isinstance(error, BadInputError):  # for a moment the file ends in half a record
                assert "no whole number of records" in str(error)
            assert not output.exists()
            return
    found, content = output.read_bytes(), source.read_bytes()
    seen = content[: len(found)]
    if not seen.endswith(b"\n"):  # the file ended in half a line, which was completed
        seen = seen[:-1] + b"\n"
    assert len(found) >= 300_007 * 100
    rows = found.splitlines(keepends=True)
    assert sorted(rows) == sorted(seen.splitlines(keepends=True))
    assert [row[:10] for row in rows] == sorted(row[:10] for row in rows)
