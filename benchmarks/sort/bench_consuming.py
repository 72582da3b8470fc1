"""A sort that frees its input as it reads it against one that keeps it: in turn, in the same memory.

The input is a fresh copy each time, on the disk and out of the page cache. The timed part is the Python call.

python benchmarks/sort/bench_consuming.py --bytes 1GB --memory 250MB --runs 5
python benchmarks/sort/bench_consuming.py --bytes 1GB --memory 250MB --lines
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path
from statistics import median

from bench_files import ROOT


def seconds_of(source: Path, folder: Path, *, consumes: bool, lines: bool, memory_bytes: int) -> float:
    """Sort a copy, and return the seconds."""
    import planner

    copy, output = folder / "copy", folder / "output"
    shutil.copyfile(source, copy)
    with copy.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    begin = time.perf_counter()
    planner.sort(copy, output, lines=lines, consume_input=consumes, memory_bytes=memory_bytes)
    seconds = time.perf_counter() - begin
    output.unlink()
    copy.unlink(missing_ok=True)
    return seconds


def main() -> None:
    import planner
    from planner.units import parse_size

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=parse_size, default=parse_size("1GB"))
    parser.add_argument("--memory", type=parse_size, default=parse_size("250MB"))
    parser.add_argument("--lines", action="store_true", help="log lines of mixed length instead of records")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--directory", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as name:
        folder, source = Path(name), Path(name) / "source"
        given = {"lines": True, "size_bytes": options.bytes} if options.lines else {"records": options.bytes // 100}
        planner.generate(source, **given)
        ratios = []
        for run in range(options.runs):
            kept, consumed = (
                seconds_of(source, folder, consumes=consumes, lines=options.lines, memory_bytes=options.memory)
                for consumes in (False, True)
            )
            ratios.append(consumed / kept)
            print(f"  run {run + 1}: kept {kept:.2f} s, consumed {consumed:.2f} s, {ratios[-1]:.2f} times", flush=True)
    print(f"  consumed takes {median(ratios):.2f} times as long ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
