"""`planner gnusort` against GNU sort: the same options, threads and memory, in turn, every output compared.

Whole processes are timed, ours with the start of Python. The input is warm; neither waits for the disk in the end.

python benchmarks/sort/bench_gnusort.py --bytes 1GB --memory 4GB --threads 2 --runs 5
"""

from __future__ import annotations

import argparse
import filecmp
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
ORDERS = {"whole lines": [], "-k2,2n": ["-k2,2n"], "-t, -k3,3r -k1,1n": ["-t,", "-k3,3r", "-k1,1n"], "-u": ["-u"]}
BLOCK_LINES = 50_000


def write_lines(path: Path, size_bytes: int) -> None:
    """Write lines of words and numbers in columns separated by commas and by blanks; one in ten blocks comes twice."""
    chance = random.Random(23)
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
    with path.open("w") as file:
        while file.tell() < size_bytes:
            lines = []
            for _ in range(BLOCK_LINES):
                bits = chance.getrandbits(120)
                lines.append(
                    f"{bits % 99991},{words[bits & 7]} {(bits >> 20) % 1000000007}.{bits % 97},"
                    f"{words[bits >> 3 & 7]}{(bits >> 60) % 5003},{bits:x},and what else a line says\n"
                )
            file.writelines(lines)
            if chance.random() < 0.1:
                file.writelines(lines)


def seconds_of(command: list[str]) -> float:
    """Return the seconds that a command took."""
    start = time.perf_counter()
    subprocess.run(command, check=True, env=os.environ | {"LC_ALL": "C"})
    return time.perf_counter() - start


def measure(name: str, order: list[str], source: Path, options: argparse.Namespace) -> None:
    """Run both in turn, once to warm up; print medians and the ratios of pairs."""
    planner = str(Path(sys.executable).with_name("planner"))
    programs = {"planner gnusort": [planner, "gnusort"], "GNU sort": [str(shutil.which("sort"))]}
    seconds: dict[str, list[float]] = {program: [] for program in programs}
    outputs = [source.with_name("ours"), source.with_name("theirs")]
    limits = [f"--parallel={options.threads}", "-S", f"{options.memory}b", "-T", str(source.parent)]
    for run in range(options.runs + 1):
        for (program, begin), output in zip(programs.items(), outputs, strict=True):
            elapsed = seconds_of([*begin, *limits, *order, "-o", str(output), str(source)])
            if run > 0:
                seconds[program].append(elapsed)
        if not filecmp.cmp(*outputs, shallow=False):
            sys.exit(f"{name}: the outputs differ")
        for output in outputs:
            output.unlink()
    ratios = [their / our for our, their in zip(*seconds.values(), strict=True)]
    print(f"{name}: {median(ratios):.2f} times as fast ({min(ratios):.2f} to {max(ratios):.2f})")
    for program, values in seconds.items():
        print(f"  {program:<16} {median(values):7.3f} s ({min(values):.3f} to {max(values):.3f})", flush=True)


def main() -> None:
    from planner.units import parse_size

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=parse_size, default=parse_size("1GB"))
    parser.add_argument("--memory", type=parse_size, default=parse_size("4GB"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--order", choices=ORDERS, action="append", help="all of them otherwise")
    parser.add_argument("--source", type=Path, help="an input that is there already")
    parser.add_argument("--directory", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    if shutil.which("sort") is None:
        sys.exit("there is no sort program to compare with")
    with tempfile.TemporaryDirectory(dir=options.directory) as name:
        source = Path(name) / "input"
        if options.source:
            source.symlink_to(options.source.resolve())
        else:
            write_lines(source, options.bytes)
        for order in options.order or ORDERS:
            measure(order, ORDERS[order], source, options)


if __name__ == "__main__":
    main()
