"""Processor time of the sort on this machine: seconds for each byte, for the plans of `--engine local`.

A file is sorted in two passes within `--memory`; processor time is measured by phase. As in a plan the first phase
reads, groups and writes all bytes, and the second reads, sorts and writes them:

python benchmarks/sort/bench_local_engine.py --data 4GB --memory 1GB --runs 5
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import threading
from pathlib import Path
from statistics import median

from planner.native import Progress
from planner.sorting.records.generate import generate_file
from planner.sorting.records.local import sort_file
from planner.sorting.sort_job import SortJob
from planner.units import parse_size


class PhaseMeter(threading.Thread):
    """Thread that records this process's processor time when a sort's last phase is first seen."""

    def __init__(self, progress: Progress) -> None:
        super().__init__(daemon=True)
        self.progress = progress
        self.at_s: dict[int, float] = {}
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.005):
            self.at_s.setdefault(self.progress.phase, cpu_s())


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=parse_size, default=4_000_000_000)
    parser.add_argument("--memory", type=parse_size, default=1_000_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--dir", type=Path, default=None)
    options = parser.parse_args()
    rows: list[tuple[float, float, float]] = []
    with tempfile.TemporaryDirectory(dir=options.dir) as folder:
        source, output = Path(folder) / "in", Path(folder) / "out"
        generate_file(source, records=options.data // 100)
        for number in range(1 + options.runs):
            progress, began_s = Progress(), cpu_s()
            meter = PhaseMeter(progress)
            meter.start()
            report = sort_file(source, output, SortJob(memory_bytes=options.memory, force=True), progress=progress)
            meter.over.set()
            second_s = meter.at_s[max(meter.at_s)]
            if number:
                rows.append((second_s - began_s, cpu_s() - second_s, report.seconds))
            output.unlink()
            print(f"{report.seconds:.2f} s in phases of {[round(phase.seconds, 2) for phase in report.phases]} s")
    first, last, seconds = (sorted(column) for column in zip(*rows, strict=True))
    for name, column in (("partition", first), ("sort", last)):
        each = [value / options.data for value in column]
        print(f"{name} = {median(each):.3g}  # processor seconds a byte, {each[0]:.3g} to {each[-1]:.3g}")
    print(f"whole sorts: {median(seconds):.2f} s ({seconds[0]:.2f}-{seconds[-1]:.2f})")


if __name__ == "__main__":
    main()
