"""CSV and Parquet, or one into the other, sorted by columns against DuckDB, and qsv where it is installed: in turn,
outputs compared. With `--format delta` the sorted rewrite of a Delta table of 8 appends that all overlap: `planner
table sort` proves and commits it, DuckDB copies the same files in order, and delta-rs z-orders the table; its order is
another, so only its rows are counted.

Memory is the greatest resident set. Spill is the most space that the file system lacks meanwhile, without what is there
afterwards; what others write there counts, too.

Whole processes are timed, with the start of Python. The input is warm. DuckDB has the same threads and memory, reads
columns of CSV with their types given, and keeps no order among equal keys, which saves it work. `qsv extsort` compares
texts, so it runs where all keys are ascending texts; the index that it needs is made before and is not timed.

python benchmarks/sort/bench_tables.py --bytes 500MB --memory 4GB --threads 2 --runs 5
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
BLOCK_ROWS = 50_000
TYPES = "{'id': 'BIGINT', 'customer': 'VARCHAR', 'amount': 'DECIMAL(18,2)', 'time': 'TIMESTAMP', 'note': 'VARCHAR'}"
KINDS = ["csv", "parquet", "csv to parquet", "parquet to csv", "delta"]
DELTA_FILES = 8
ORDERS = {"customer, amount descending": ("customer", "amount:num:desc"), "time": ("time",), "amount": ("amount:num",)}


def write_csv(path: Path, size_bytes: int) -> None:
    """Write sales with a quoted note, which contains commas and now and then a newline."""
    chance = random.Random(29)
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
    with path.open("w", newline="") as file:
        file.write("id,customer,amount,time,note\n")
        number = 0
        while file.tell() < size_bytes:
            rows = []
            for _ in range(BLOCK_ROWS):
                bits = chance.getrandbits(100)
                day, second = (bits >> 20) % 28 + 1, (bits >> 30) % 86400
                clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
                rows.append(
                    f"{number},{words[bits & 7]}{(bits >> 60) % 20011},{bits % 10_000_019 / 100:.2f},"
                    f"2025-{(bits >> 8) % 12 + 1:02}-{day:02} {clock},"
                    f'"what, {words[bits >> 3 & 7]}{chr(10) if bits % 50 == 0 else " "}else {bits >> 40:x}"\n'
                )
                number += 1
            file.writelines(rows)


DUCKDB = """
import sys, duckdb
query, threads, memory, folder = sys.argv[1:]
connection = duckdb.connect()
connection.execute(f"SET threads = {threads}; SET memory_limit = '{memory}B'; SET temp_directory = '{folder}';")
connection.execute("SET preserve_insertion_order = false")
connection.execute(query)
"""
DELTA_RS = """
import sys, deltalake
folder, columns, memory = sys.argv[1:]
deltalake.DeltaTable(folder).optimize.z_order(columns.split(","), max_spill_size=int(memory))
"""
READ = {"csv": f"read_csv('FILE', header = true, columns = {TYPES})", "parquet": "'FILE'", "delta": "'FILE/*.parquet'"}
WRITE = {
    "csv": "HEADER, DELIMITER ','",
    "parquet": "FORMAT parquet, COMPRESSION zstd",
    "delta": "FORMAT parquet, COMPRESSION snappy",
}


def write_delta(folder: Path, source: Path) -> None:
    """Append the rows of a file of Parquet to a new Delta table, in about equal parts."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from deltalake import WriterProperties, write_deltalake

    file, waiting = pq.ParquetFile(source), []
    rows = -(-file.metadata.num_rows // DELTA_FILES)
    for batch in chain(file.iter_batches(1 << 18), [None]):
        waiting += [] if batch is None else [batch]
        if waiting and (batch is None or sum(map(len, waiting)) >= rows):
            how = WriterProperties(compression="SNAPPY")
            write_deltalake(folder, pa.Table.from_batches(waiting), mode="append", writer_properties=how)
            waiting = []


@dataclass(frozen=True)
class Run:
    """What a process took."""

    clock: float
    processor: float
    memory_mb: float
    spill_mb: float


def run_of(command: list[str], folder: Path) -> Run:
    """Run a command whose files are in a folder."""
    start, ended, least, most = time.perf_counter(), threading.Event(), [_free_mb(folder)], [0.0]

    def watch() -> None:
        while not ended.wait(0.05):
            least.append(_free_mb(folder))
            most.append(_memory_mb(running.pid))

    watching = threading.Thread(target=watch)
    with tempfile.TemporaryFile() as said:
        running = subprocess.Popen(command, stdout=said, stderr=said)
        watching.start()
        _, status, used = os.wait4(running.pid, 0)
        clock = time.perf_counter() - start
        running.returncode = os.waitstatus_to_exitcode(status)
        ended.set()
        watching.join()
        if running.returncode != 0:
            said.seek(0)
            sys.exit(f"{command[0]} failed: {said.read().decode()}")
    spill = max(_free_mb(folder) - min(least), 0)
    return Run(clock, used.ru_utime + used.ru_stime, max(most), spill)


def _memory_mb(process: int) -> float:
    try:
        said = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    except OSError:  # it has ended
        return 0.0
    found = re.search(r"VmHWM:\s+(\d+) kB", said)
    return int(found[1]) * 1024 / 1e6 if found else 0.0


def _free_mb(folder: Path) -> float:
    there = os.statvfs(folder)
    return there.f_bfree * there.f_frsize / 1e6


def programs(kind: str, keys: tuple[str, ...], source: Path, options: argparse.Namespace) -> dict[str, list[str]]:
    """Return the commands, each without its output."""
    names = [key.partition(":")[0] for key in keys]
    order = ", ".join(name + " DESC" * ("desc" in key) for name, key in zip(names, keys, strict=True))
    read, _, written = kind.partition(" to ")
    typed = [key.replace(":num", "") if kind != "csv" else key for key in keys]
    program = str(Path(sys.executable).with_name("planner"))
    limits = ["--threads", str(options.threads), "--memory", f"{options.memory}B"]
    if kind == "delta":
        planner = [program, "table", "sort", "OUTPUT", "--sort-by", ",".join(key.replace(":num", "") for key in keys)]
    else:
        planner = [program, "sort", "--format", read, "--force", str(source), "OUTPUT"]
        planner += (word for key in typed for word in ("--key", key))
    rows = READ[read].replace("FILE", str(source))
    how = "FORMAT parquet" if kind == "parquet" else WRITE[written or read]
    query = f"COPY (SELECT * FROM {rows} ORDER BY {order}) TO 'OUTPUT' ({how})"
    there = str(source.parent)
    all_programs = {
        "planner sort": [*planner, *limits],
        "DuckDB": [
            sys.executable, "-c", DUCKDB, query, str(options.threads), str(options.memory), there
        ],
    }  # fmt: skip
    if kind == "delta":
        limits = ["OUTPUT", ",".join(names), str(options.memory)]
        all_programs["delta-rs"] = [sys.executable, "-c", DELTA_RS, *limits]
    if kind == "csv" and options.qsv and not any(":" in key for key in keys):
        select = ["--select", ",".join(names), "--jobs", str(options.threads)]
        all_programs["qsv extsort"] = [options.qsv, "extsort", *select, str(source), "OUTPUT"]
    return all_programs


def _written(kind: str) -> str:
    return "parquet" if kind == "delta" else kind.rsplit(" to ", maxsplit=1)[-1]


def check(kind: str, outputs: list[Path], keys: tuple[str, ...]) -> None:
    """Compare the key columns of all outputs; equal keys may come in any order."""
    import duckdb

    columns = ", ".join(key.partition(":")[0] for key in keys)
    found = []
    for output in outputs:
        rows, place = READ[_written(kind)].replace("FILE", str(output)), "row_number() OVER ()"
        if (output / "_delta_log").is_dir():
            from deltalake import DeltaTable

            table = DeltaTable(output)
            is_z_ordered = "Z-order" in str(table.history(1)[0]) or "zOrder" in str(table.history(1)[0])
            rows, place = f"read_parquet({table.file_uris()})", "0" if is_z_ordered else place
        query = f"SELECT count(*), sum(hash({columns}, place)) FROM (SELECT {columns}, {place} AS place FROM {rows})"
        count, ordered = duckdb.sql(query).fetchall()[0]
        found.append((count, ordered if place != "0" else found[0][1]))
    if any(other != found[0] for other in found):
        sys.exit(f"{kind}: the outputs differ: {found}")


def measure(kind: str, name: str, source: Path, options: argparse.Namespace) -> None:
    """Run all in turn, once to warm up; print medians and the ratios of pairs."""
    commands = programs(kind, ORDERS[name], source, options)
    outputs = [source.with_name(f"out{i}.{_written(kind)}") for i in range(len(commands))]
    runs: dict[str, list[Run]] = {program: [] for program in commands}
    for number in range(options.runs + 1):
        for (program, command), output in zip(commands.items(), outputs, strict=True):
            if kind == "delta" and program != "DuckDB":
                shutil.copytree(source, output)
                os.sync()
            took = run_of([word.replace("OUTPUT", str(output)) for word in command], source.parent)
            if number > 0:
                runs[program].append(took)
        if number == 0:
            check(kind, outputs, ORDERS[name])
        for output in outputs:
            if output.is_dir():
                shutil.rmtree(output)
            else:
                output.unlink()
    size = sum(path.stat().st_size for path in (source.glob("*.parquet") if source.is_dir() else [source]))
    print(f"{kind}, {size / 1e6:.0f} MB, by {name}, load {os.getloadavg()[0]:.1f}")
    for what in ("clock", "processor"):
        show(what, {program: [getattr(run, what) for run in measured] for program, measured in runs.items()})
    for program, measured in runs.items():
        memory, spill = (max(getattr(run, what) for run in measured) for what in ("memory_mb", "spill_mb"))
        print(f"  {program:<13} at most {memory:.0f} MB of memory, {spill:.0f} MB of spill", flush=True)


def show(what: str, seconds: dict[str, list[float]]) -> None:
    """Print medians, spreads and the ratios of pairs."""
    ours = seconds["planner sort"]
    for program, values in seconds.items():
        ratios = [theirs / own for own, theirs in zip(ours, values, strict=True)]
        print(
            f"  {what:<9} {program:<13} {median(values):7.3f} s ({min(values):.3f} to {max(values):.3f}),"
            f" {median(ratios):.2f} times ours ({min(ratios):.2f} to {max(ratios):.2f})",
            flush=True,
        )


def main() -> None:
    from planner.units import parse_size

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=parse_size, default=parse_size("500MB"), help="of CSV")
    parser.add_argument("--memory", type=parse_size, default=parse_size("4GB"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--format", choices=KINDS, action="append", help="csv and parquet otherwise")
    parser.add_argument("--order", choices=ORDERS, action="append", help="all of them otherwise")
    parser.add_argument("--directory", type=Path, default=ROOT / "build")
    parser.add_argument("--qsv", default=shutil.which("qsv"), help="the program qsv; what is on PATH otherwise")
    options = parser.parse_args()
    if not options.qsv:
        print("qsv is left out: it is not on PATH, and --qsv PATH does not say where it is")
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        sources = {kind: Path(folder) / f"in.{kind}" for kind in ("csv", "parquet", "delta")}
        write_csv(sources["csv"], options.bytes)
        kinds = options.format or ["csv", "parquet"]
        if options.qsv and "csv" in kinds:
            subprocess.run([options.qsv, "index", str(sources["csv"])], check=True)
        if any(kind.startswith(("parquet", "delta")) for kind in kinds):
            import duckdb

            table = f"read_csv('{sources['csv']}', header = true, columns = {TYPES})"
            duckdb.sql(f"COPY (SELECT * FROM {table}) TO '{sources['parquet']}' (FORMAT parquet)")
        if "delta" in kinds:
            write_delta(sources["delta"], sources["parquet"])
        for kind in kinds:
            for order in options.order or ORDERS:
                measure(kind, order, sources[kind.partition(" to ")[0]], options)


if __name__ == "__main__":
    main()
