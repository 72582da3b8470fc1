"""Overhead of Python: the same sorts called from this process and run by the C++ programs, in turn.

python benchmarks/native/bench_python.py [--records N] [--rounds R]

In memory, one call that allocates its working memory; from a warm file to a file, in one pass. The start-up of either
process is left out. Only the ratios carry over to other machines.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
from bench_memory import ROOT, build

from planner.sorting.records.generate import generate_file
from planner.sorting.records.local import sort_file
from planner.sorting.records.memory import sort_buffer


def seconds_in_memory(program: Path, source: np.ndarray, out: np.ndarray) -> tuple[float, float]:
    """Return the seconds of one sort by the C++ program, and of one in this process."""
    command = [str(program), str(source.nbytes // 100), "0", "1", "uniform"]
    native = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["one_call_s"]
    sort_buffer(source, out)
    return native, sort_buffer(source, out).time_s


def seconds_of_files(program: Path, source: Path, output: Path) -> tuple[float, float]:
    """Return the seconds of one sort of a file by the C++ program, and of one in this process."""
    found = subprocess.run([str(program), "sort", str(source), str(output)], check=True, capture_output=True, text=True)
    output.unlink()
    began = time.perf_counter()
    sort_file(source, output)
    from_here = time.perf_counter() - began
    output.unlink()
    return float(found.stdout.splitlines()[-1]), from_here


def show(title: str, rounds: list[tuple[float, float]]) -> None:
    ratios = [python / native for native, python in rounds]
    natives, pythons = zip(*rounds, strict=True)
    print(
        f"{title:<12} C++ {median(natives):.4f} s, Python {median(pythons):.4f} s, "
        f"ratio {median(ratios):.3f} ({min(ratios):.3f}-{max(ratios):.3f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=10**7)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    in_memory, of_files = build(), build("sortcore_bench")
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as directory:
        path = Path(directory) / "in"
        generate_file(path, records=args.records)
        source = np.fromfile(path, dtype=np.uint8)  # reading it warms it, too
        out = np.zeros_like(source)
        show("in memory", [seconds_in_memory(in_memory, source, out) for _ in range(args.rounds)])
        show("file to file", [seconds_of_files(of_files, path, path.with_name("out")) for _ in range(args.rounds)])


if __name__ == "__main__":
    main()
