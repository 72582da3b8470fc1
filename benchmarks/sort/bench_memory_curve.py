"""Two passes with more and more memory: the share held in memory, and the time against the floor, in turn.

The floor copies all bytes twice with our blocks and queue depths. Data held in memory is neither written to scratch
files nor read back, so `(2 + 2 (1 - held)) / 4` of the floor's time is the aim. The input is driven out of the page
cache before every run.

python benchmarks/sort/bench_memory_curve.py --bytes 1GB --runs 5
python benchmarks/sort/bench_memory_curve.py --bytes 200MB --share 1.0 --share 1.2
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench_files import ROOT, build_program, generated
from bench_two_passes import cool

SHARES = (0.25, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2)
HELD = re.compile(r"kept (\d+)")


@dataclass(frozen=True)
class Trial:
    """One sort and one copy: the sort's seconds over the copy's, and the share of the data held in memory."""

    ratio: float
    held: float

    @property
    def aim(self) -> float:
        """Share of the copy's time for moving the bytes that were not held."""
        return (2 + 2 * (1 - self.held)) / 4


def timed(command: list[str]) -> tuple[float, str]:
    """Run a command; return its seconds and its output."""
    start = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return time.perf_counter() - start, done.stdout


def try_once(program: Path, source: Path, memory_bytes: int) -> Trial:
    """Copy, then sort, both from the disk."""
    output = source.with_name("output")
    files = [str(source), str(output), "--memory", str(memory_bytes)]
    cool(source)
    floor_s, _ = timed([str(program), "floor-copy", *files])
    output.unlink()
    cool(source)
    sort_s, words = timed([str(program), "sort", *files, "--passes", "2", "--verbose"])
    output.unlink()
    held = HELD.search(words)
    assert held is not None, words
    return Trial(sort_s / floor_s, int(held.group(1)) / source.stat().st_size)


def show(share: float, trials: list[Trial]) -> None:
    """Print a row: memory, held, ratio, aim, and the ratio over the aim."""
    ratios = [trial.ratio for trial in trials]
    over = [trial.ratio / trial.aim for trial in trials]
    print(
        f"  {share:.2f}  held {median(trial.held for trial in trials):.2f}  ratio {median(ratios):.2f} "
        f"({min(ratios):.2f} to {max(ratios):.2f})  aim {median(trial.aim for trial in trials):.2f}  "
        f"over aim {median(over):.2f} ({min(over):.2f} to {max(over):.2f})",
        flush=True,
    )


def main() -> None:
    from planner.units import parse_size

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=parse_size, default=parse_size("1GB"))
    parser.add_argument("--share", type=float, action="append", help="of memory in data; may be repeated")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--directory", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    program = build_program()
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        source = generated(Path(folder), options.bytes)
        print(f"{options.bytes} bytes; memory as a share of them")
        for share in options.share or SHARES:
            show(share, [try_once(program, source, round(share * options.bytes)) for _ in range(options.runs)])


if __name__ == "__main__":
    main()
