"""Sorts under a limit of address space (`ulimit -v`): they work, or end in an error, never in a signal."""

from __future__ import annotations

import gzip
import resource
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROWS = 200_000
LIMITS_KIB = [60_000, 200_000, 300_000, 600_000, 700_000, 800_000, 1_000_000, 1_500_000]


def ended(limit_kib: int, *arguments: str) -> tuple[int, str]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (limit_kib << 10, limit_kib << 10))

    command = [sys.executable, "-m", "planner", *arguments]
    done = subprocess.run(command, preexec_fn=limit, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize("limit_kib", LIMITS_KIB)
def test_parquet_is_sorted_and_checked_or_refused(limit_kib: int, tmp_path: Path) -> None:
    source, output = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(pa.table({"k": [i * 7919 % ROWS for i in range(ROWS)], "s": ["x" * 20] * ROWS}), source)
    how = ("--format", "parquet", "--key", "k")
    code, said = ended(limit_kib, "sort", *how, str(source), str(output))
    assert (code == 0 and output.exists()) or code in (2, 6), said
    assert (code == 0) == (limit_kib >= 700_000), said
    assert ended(limit_kib, "sort", "--check", *how, str(source))[0] in ((1, 5) if code == 0 else (2, 6))


def test_the_advised_address_space_suffices(tmp_path: Path) -> None:
    source, output = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(pa.table({"k": [2, 1]}), source)
    arguments = ("sort", "--format", "parquet", "--key", "k", str(source), str(output))
    code, said = ended(400_000, *arguments)
    assert code == 2, said
    least_kib = int(said.rsplit("at least ", 1)[1].split(",")[0])
    assert ended(least_kib, *arguments)[0] == 0


@pytest.mark.parametrize("limit_kib", [60_000, 150_000, 300_000, 800_000, 1_500_000])
@pytest.mark.parametrize("compressed", [False, True])
def test_text_takes_its_memory_from_the_address_space(limit_kib: int, compressed: bool, tmp_path: Path) -> None:
    source, output = tmp_path / "in", tmp_path / "out"
    text = b"".join(b"%09d\n" % (i * 7919 % 5_000_000) for i in range(5_000_000))
    source.write_bytes(gzip.compress(text, 1) if compressed else text)
    code, said = ended(limit_kib, "sort", "--lines", str(source), str(output))
    assert code in (0, 2, 6), said
    if limit_kib >= 1_000_000:
        assert (code, output.stat().st_size) == (0, len(text)), said
