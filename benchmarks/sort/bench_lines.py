"""Sorting log lines of mixed length against GNU sort, or with several ways of spilling, in turn with the same memory.

Whole processes are timed, `planner sort` with its start-up; outputs are compared byte for byte, and the first is
validated. The input is warm. Other processes take processor time, so processor seconds are shown as well.

python benchmarks/sort/bench_lines.py --bytes 1GB --memory 2GB --threads 2 --runs 5
python benchmarks/sort/bench_lines.py --bytes 2GB --memory 400MB --spill plain --spill lz4 --spill auto
sudo python benchmarks/sort/bench_lines.py --bytes 2GB --memory 400MB --spill plain --spill auto --disk 250MB
python benchmarks/sort/bench_lines.py --bytes 2GB --memory 400MB --spill plain --spill auto --random
"""

from __future__ import annotations

import argparse
import filecmp
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from disk_limit import disk_limit

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Contestant:
    """A command without its files, the form of their arguments, and the times of its runs."""

    name: str
    command: list[str]
    output_option: tuple[str, ...] = ()
    seconds: list[float] = field(default_factory=list)
    processor_s: list[float] = field(default_factory=list)

    def run(self, source: Path, output: Path, *, before: list[str], counts: bool) -> None:
        files = [*self.output_option, str(output), str(source)] if self.output_option else [str(source), str(output)]
        used, start = used_by_children(), time.perf_counter()
        words, environment = [*before, *self.command, *files], os.environ | {"LC_ALL": "C"}
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
        if counts:
            self.seconds.append(time.perf_counter() - start)
            self.processor_s.append(used_by_children() - used)


def used_by_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def contestants(directory: Path, options: argparse.Namespace) -> list[Contestant]:
    """Return the commands to run: ours first. With a key, both keep the order of equal keys."""
    planner = str(Path(sys.executable).with_name("planner"))
    memory, threads = options.memory, options.threads
    ours = [planner, "sort", "--force", "--lines", "--memory", f"{memory}B", "--threads", str(threads)]
    theirs = [str(shutil.which("sort")), "-S", f"{memory}b", f"--parallel={threads}", "-T", str(directory)]
    if options.key:
        offset, size = options.key
        ours += ["--key-offset", str(offset), "--key-size", str(size), "--stable"]
        theirs += ["-s", "-t", "\x01", f"-k1.{offset + 1},1.{offset + size}"]
    if options.fields:
        ours = [word for word in ours if word != "--lines"]
        for key in options.fields:
            ours += ["--key", key]
            theirs += ["-k", key]
    if options.spill:
        return [Contestant(f"--spill {how}", [*ours, "--spill", how]) for how in options.spill]
    return [Contestant("planner sort", ours), Contestant("GNU sort", theirs, ("-o",))]


def measure(chosen: list[Contestant], source: Path, options: argparse.Namespace) -> None:
    from planner.sorting.records.validate import validate_line_files

    checksum = validate_line_files([source]).checksum
    first, other = source.with_name("first"), source.with_name("other")
    with disk_limit(source.parent, options.disk) as before:
        for run in range(options.runs + 1):  # the first round warms up
            for contestant in chosen:
                output = first if contestant is chosen[0] else other
                contestant.run(source, output, before=before, counts=run > 0)
                if output is other and not filecmp.cmp(first, other, shallow=False):
                    sys.exit(f"the output of {contestant.name} differs")
            if run == 0 and not options.fields:
                report = validate_line_files([first])
                if report.checksum != checksum or (report.unordered and not options.key):
                    sys.exit("the output is wrong")
            print(f"  round {run}: load {os.getloadavg()[0]:.1f}", flush=True)
    first.unlink()
    other.unlink(missing_ok=True)
    show(chosen)


def show(chosen: list[Contestant]) -> None:
    """Print the medians with their range, and the speed ratios of the first to the others or the others to it."""
    for contestant in chosen:
        seconds = contestant.seconds
        print(
            f"  {contestant.name:<14} {median(seconds):7.3f} s ({min(seconds):.3f} to {max(seconds):.3f}),"
            f" {median(contestant.processor_s):.2f} s of processors"
        )
    ours = chosen[0]
    for contestant in chosen[1:]:
        is_ours = contestant.name.startswith("--spill")
        quick, slow = (contestant, ours) if is_ours else (ours, contestant)
        ratios = [long / short for long, short in zip(slow.seconds, quick.seconds, strict=True)]
        times = f"{median(ratios):.2f} times ({min(ratios):.2f} to {max(ratios):.2f})"
        print(f"  {quick.name} is {times} as fast as {slow.name}")


def write_random_lines(path: Path, size_bytes: int) -> None:
    """Write lines of 100 bytes that cannot be compressed: any byte but the newline."""
    from numpy.random import default_rng

    random, left = default_rng(1), size_bytes // 100
    with path.open("wb") as file:
        while left:
            count = min(left, 100_000)
            lines = random.integers(11, 256, (count, 100), dtype="uint8")
            lines[:, 99] = 10
            file.write(lines.tobytes())
            left -= count


def main() -> None:
    from planner.sorting.records.generate import generate_lines_file
    from planner.units import parse_size

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=parse_size, default=parse_size("1GB"))
    parser.add_argument("--memory", type=parse_size, default=parse_size("2GB"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--key", type=int, nargs=2, metavar=("OFFSET", "SIZE"), help="a byte range instead of lines")
    parser.add_argument("--fields", action="append", metavar="KEY", help="keys as 2,2 instead of lines")
    parser.add_argument("--spill", action="append", choices=["plain", "lz4", "auto"], help="compare these ways of ours")
    parser.add_argument("--disk", type=parse_size, metavar="SIZE", help="bytes a second that the disk does each way")
    parser.add_argument("--random", action="store_true", help="lines that nothing shrinks")
    parser.add_argument("--directory", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    if not options.spill and shutil.which("sort") is None:
        sys.exit("there is no sort program to compare with")
    with tempfile.TemporaryDirectory(dir=options.directory) as name:
        directory = Path(name)
        source = directory / "input.log"
        if options.random:
            write_random_lines(source, options.bytes)
        else:
            generate_lines_file(source, size_bytes=options.bytes)
        with source.open("rb") as file:
            while file.read(1 << 22):
                pass
        print(f"{options.bytes} bytes, {options.memory} bytes of memory, {options.threads} threads")
        measure(contestants(directory, options), source, options)


if __name__ == "__main__":
    main()
