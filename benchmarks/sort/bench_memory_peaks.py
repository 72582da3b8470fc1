"""Sorts of many formats at random `--memory`, each in a control group limited to that. Needs root.

A group of v1 or v2, whichever has the memory controller, kills a sort that holds more. The output is the peaks of
resident memory, mapped libraries included, over `--memory`, and how many sorts failed. The page cache of a group may
fill it; it is reclaimed and does not count here.

sudo python benchmarks/sort/bench_memory_peaks.py --runs 100 --seed 1
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import sleep

from bench_tables import ROOT, TYPES, write_csv

CONTROL_GROUPS = Path("/sys/fs/cgroup")
PLANNER = str(Path(sys.executable).with_name("planner"))
PARQUET = """
import sys, duckdb
source, output, types = sys.argv[1:]
rows = f"read_csv('{source}', header = true, columns = {types})"
duckdb.sql(f"COPY (SELECT * FROM {rows}) TO '{output}' (FORMAT parquet)")
"""
WIDE_PARQUET = """
import sys, numpy, pyarrow, pyarrow.parquet
random, rows = numpy.random.default_rng(1), int(sys.argv[2]) // 8 // 80
columns = {f"c{i}": random.integers(0, 1 << 60, rows) for i in range(80)}
pyarrow.parquet.write_table(pyarrow.table(columns), sys.argv[1], compression="zstd", use_dictionary=False)
"""


@dataclass(frozen=True)
class Case:
    """A file and the options of its sort, with the range of `--memory` in MB."""

    source: str
    options: tuple[str, ...]
    least_mb: int = 100
    most_mb: int = 400


CSV_KEYS = ("--format", "csv", "--key", "customer", "--key", "amount:num:desc")
CASES = {
    "records": Case("records", ()),
    "records, typed key": Case("records", ("--key", "0:8:u64le")),
    "lines": Case("lines", ("--lines",)),
    "lines, two keys": Case("lines", ("--key", "2,2", "--key", "1,1r")),
    "lines, packed": Case("lines", ("--lines", "--spill", "lz4")),
    "lines, a key, packed": Case("lines", ("--key", "2,2", "--spill", "lz4")),
    "lines, unique": Case("lines", ("--unique", "--lines")),
    "lines, gz": Case("lines.gz", ("--lines",)),
    "CSV": Case("csv", CSV_KEYS),
    "CSV, gz": Case("csv.gz", CSV_KEYS),
    "Parquet": Case("parquet", ("--format", "parquet", "--key", "customer", "--key", "amount:desc"), 336, 700),
    "Parquet, by a text": Case("parquet", ("--format", "parquet", "--key", "note"), 336, 700),
    "Parquet, wide": Case("wide", ("--format", "parquet", "--key", "c1"), 380, 700),
}


@dataclass(frozen=True)
class Outcome:
    """A sort's outcome: its peak of resident memory over its limit, and its message if it failed."""

    case: str
    memory_mb: int
    peak_ratio: float
    failure: str | None


def write_inputs(folder: Path, size_bytes: int) -> None:
    """Write each input once; Parquet in another process, as children inherit the peak size of this one."""
    size = f"{size_bytes}B"
    subprocess.run([PLANNER, "generate", folder / "records", "--size", size], check=True, capture_output=True)
    lines = [PLANNER, "generate", "--lines", "--size", size, folder / "lines"]
    subprocess.run(lines, check=True, capture_output=True)
    write_csv(folder / "csv", size_bytes)
    for name in ("lines", "csv"):
        subprocess.run(["gzip", "-1", "-k", folder / name], check=True)
    subprocess.run([sys.executable, "-c", PARQUET, folder / "csv", folder / "parquet", TYPES], check=True)
    subprocess.run([sys.executable, "-c", WIDE_PARQUET, folder / "wide", str(size_bytes)], check=True)


def parent_group() -> Path:
    """Return the group to create others in: this process's own of v1, or the root of v2."""
    for line in Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            return CONTROL_GROUPS / "memory" / path.lstrip("/")
    if "memory" in (CONTROL_GROUPS / "cgroup.subtree_control").read_text(encoding="ascii").split():
        return CONTROL_GROUPS
    sys.exit("there is no memory controller to make control groups in")


@contextmanager
def control_group(limit_bytes: int) -> Iterator[Path]:
    """Make a group with this memory limit and no swap."""
    group = parent_group() / f"memory-peak-{os.getpid()}"
    group.mkdir()
    try:
        for name in ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.max"):
            if (group / name).exists():
                (group / name).write_text(str(limit_bytes), encoding="ascii")
        if (group / "memory.swap.max").exists():
            (group / "memory.swap.max").write_text("0", encoding="ascii")
        yield group
    finally:
        remove(group)


def remove(group: Path) -> None:
    """Remove a group; it stays busy for a moment after its last process ended."""
    for _ in range(50):
        try:
            group.rmdir()
        except OSError:
            sleep(0.1)
        else:
            return
    sys.exit(f"{group} cannot be removed: it has processes still")


def sort_once(name: str, memory_mb: int, folder: Path, threads: int) -> Outcome:
    """Sort in a group with a limit of exactly `--memory`."""
    case = CASES[name]
    output = folder / ("out.gz" if case.source.endswith(".gz") else "out")
    command = [PLANNER, "sort", *case.options, str(folder / case.source), str(output), "--force"]
    command += ["--memory", f"{memory_mb}MB", "--threads", str(threads)]
    errors = folder / "errors"
    with control_group(memory_mb * 1_000_000) as group, errors.open("wb") as file:
        entered = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(group), *command]
        process = subprocess.Popen(entered, stdout=subprocess.DEVNULL, stderr=file)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    failure = None
    if process.returncode != 0:
        failure = f"exit code {process.returncode}: {errors.read_text(errors='replace').strip()[-200:]}"
    return Outcome(name, memory_mb, usage.ru_maxrss * 1024 / (memory_mb * 1_000_000), failure)


def show(outcomes: list[Outcome]) -> None:
    """Print the peaks of each case, and every failure."""
    print("peak of resident memory over --memory: median (least to most)")
    for name in CASES:
        peaks = [outcome.peak_ratio for outcome in outcomes if outcome.case == name]
        if peaks:
            print(f"  {name:<19} {median(peaks):.2f} ({min(peaks):.2f} to {max(peaks):.2f}), {len(peaks)} runs")
    failed = [outcome for outcome in outcomes if outcome.failure is not None]
    above = sum(outcome.peak_ratio > 1 for outcome in outcomes)
    print(f"{len(outcomes) - len(failed)} of {len(outcomes)} ended well, {above} had more than --memory resident")
    for outcome in failed:
        print(f"  {outcome.case}, {outcome.memory_mb} MB: {outcome.failure}")


def main() -> None:
    from planner.units import parse_size

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=parse_size, default=parse_size("150MB"), help="of each input, decoded")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--case", choices=CASES, action="append", help="all of them otherwise")
    parser.add_argument("--directory", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("bench_memory_peaks.py: left out, as it makes control groups, which needs root")
        return  # lets `make bench` go on
    chance = random.Random(options.seed)
    outcomes = []
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        write_inputs(Path(folder), options.bytes)
        for number in range(options.runs):
            name = chance.choice(options.case or list(CASES))
            memory_mb = chance.randint(CASES[name].least_mb, CASES[name].most_mb)
            outcomes.append(sort_once(name, memory_mb, Path(folder), options.threads))
            print(f"{number + 1}: {name}, {memory_mb} MB, {outcomes[-1].peak_ratio:.2f}", flush=True)
    show(outcomes)
    sys.exit(any(outcome.failure for outcome in outcomes))


if __name__ == "__main__":
    main()
