"""Random tables in the three formats, and their rows as other readers see them."""

from __future__ import annotations

import json
import random
import struct
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog import load_catalog
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC

import planner

FORMATS = ("delta", "iceberg", "parquet")
KEYS = ("id", "amount:desc", "at", "name:first", "price", "day:desc,id", "seen:desc:first")
SMALL = 40_000
"""A target size by which tables of some thousand rows have several files."""


def rows(seed: int, count: int, *, evolved: bool = False) -> pa.Table:
    """Rows with nulls, NaN, decimals, times with zones, and nested columns; evolved ones have a further column."""
    of = random.Random(seed)
    begin = datetime(2026, 1, 1, tzinfo=UTC)

    def some(value: Any) -> Any:
        return None if of.random() < 0.1 else value

    def number() -> float:
        return of.choice([float("nan"), float("inf"), -0.0, 0.0, of.gauss(0, 1e6), of.gauss(0, 1e6), of.gauss(0, 1)])

    def column(value_type: pa.DataType, value: Any) -> pa.Array:
        return pa.array([value() for _ in range(count)], value_type)

    def nested() -> Any:
        return {"x": some(number()), "tags": some([some(f"t{place}") for place in range(of.randrange(3))])}

    made = {
        "id": column(pa.int64(), lambda: some(of.randrange(-(10**12), 10**12))),
        "amount": column(pa.float64(), lambda: some(number())),
        "price": column(pa.decimal128(18, 2), lambda: some(Decimal(of.randrange(10**10)) / 100)),
        "at": column(pa.timestamp("us", "UTC"), lambda: some(begin + timedelta(microseconds=of.randrange(10**13)))),
        "seen": column(pa.date32(), lambda: some(date(2026, 1, 1) + timedelta(days=of.randrange(400)))),
        "day": column(pa.date32(), lambda: date(2026, 1, of.randrange(1, 28))),
        "name": column(
            pa.string(), lambda: some("é" * of.randrange(3) + f"{of.randrange(10**6):x}" * of.randrange(1, 20))
        ),
        "flag": column(pa.bool_(), lambda: some(of.random() < 0.5)),
        "raw": column(pa.binary(), lambda: some(of.randbytes(of.randrange(9)))),
        "nested": column(pa.struct({"x": pa.float64(), "tags": pa.list_(pa.string())}), lambda: some(nested())),
        "pairs": column(
            pa.map_(pa.string(), pa.int64()),
            lambda: some([(f"k{place}", some(place)) for place in range(of.randrange(3))]),
        ),
        "region": column(pa.string(), lambda: of.choice(["eu", "us west/ü%", None])),
    }
    if evolved:
        made["later"] = column(pa.int32(), lambda: some(of.randrange(99)))
    return pa.table(made)


@dataclass
class Made:
    """A table that a test made, and how others write to it and read it."""

    kind: str
    location: str
    options: dict[str, Any]

    def open(self) -> planner.Table:
        """Open it as `planner.table` does."""
        return planner.table(self.location, **self.options)

    def iceberg(self) -> Any:
        """Return the table as pyiceberg has it."""
        return load_catalog(**self.options["catalog"]).load_table(self.location)

    def append(self, table: pa.Table, *, by: str | None = "region") -> None:
        """Append with the library of the format."""
        if self.kind == "delta":
            mode = "merge" if Path(self.location, "_delta_log").exists() else None
            write_deltalake(self.location, table, mode="append", partition_by=[by] if by else None, schema_mode=mode)
        elif self.kind == "iceberg":
            opened = self.iceberg()
            with opened.update_schema() as change:
                change.union_by_name(table.schema)
            opened.append(table)
        else:
            pq.write_to_dataset(table, self.location, partition_cols=[by] if by else None)

    def delete(self, where: str) -> None:
        """Delete rows with the library of the format."""
        if self.kind == "delta":
            DeltaTable(self.location).delete(where)
        else:
            with warnings.catch_warnings(action="ignore"):  # where no row fits
                self.iceberg().delete(where)

    def compact(self) -> None:
        """Let another writer replace all files by one with the same rows."""
        if self.kind == "delta":
            DeltaTable(self.location).optimize.compact()
        else:
            opened = self.iceberg()
            opened.overwrite(opened.scan().to_arrow())

    def library_rows(self, version: str | None = None) -> list[str]:
        """Return the rows of a version as the format's own library reads them."""
        if self.kind == "delta":
            found = DeltaTable(self.location, version=None if version is None else int(version)).to_pyarrow_table()
        elif self.kind == "iceberg":
            found = self.iceberg().scan(snapshot_id=None if version is None else int(version)).to_arrow()
        else:
            found = pa.dataset.dataset(self.location, partitioning="hive", schema=self._schema()).to_table()
        return canonical(found)

    def _schema(self) -> pa.Schema:
        files = [pq.read_schema(path) for path in Path(self.location).rglob("*.parquet")]
        found = pa.unify_schemas([schema.remove_metadata() for schema in files])
        return found if "region" in found.names else found.append(pa.field("region", pa.string()))

    def duckdb_rows(self) -> list[str]:
        """Return the rows that DuckDB reads from the live files; without the partition column."""
        if self.kind == "delta":
            files = [unquote(uri) if "://" in uri else uri for uri in DeltaTable(self.location).file_uris()]
        elif self.kind == "iceberg":
            files = [task.file.file_path.removeprefix("file://") for task in self.iceberg().scan().plan_files()]
        else:
            files = [str(path) for path in Path(self.location).rglob("*.parquet")]
        if not files:
            return []
        read = duckdb.sql(
            "select * from read_parquet($files, union_by_name=true, hive_partitioning=false)", params={"files": files}
        )
        return canonical(read.to_arrow_table())


def canonical(table: pa.Table) -> list[str]:
    """Return rows as sorted texts that tell every value apart, but for the partition column's place."""
    names = sorted(name for name in table.column_names if name != "region")
    return sorted(repr([_plain(row[name]) for name in names]) for row in table.to_pylist())


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, dict):
        return sorted((key, _plain(each)) for key, each in value.items())
    if isinstance(value, list | tuple):
        items = [_plain(each) for each in value]
        return sorted(items, key=repr) if items and isinstance(items[0], list) else items
    return value


def make(kind: str, folder: Path, tables: Iterable[pa.Table], *, by: str | None = "region") -> Made:
    """Make a table of a format of several appends."""
    if kind != "iceberg":
        made = Made(kind, str(folder / kind), {})
        for table in tables:
            made.append(table, by=by)
        return made
    (folder / "warehouse").mkdir()
    properties = {"name": "tests", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/warehouse"}
    catalog = load_catalog(**properties)
    catalog.create_namespace("shop")
    made = Made(kind, "shop.orders", {"catalog": properties})
    for number, table in enumerate(tables):
        if not number:
            opened = catalog.create_table(
                "shop.orders", schema=table.schema, partition_spec=UNPARTITIONED_PARTITION_SPEC
            )
            if by:
                with opened.update_spec() as spec:
                    spec.add_identity(by)
        made.append(table, by=by)
    return made


def add_deletion_vector(location: Path, deleted: list[int]) -> None:
    """Add a deletion vector to the first file of a Delta table, as Spark writes a small one into the log."""
    from pyroaring import BitMap64

    opened = DeltaTable(location)
    action = pa.table(opened.get_add_actions()).to_pylist()[0]
    content = struct.pack("<i", 1681511377) + BitMap64(deleted).serialize()
    content += b"\0" * (-len(content) % 4)
    vector = {
        "storageType": "i",
        "pathOrInlineDv": _z85(content),
        "sizeInBytes": len(content),
        "cardinality": len(deleted),
    }
    about = {"path": action["path"], "partitionValues": {}, "size": action["size_bytes"], "dataChange": True}
    feature = ["deletionVectors"]
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": feature, "writerFeatures": feature}
    statistics = json.dumps({"numRecords": action["num_records"]})
    lines = [
        {"protocol": protocol},
        {"remove": {**about, "deletionTimestamp": 1, "extendedFileMetadata": True}},
        {"add": {**about, "modificationTime": 1, "deletionVector": vector, "stats": statistics}},
    ]
    log = location / "_delta_log" / f"{opened.version() + 1:020}.json"
    log.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")


def _z85(content: bytes) -> str:
    digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    words = struct.unpack(f">{len(content) // 4}I", content)
    return "".join(digits[word // 85**power % 85] for word in words for power in (4, 3, 2, 1, 0))
