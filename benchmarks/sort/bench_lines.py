"""Sorting log lines of mixed length beside GNU sort, in turn, with the same threads and memory.

Whole processes are timed, `planner sort` with its start-up; outputs are compared byte for byte. The input is warm.

    python benchmarks/sort/bench_lines.py --bytes 1GB --memory 2GB --threads 2 --runs 5
"""

from __future__ import annotations

import argparse
import filecmp
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]


def seconds_of(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ | {"LC_ALL": "C"})
    return time.perf_counter() - start


def commands(source: Path, directory: Path, options: argparse.Namespace) -> dict[str, list[str]]:
    """Return what is run: ours first. With a key, both keep the order of equal keys."""
    planner = str(Path(sys.executable).with_name("planner"))
    memory, threads = options.memory, options.threads
    ours = [planner, "sort", "--force", "--lines", "--memory", f"{memory}B", "--threads", str(threads)]
    theirs = [str(shutil.which("sort")), "-S", f"{memory}b", f"--parallel={threads}", "-T", str(directory)]
    if options.key:
        offset, size = options.key
        ours += ["--key-offset", str(offset), "--key-size", str(size), "--stable"]
        theirs += ["-s", "-t", "\x01", f"-k1.{offset + 1},1.{offset + size}"]
    return {
        "planner sort --lines": [*ours, str(source), str(directory / "ours")],
        "GNU sort": [*theirs, "-o", str(directory / "theirs"), str(source)],
    }


def measure(contestants: dict[str, list[str]], directory: Path, runs: int) -> None:
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for run in range(runs + 1):  # the first round warms up
        for name, command in contestants.items():
            elapsed = seconds_of(command)
            if run > 0:
                seconds[name].append(elapsed)
        if not filecmp.cmp(directory / "ours", directory / "theirs", shallow=False):
            sys.exit("the outputs differ")
        for name in ("ours", "theirs"):
            (directory / name).unlink()
    ours, theirs = seconds.values()
    for name, values in seconds.items():
        print(f"  {name:<22} {median(values):7.3f} s ({min(values):.3f} to {max(values):.3f})")
    ratios = [their / our for our, their in zip(ours, theirs, strict=True)]
    print(f"  times as fast: {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


def main() -> None:
    from planner.sorting.generate import generate_lines_file
    from planner.units import parse_size

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=parse_size, default=parse_size("1GB"))
    parser.add_argument("--memory", type=parse_size, default=parse_size("2GB"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--key", type=int, nargs=2, metavar=("OFFSET", "SIZE"), help="a byte range instead of lines")
    parser.add_argument("--directory", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    if shutil.which("sort") is None:
        sys.exit("there is no sort program to compare with")
    with tempfile.TemporaryDirectory(dir=options.directory) as name:
        directory = Path(name)
        source = directory / "input.log"
        report = generate_lines_file(source, size_bytes=options.bytes)
        with source.open("rb") as file:
            while file.read(1 << 22):
                pass
        print(
            f"{report.lines} lines, {options.bytes} bytes, {options.memory} bytes of memory, {options.threads} threads"
        )
        measure(commands(source, directory, options), directory, options.runs)


if __name__ == "__main__":
    main()
