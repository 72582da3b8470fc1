"""Sorting files against the floor (the same bytes moved, not sorted) and other tools, in turn.

The input is warm and fits in memory: one pass. Whole processes are timed, so that start-up and clean-up count for all
alike. Every output is validated against the input, outside the timed part. Missing peers are named and left out; `make
bench` installs them. bench_two_passes.py covers files larger than memory.

python benchmarks/sort/bench_files.py --bytes 1GB --runs 5
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "benchmarks"
PEERS = Path(__file__).with_name("peers.py")


@dataclass(frozen=True)
class Contestant:
    """A command that sorts (or only moves) the input to the output."""

    name: str
    command: list[str]
    sorts: bool = True


def build_program() -> Path:
    configure = ["cmake", "-S", ROOT / "native", "-B", BUILD, "-DSORTCORE_BENCHMARKS=ON", "-DCMAKE_BUILD_TYPE=Release"]
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for command in (configure, ["cmake", "--build", BUILD, "--target", "sort_benchmarks"]):
        subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL, env=environment)
    return next(BUILD.rglob("sortcore_bench"))


def seconds_of(contestant: Contestant) -> float:
    start = time.perf_counter()
    subprocess.run(contestant.command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def one_pass(program: Path, source: Path, output: Path) -> list[Contestant]:
    size = str(source.stat().st_size)
    python = [sys.executable, str(PEERS)]
    contestants = [
        Contestant("floor: write", [str(program), "floor-write", str(output), "--bytes", size], sorts=False),
        Contestant("sort, native", [str(program), "sort", str(source), str(output)]),
        Contestant(
            "planner sort",
            [str(Path(sys.executable).with_name("planner")), "sort", "--force", str(source), str(output)],
        ),
    ]
    for peer in ("numpy", "polars", "duckdb", "pyarrow"):
        if importlib.util.find_spec(peer) is None:
            print(f"{peer} is not installed and left out")
        else:
            contestants.append(Contestant(peer, [*python, peer, str(source), str(output)]))
    return contestants


def gnu_sort(source: Path, output: Path, memory: str, threads: int) -> Contestant | None:
    program = shutil.which("sort")
    if program is None:
        return None
    words = ["env", "LC_ALL=C", program, "-S", memory, f"--parallel={threads}", "-k1.1,1.10", "-o", str(output)]
    return Contestant("GNU sort (ASCII)", [*words, str(source)])


def measure(contestants: list[Contestant], source: Path, output: Path, runs: int) -> None:
    """Run all in turn, the input in the page cache, and print their times."""
    from planner.sorting.records.validate import validate_files

    checksum = validate_files([source]).checksum
    seconds: dict[str, list[float]] = {contestant.name: [] for contestant in contestants}
    for run in range(runs + 1):  # the first round warms up
        for contestant in contestants:
            warm(source)  # outputs and the peers' memory drive it out
            elapsed = seconds_of(contestant)
            if run > 0:
                seconds[contestant.name].append(elapsed)
            if contestant.sorts:
                report = validate_files([output])
                if report.unordered or report.checksum != checksum:
                    sys.exit(f"{contestant.name}: the output is wrong")
            output.unlink()
    show(seconds)


def show(seconds: dict[str, list[float]]) -> None:
    floor = next(iter(seconds.values()))
    for name, values in seconds.items():
        ratios = [value / least for value, least in zip(values, floor, strict=True)]
        spread = f"({min(values):.3f} to {max(values):.3f})"
        print(f"  {name:<20} {median(values):8.3f} s {spread:<22} {median(ratios):6.2f} x the floor")


def generated(directory: Path, size_bytes: int, *, ascii: bool = False) -> Path:
    from planner.sorting.records.generate import generate_file

    path = directory / ("input.txt" if ascii else "input")
    generate_file(path, records=size_bytes // 100, ascii=ascii)
    return path


def warm(path: Path) -> None:
    with path.open("rb") as file:
        while file.read(1 << 22):
            pass


def timed_against_gnu_sort(program: Path, directory: Path, size_bytes: int, runs: int) -> None:
    source = generated(directory, size_bytes, ascii=True)
    output = directory / "output"
    peer = gnu_sort(source, output, "4G", len(os.sched_getaffinity(0)))
    ours = Contestant("sort, native (ASCII)", [str(program), "sort", str(source), str(output)])
    if peer is not None:
        measure([ours, peer], source, output, runs)
    source.unlink()


def main() -> None:
    from planner.units import parse_size

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=parse_size, default=parse_size("1GB"))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--directory", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    program = build_program()
    with tempfile.TemporaryDirectory(dir=options.directory) as name:
        directory = Path(name)
        source = generated(directory, options.bytes)
        output = directory / "output"
        print(f"one pass, {options.bytes} bytes, warm")
        measure(one_pass(program, source, output), source, output, options.runs)
        source.unlink()
        print("beside GNU sort (the first line is ours)")
        timed_against_gnu_sort(program, directory, options.bytes, options.runs)


if __name__ == "__main__":
    main()
