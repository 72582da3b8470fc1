"""Growth of a sort's time with its bytes: each quantity that files have many of is doubled four times.

python benchmarks/sort/bench_exponents.py [--repeats N] [--dir DIR]

An exponent is the slope of a line through the logarithms of number and seconds. The exit code is 1 if one is above 1.1.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import planner

MOST_EXPONENT = 1.1
DOUBLINGS = 4
Call = Callable[[], Any]
RANDOM = np.random.default_rng(1)


def table(rows: int, columns: int = 3) -> Any:
    return pa.table({f"c{number}": RANDOM.integers(0, 1 << 40, rows) for number in range(columns)})


def text(path: Path, rows: int, columns: int = 3) -> Path:
    values = RANDOM.integers(0, 1 << 40, (rows, columns))
    path.write_text(
        ",".join(f"c{number}" for number in range(columns))
        + "\n"
        + "\n".join(",".join(map(str, row)) for row in values.tolist())
        + "\n"
    )
    return path


def parquet(sources: Path | Sequence[Path], folder: Path, keys: Sequence[str] = ("c0",)) -> Call:
    out = folder / "out.parquet"
    return lambda: planner.sort(sources, out, format="parquet", key=keys, force=True, memory_bytes=1 << 30)


def csv(sources: Path | Sequence[Path], folder: Path, keys: Sequence[str] = ("c0:int",), **options: Any) -> Call:
    return lambda: planner.sort(sources, folder / "out.csv", format="csv", key=keys, force=True, **options)


def row_groups(number: int, folder: Path) -> Call:
    pq.write_table(table(number * 50), folder / "in.parquet", row_group_size=50)
    return parquet(folder / "in.parquet", folder)


def columns_of_parquet(number: int, folder: Path) -> Call:
    pq.write_table(table(20_000, number), folder / "in.parquet")
    return parquet(folder / "in.parquet", folder)


def files_of_parquet(number: int, folder: Path) -> Call:
    for i in range(number):
        pq.write_table(table(2_000), folder / f"{i}.parquet")
    return parquet([folder / f"{i}.parquet" for i in range(number)], folder)


def keys_of_parquet(number: int, folder: Path) -> Call:
    pq.write_table(table(100_000, number), folder / "in.parquet")
    return parquet(folder / "in.parquet", folder, [f"c{i}" for i in range(number)])


def columns_of_csv(number: int, folder: Path) -> Call:
    return csv(text(folder / "in.csv", 10_000, number), folder)


def files_of_csv(number: int, folder: Path) -> Call:
    return csv([text(folder / f"{i}.csv", 2_000) for i in range(number)], folder)


def keys_of_csv(number: int, folder: Path) -> Call:
    return csv(text(folder / "in.csv", 50_000, number), folder, [f"c{i}:int" for i in range(number)])


def runs(number: int, folder: Path) -> Call:
    return csv(text(folder / "in.csv", number * 60_000), folder, memory_bytes=16 << 20)


DIMENSIONS: dict[str, tuple[int, Callable[[int, Path], Call]]] = {
    "row groups of Parquet": (500, row_groups),
    "columns of Parquet": (25, columns_of_parquet),
    "files of Parquet": (20, files_of_parquet),
    "keys of Parquet": (2, keys_of_parquet),
    "columns of CSV": (10, columns_of_csv),
    "files of CSV": (20, files_of_csv),
    "keys of CSV": (2, keys_of_csv),
    "runs of CSV": (1, runs),
}


def seconds(call: Call, repeats: int) -> float:
    def once() -> float:
        begin = time.perf_counter()
        call()
        return time.perf_counter() - begin

    return min(once() for _ in range(repeats))


def exponent(numbers: Sequence[int], times: Sequence[float]) -> float:
    return float(np.polyfit(np.log(numbers), np.log(times), 1)[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--dir")
    given = parser.parse_args()
    steepest = 0.0
    print("| doubled | numbers | seconds | exponent |\n|---|---|---|---|")
    for name, (first, prepare) in DIMENSIONS.items():
        numbers, times = [first << i for i in range(DOUBLINGS + 1)], []
        for number in numbers:
            with tempfile.TemporaryDirectory(dir=given.dir) as folder:
                times.append(seconds(prepare(number, Path(folder)), given.repeats))
        slope = exponent(numbers, times)
        steepest = max(steepest, slope)
        shown = ", ".join(f"{value:.2f}" for value in times)
        print(f"| {name} | {numbers[0]} to {numbers[-1]} | {shown} | {slope:.2f} |", flush=True)
    return int(steepest > MOST_EXPONENT)


if __name__ == "__main__":
    raise SystemExit(main())
