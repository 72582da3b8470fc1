"""DiskBench and fio in turn on one directory: one stream each way, the same blocks in the same order, transfers under
way, file size, time and kind of memory.

python benchmarks/measure/bench_disk_against_fio.py [DIRECTORY [MODE ...]]

Needs fio 3. DiskBench's buffers lie in huge pages, as the sort's do: a direct transfer then is one request where 4 KiB
pages make many. fio takes huge pages only from the reserved ones (`echo 64 > /proc/sys/vm/nr_hugepages`, as root);
without them it is measured in ordinary pages, and the output notes that. In mixed mode DiskBench reads blocks of
4,096,000 bytes, deals their records and writes chunks of 1,024,000; fio runs the two streams side by side and keeps
them in step (`flow`), as DiskBench's are since one feeds the other; the sums are compared. A pair is the mean of four
runs of each, A B B A A B B A. Prints the medians and the median and range of the paired ratios.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from planner.measurement.instruments.disk import MODES, WARM_UP_S, Mode, run_disk

PAIRS = 5
ALTERNATIONS = 2
SECONDS = 1
QUEUE_DEPTH = 4
FILE_BYTES = 1_024_000_000
BLOCK_BYTES = {"read": 4_096_000, "write": 1_024_000}


def ours(directory: Path, mode: Mode) -> float:
    run = run_disk([directory], mode=mode, seconds=SECONDS, queue_depth=QUEUE_DEPTH, file_bytes=FILE_BYTES)
    return (run.read_bytes_per_s or 0) + (run.write_bytes_per_s or 0)


def has_reserved_huge_pages() -> bool:
    return "HugePages_Free:        0" not in Path("/proc/meminfo").read_text(encoding="utf-8")


def fio(directory: Path, mode: Mode) -> float:
    """Return fio's bytes/s, both ways together; its files are removed again."""
    ways = ["read", "write"] if mode == "mixed" else [mode]
    memory = "mmaphuge" if has_reserved_huge_pages() else "malloc"
    common = ["--ioengine=psync", "--thread", "--direct=1", "--time_based", f"--runtime={SECONDS}", f"--iomem={memory}"]
    common += [
        f"--ramp_time={WARM_UP_S * 1000:.0f}ms"
    ]  # as ours: the first blocks of a new file are the slowest to write
    jobs = [option for way in ways for option in (*stream(way), *(paced(way) if mode == "mixed" else ()))]
    with tempfile.TemporaryDirectory(dir=directory) as files:
        command = ["fio", "--output-format=json", f"--directory={files}", "--fallocate=native", *common, *jobs]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    results = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]
    return float(sum(job[way]["bw_bytes"] for job in results for way in ("read", "write")))


def stream(way: str) -> list[str]:
    """Return one stream through one file, as DiskBench goes: of n threads, one for each transfer under way, each takes
    every n-th block.
    """
    block = BLOCK_BYTES[way]
    return [
        *(f"--name={way}", f"--rw={way}", f"--bs={block}", f"--filename={way}.0", f"--filesize={FILE_BYTES}"),
        *("--zonemode=strided", f"--zonesize={block}", f"--zonerange={block}"),
        *(f"--zoneskip={(QUEUE_DEPTH - 1) * block}", f"--numjobs={QUEUE_DEPTH}", f"--offset_increment={block}"),
    ]


def paced(way: str) -> list[str]:
    """Return options that write as many bytes as are read: fio keeps the numbers of operations in proportion to these
    weights.
    """
    return [f"--flow={BLOCK_BYTES['read'] // BLOCK_BYTES[way]}", "--flow_sleep=200"]


def compare(directory: Path, mode: Mode) -> None:
    ours(directory, mode)
    fio(directory, mode)  # both warm up disk and memory, not counted
    pairs = []
    for i in range(PAIRS):
        first, second = (ours, fio) if i % 2 == 0 else (fio, ours)
        rates: dict[Callable[..., float], list[float]] = {ours: [], fio: []}
        for measure in (first, second, second, first) * ALTERNATIONS:  # a drift of the disk falls on both alike
            rates[measure].append(measure(directory, mode))
        pairs.append((statistics.mean(rates[ours]), statistics.mean(rates[fio])))
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
    print(f"fio's memory: {'huge' if has_reserved_huge_pages() else 'ordinary'} pages")
    modes = [mode for mode in MODES if len(sys.argv) < 3 or mode in sys.argv[2:]]
    for mode in modes:
        compare(directory, mode)


if __name__ == "__main__":
    main()
