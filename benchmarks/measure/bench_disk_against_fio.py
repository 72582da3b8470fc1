"""DiskBench and fio in turn on one directory: the same blocks, queue depths, file size and time.

    python benchmarks/measure/bench_disk_against_fio.py [DIRECTORY]

Needs fio 3. In mixed mode DiskBench reads blocks of 4,096,000 bytes, deals their records and writes chunks of 1,024,000;
fio runs the two streams side by side: unlike DiskBench's they need not keep pace, so the sums are compared. Prints one
line per mode with the medians and the median and range of the paired ratios.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from planner.measure.disk import MODES, Mode, run_disk

PAIRS = 5
SECONDS = 4
QUEUE_DEPTH = 4
FILE_BYTES = 1_024_000_000
BLOCK_BYTES = {"read": 4_096_000, "write": 1_024_000}


def ours(directory: Path, mode: Mode) -> float:
    run = run_disk([directory], mode=mode, seconds=SECONDS, queue_depth=QUEUE_DEPTH, file_bytes=FILE_BYTES)
    return (run.read_bytes_per_s or 0) + (run.write_bytes_per_s or 0)


def fio(directory: Path, mode: Mode) -> float:
    """Return fio's bytes/s, both ways together; its files are removed again."""
    ways = ["read", "write"] if mode == "mixed" else [mode]
    common = ["--ioengine=libaio", "--direct=1", "--time_based", f"--runtime={SECONDS}", f"--iodepth={QUEUE_DEPTH}"]
    jobs = [
        word
        for way in ways
        for word in (
            f"--name={way}",
            f"--rw={way}",
            f"--bs={BLOCK_BYTES[way]}",
            f"--size={FILE_BYTES}",
            "--refill_buffers=0",
        )
    ]
    with tempfile.TemporaryDirectory(dir=directory) as files:
        command = ["fio", "--output-format=json", f"--directory={files}", "--fallocate=native", *common, *jobs]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]
    return sum(job[way]["bw_bytes"] for job in found for way in ("read", "write"))


def compare(directory: Path, mode: Mode) -> None:
    ours(directory, mode), fio(directory, mode)  # warms up disk and memory, not counted
    pairs = []
    for i in range(PAIRS):
        first, second = (ours, fio) if i % 2 == 0 else (fio, ours)
        rates = {first: first(directory, mode), second: second(directory, mode)}
        pairs.append((rates[ours], rates[fio]))
    medians = [statistics.median(rates) / 1e6 for rates in zip(*pairs, strict=True)]
    ratios = sorted(mine / theirs for mine, theirs in pairs)
    print(
        f"{mode:6} ours {medians[0]:7.0f} MB/s   fio {medians[1]:7.0f} MB/s   "
        f"ratio of medians {medians[0] / medians[1]:.3f}   paired {statistics.median(ratios):.3f} "
        f"({ratios[0]:.3f} to {ratios[-1]:.3f})",
        flush=True,
    )


def main() -> None:
    directory = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.gettempdir())
    modes = [mode for mode in MODES if len(sys.argv) < 3 or mode in sys.argv[2:]]
    for mode in modes:
        compare(directory, mode)


if __name__ == "__main__":
    main()
