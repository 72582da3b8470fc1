"""Random files of all formats, in any layout, dialect and compression, and a check of their order against other
sorters.

    python -m tests.sorting.random_files COUNT SEED

prints the number of cases of each format, and the problems. A case depends only on its number and the seed.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import math
import random
import shutil
import struct
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import cramjam
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

import planner
from planner.compression.lz4_frames import Lz4Compressor
from planner.compression.snappy_frames import IDENTIFIER
from tests.sorting.arrow_tables import order_of_duckdb, random_keys, random_table
from tests.sorting.csv_reference import random_csv
from tests.sorting.gnu_reference import expected, random_case, shown, split
from tests.sorting.random_conversions import conversions

CODECS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstandard.compress,
    ".sz": lambda text: bytes(cramjam.snappy.compress(text)) or IDENTIFIER,
    ".lz4": lambda text: (frame := Lz4Compressor()).compress(text) + frame.flush(),
}  # fmt: skip
BINARY = {"u16le": "<H", "u32be": ">I", "i32le": "<i", "i64be": ">q", "f64le": "<d", "f32be": ">f"}
WIDER = {"small": pa.int64(), "single": pa.float64(), "price": pa.decimal128(24, 4)}
MEMORY_BYTES = [32 << 20, 64 << 20, None]
Problem = str | None


def parts_of(items: Sequence[Any], chance: random.Random) -> list[Sequence[Any]]:
    """Cut a sequence into one to three pieces, some possibly empty."""
    cuts = sorted(chance.randint(0, len(items)) for _ in range(chance.choice([0, 0, 1, 2])))
    return [items[a:b] for a, b in zip([0, *cuts], [*cuts, len(items)], strict=True)]


def put_texts(texts: Sequence[bytes], folder: Path, chance: random.Random, suffix: str = "") -> list[Path]:
    """Write texts to files, each with a random compression."""
    paths = []
    for number, text in enumerate(texts):
        codec = chance.choice([*CODECS, "", ""])
        paths.append(folder / f"{number}{suffix}{codec}")
        paths[-1].write_bytes(CODECS[codec](text))
    return paths


def common_options(chance: random.Random) -> dict[str, Any]:
    return {"memory_bytes": chance.choice(MEMORY_BYTES), "threads": chance.choice([1, 2, None]),
            "consume_input": chance.random() < 0.2}  # fmt: skip


def sorted_bytes(sources: Sequence[Path], folder: Path, **options: Any) -> bytes:
    planner.sort(sources, folder / "out", **options)
    return (folder / "out").read_bytes()


def lines(chance: random.Random, folder: Path) -> Problem:
    """Sort lines by keys, as GNU sort's manual describes."""
    case = replace(random_case(chance), reversed=False)
    if any("R" in key.options for key in case.keys):
        case = replace(case, keys=())
    pieces = parts_of(split(case.text, case.line_end), chance)
    texts = [b"".join(line + case.line_end for line in piece) for piece in pieces]
    if chance.random() < 0.3:
        texts = [text if text[-2:-1] in (b"", case.line_end) else text.removesuffix(case.line_end) for text in texts]
    is_zero = case.line_end == b"\0"
    separator = case.separator.decode() if case.separator and case.keys else None
    out = sorted_bytes(
        put_texts(texts, folder, chance), folder, lines=True, key=[shown(key) for key in case.keys] or None,
        separator=separator, stable=case.stable, unique=case.unique, zero_terminated=is_zero, **common_options(chance),
    )  # fmt: skip
    wanted = expected(replace(case, stable=case.stable or (case.unique and bool(case.keys))))
    return None if out == wanted else f"{out!r} instead of {wanted!r}"


def csv_rows(chance: random.Random, folder: Path) -> Problem:
    """Sort CSV rows by columns, sometimes with a detected separator."""
    quote = chance.choice(["'", '"', '"', '"'])
    case, is_unique = random_csv(chance, quote=quote), chance.random() < 0.3
    texts = [case.header + b"".join(row for _, row in piece) for piece in parts_of(case.rows, chance)]
    mark = b"\xef\xbb\xbf" if chance.random() < 0.2 else b""
    texts = [mark + text for text in texts]
    if case.names[0].count("\n") or len(case.names) == 1 or chance.random() < 0.5:
        options: dict[str, Any] = {"separator": case.delimiter}
    else:
        options = {}
    if quote == "'" or chance.random() < 0.3:
        options["quote"] = quote
    out = sorted_bytes(
        put_texts(texts, folder, chance, ".csv"), folder, format="csv", no_header=False, unique=is_unique,
        key=[key.text(case.names[key.column]) for key in case.keys], **options, **common_options(chance),
    )  # fmt: skip
    wanted = mark + case.expected(unique=is_unique)
    return None if out == wanted else f"{out!r} instead of {wanted!r}"


def records(chance: random.Random, folder: Path) -> Problem:
    """Sort fixed-size records by bytes and by binary numbers, which Python unpacks."""
    size, kind = chance.randint(9, 40), chance.choice(["bytes", *BINARY])
    rows = [bytes(chance.choice(b"\0\1a\x7f\x80\xff") for _ in range(size)) for _ in range(chance.randint(0, 60))]
    width = struct.calcsize(BINARY.get(kind, "4s"))
    offset, falls = chance.randint(0, size - width), chance.random() < 0.5

    def value(row: bytes) -> Any:
        part = row[offset : offset + width]
        (found,) = (part,) if kind == "bytes" else struct.unpack(BINARY[kind], part)
        return (math.isnan(found), 0.0 if math.isnan(found) else found) if kind[0] == "f" else found

    texts = [b"".join(piece) for piece in parts_of(rows, chance)]
    paths = [folder / str(number) for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text)
    key = f"{offset}:{width}:bytes" if kind == "bytes" else f"{offset}:{kind}"
    out = sorted_bytes(paths, folder, record_size=size, key=key + ":desc" * falls, **common_options(chance))
    wanted = b"".join(sorted(rows, key=value, reverse=falls))
    return None if out == wanted else f"{out!r} instead of {wanted!r}, of {size} bytes by {key}"


def with_other_types(table: Any, chance: random.Random) -> Any:
    """Return a table with columns in any order, and some numbers in other widths."""
    for name, wider in WIDER.items():
        if chance.random() < 0.2:
            table = table.set_column(table.column_names.index(name), name, table.column(name).cast(wider))
    return table.select(chance.sample(table.column_names, table.num_columns)) if chance.random() < 0.3 else table


def tables(chance: random.Random, folder: Path) -> Problem:
    """Sort Parquet by columns of all types, as DuckDB orders them."""
    table, keys = random_table(chance, chance.choice([0, 1, 2, 30, 200])), random_keys(chance)
    paths = []
    for number, piece in enumerate(parts_of(range(table.num_rows), chance)):
        paths.append(folder / f"{number}.parquet")
        stored = with_other_types(table.slice(piece.start, len(piece)), chance)
        pq.write_table(
            stored, paths[-1], row_group_size=chance.choice([1, 7, 50, None]),
            compression=chance.choice(["none", "snappy", "gzip", "zstd", "lz4", "brotli"]),
            use_dictionary=chance.choice([True, False, ["name"]]), write_page_index=chance.random() < 0.3,
            write_page_checksum=chance.random() < 0.3, data_page_version=chance.choice(["1.0", "2.0"]),
            version=chance.choice(["2.4", "2.6"]), data_page_size=chance.choice([None, 64]),
            store_schema=number > 0 or chance.random() < 0.7,
        )  # fmt: skip
    options = common_options(chance) | {"memory_bytes": chance.choice([400 << 20, None])}
    planner.sort(paths, folder / "out", format="parquet", key=keys, **options)
    found, wanted = pq.read_table(folder / "out"), order_of_duckdb(table, keys)
    if found.column("row").to_pylist() != wanted:
        return f"rows {found.column('row').to_pylist()} instead of {wanted} by {keys}"
    names = [name for name in table.column_names if name not in ("color", "real", "single")]
    expected_rows = table.take(pa.array(wanted, pa.int64())).select(names)
    same = found.select(names).cast(expected_rows.schema).equals(expected_rows)
    return None if same else f"other values by {keys}"


FORMATS = {
    "lines": lines, "csv": csv_rows, "records": records, "parquet": tables, "conversions": conversions,
}  # fmt: skip
SHARES = ["lines"] * 4 + ["csv"] * 4 + ["records"] * 2 + ["parquet"] + ["conversions"] * 2


def run(count: int, seed: int, folder: Path) -> tuple[Counter[str], list[str]]:
    """Sort `count` cases; return the number of cases of each format, and the problems."""
    counted: Counter[str] = Counter()
    problems = []
    for number in range(count):
        chance = random.Random(f"{seed} {number}")
        name = chance.choice(SHARES)
        counted[name] += 1
        place = folder / str(number)
        place.mkdir()
        try:
            problem = FORMATS[name](chance, place)
        except Exception as error:  # an exception is a problem, too
            problem = f"{type(error).__name__}: {error}"
        if problem:
            problems.append(f"case {number} of seed {seed}, {name}: {problem}")
        shutil.rmtree(place)
    return counted, problems


if __name__ == "__main__":
    wanted_cases, first_seed = int(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as scratch:
        by_format, wrong = run(wanted_cases, first_seed, Path(scratch))
    print(f"seed {first_seed}: {wanted_cases} cases, {dict(by_format)}, {len(wrong)} wrong")
    print("\n".join(text[:600] for text in wrong[:20]))
