"""Sorting a file larger than memory against tools that can: DuckDB (streamed through it), STXXL, GNU sort, in turn.

The floor is the same bytes copied twice with our blocks and queue depths, nothing sorted. Whole processes are timed.
The records are ASCII, because GNU sort needs lines, and are driven out of the page cache before every run. The first
output of each is validated. Needs a directory with room for three times the data.

python benchmarks/sort/bench_two_passes.py --bytes 10GB --memory 2GB --runs 3
python benchmarks/sort/bench_two_passes.py --only "planner sort" --only "GNU sort" --runs 1
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

from bench_files import PEERS, ROOT, Contestant, build_program, generated, seconds_of

FLOOR, OURS = "the floor", "planner sort"


def contestants(source: Path, output: Path, memory_bytes: int) -> list[Contestant]:
    """Return the floor first, then ours, then the installed peers."""
    program = str(build_program())
    planner = str(Path(sys.executable).with_name("planner"))
    memory, files = str(memory_bytes), [str(source), str(output)]
    tools = [
        Contestant(FLOOR, [program, "floor-copy", *files, "--memory", memory], sorts=False),
        Contestant("sort, native", [program, "sort", *files, "--memory", memory]),
        Contestant(OURS, [planner, "sort", "--force", *files, "--memory", f"{memory}B"]),
    ]
    if importlib.util.find_spec("duckdb") and importlib.util.find_spec("pyarrow"):
        tools.append(Contestant("DuckDB", [sys.executable, str(PEERS), "duckdb-streamed", *files, memory]))
    else:
        print("DuckDB or PyArrow is not installed; left out")
    if (stxxl := Path(program).with_name("peer_stxxl")).exists():
        settings = output.with_name("stxxl.cfg")
        settings.write_text(f"disk={output.with_name('stxxl-runs')},0,syscall direct=on unlink\n", encoding="utf-8")
        logs = [f"{name}={output.with_name(name)}" for name in ("STXXLLOGFILE", "STXXLERRLOGFILE")]
        words = ["env", f"STXXLCFG={settings}", *logs, str(stxxl), *files, memory]
        tools.append(Contestant("STXXL", words))
    else:
        print("STXXL is not installed (Debian's libstxxl-dev); left out")
    if program_found := shutil.which("sort"):
        words = ["env", "LC_ALL=C", program_found, "-S", f"{memory}b", "--parallel=2", "-T", str(output.parent)]
        tools.append(Contestant("GNU sort", [*words, "-k1.1,1.10", "-o", files[1], files[0]]))
    else:
        print("there is no sort program; left out")
    return tools


def cool(path: Path) -> None:
    """Drive a file out of the page cache, so that all have to read it from the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def measure(chosen: list[Contestant], source: Path, output: Path, runs: int) -> dict[str, list[float]]:
    """Return the seconds of each, run by run; the first outputs are validated."""
    from planner.sorting.records.validate import validate_files

    checksum = validate_files([source]).checksum
    seconds: dict[str, list[float]] = {contestant.name: [] for contestant in chosen}
    for run in range(runs):
        for contestant in chosen:
            cool(source)
            seconds[contestant.name].append(seconds_of(contestant))
            print(f"  run {run + 1}: {contestant.name:<18} {seconds[contestant.name][-1]:8.2f} s", flush=True)
            if run == 0 and contestant.sorts:
                report = validate_files([output])
                if report.unordered or report.checksum != checksum:
                    sys.exit(f"{contestant.name}: the output is wrong")
            output.unlink()
    return seconds


def show(seconds: dict[str, list[float]]) -> None:
    """Print medians with their range, and paired ratios to the floor and to `planner sort` if these were run."""
    for name, values in seconds.items():
        line = f"  {name:<18} {median(values):8.2f} s ({min(values):.2f} to {max(values):.2f})"
        for other in (FLOOR, OURS):
            ratios = [value / base for value, base in zip(values, seconds.get(other, []), strict=False)]
            if ratios:
                line += f"   {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) x {other}"
        print(line)


def main() -> None:
    from planner.units import parse_size

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=parse_size, default=parse_size("10GB"))
    parser.add_argument("--memory", type=parse_size, default=parse_size("2GB"))
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--only", action="append", help="one of those measured; may be repeated")
    parser.add_argument("--directory", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    free_bytes = shutil.disk_usage(options.directory).free
    if free_bytes < 3.1 * options.bytes:
        sys.exit(f"{options.directory} has {free_bytes} bytes free; {3.1 * options.bytes:.0f} are needed")
    with tempfile.TemporaryDirectory(dir=options.directory) as name:
        source, output = generated(Path(name), options.bytes, ascii=True), Path(name) / "output"
        print(f"{options.bytes} bytes in {options.memory} bytes of memory")
        everyone = contestants(source, output, options.memory)
        chosen = [contestant for contestant in everyone if options.only is None or contestant.name in options.only]
        if not chosen:
            parser.error("--only names none of: " + ", ".join(contestant.name for contestant in everyone))
        show(measure(chosen, source, output, options.runs))


if __name__ == "__main__":
    main()
