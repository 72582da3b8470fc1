"""CSV and Parquet, or one into the other, sorted by columns against DuckDB, and qsv where it is installed: in turn,
outputs compared. With `--format delta` the sorted rewrite of a Delta table of 8 files that all overlap: `planner table
sort` proves and commits it, DuckDB copies the same files in order.

Whole processes are timed, with the start of Python. The input is warm. DuckDB has the same threads and memory, reads
columns of CSV with their types given, and keeps no order among equal keys, which saves it work. `qsv extsort` compares
texts, so it runs where all keys are ascending texts; the index that it needs is made before and is not timed.

python benchmarks/sort/bench_tables.py --bytes 500MB --memory 4GB --threads 2 --runs 5
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
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
READ = {"csv": f"read_csv('FILE', header = true, columns = {TYPES})", "parquet": "'FILE'", "delta": "'FILE/*.parquet'"}
WRITE = {
    "csv": "HEADER, DELIMITER ','",
    "parquet": "FORMAT parquet, COMPRESSION zstd",
    "delta": "FORMAT parquet, COMPRESSION snappy",
}


def write_delta(folder: Path, source: Path) -> None:
    """Append the rows of a file of Parquet to a new Delta table, in equal parts."""
    import pyarrow.parquet as pq
    from deltalake import WriterProperties, write_deltalake

    table = pq.read_table(source)
    rows = -(-table.num_rows // DELTA_FILES)
    for begin in range(0, table.num_rows, rows):
        how = WriterProperties(compression="SNAPPY")
        write_deltalake(folder, table.slice(begin, rows), mode="append", writer_properties=how)


def seconds_of(command: list[str]) -> tuple[float, float]:
    """Return the wall and processor seconds of a command."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed: {done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, used


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
    read = READ[_written(kind)]
    hashes = []
    for output in outputs:
        rows = read.replace("FILE", str(output))
        if (output / "_delta_log").is_dir():
            from deltalake import DeltaTable

            rows = f"read_parquet({DeltaTable(output).file_uris()})"
        rows = f"(SELECT {columns}, row_number() OVER () AS place FROM {rows})"
        hashes.append(duckdb.sql(f"SELECT count(*), sum(hash({columns}, place)) FROM {rows}").fetchall())
    if any(other != hashes[0] for other in hashes):
        sys.exit(f"{kind}: the outputs differ: {hashes}")


def measure(kind: str, name: str, source: Path, options: argparse.Namespace) -> None:
    """Run all in turn, once to warm up; print medians and the ratios of pairs."""
    commands = programs(kind, ORDERS[name], source, options)
    outputs = [source.with_name(f"out{i}.{_written(kind)}") for i in range(len(commands))]
    seconds: dict[str, list[tuple[float, float]]] = {program: [] for program in commands}
    for run in range(options.runs + 1):
        for (program, command), output in zip(commands.items(), outputs, strict=True):
            if kind == "delta" and program == "planner sort":
                shutil.copytree(source, output)
            elapsed = seconds_of([word.replace("OUTPUT", str(output)) for word in command])
            if run > 0:
                seconds[program].append(elapsed)
        if run == 0:
            check(kind, outputs, ORDERS[name])
        for output in outputs:
            if output.is_dir():
                shutil.rmtree(output)
            else:
                output.unlink()
    size = sum(path.stat().st_size for path in (source.glob("*.parquet") if source.is_dir() else [source]))
    print(f"{kind}, {size / 1e6:.0f} MB, by {name}, load {os.getloadavg()[0]:.1f}")
    for number, what in enumerate(("clock", "processor")):
        show(what, {program: [values[number] for values in measured] for program, measured in seconds.items()})


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
