"""Random Arrow tables with awkward values, and DuckDB's order of them."""

from __future__ import annotations

import base64
import datetime
import decimal
import random
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe

TIMES = [datetime.datetime(2000 + i, 1, 1, tzinfo=datetime.UTC) for i in (0, 1, 40)]
VALUES: dict[str, tuple[Any, list[Any]]] = {
    "small": (pa.int32(), [0, -1, 7, 2**31 - 1]),
    "big": (pa.uint64(), [0, 2**64 - 1, 9]),
    "real": (pa.float64(), [0.0, -0.0, 1.5, float("inf"), float("-inf"), float("nan"), -1e308]),
    "single": (pa.float32(), [0.0, -0.0, float("nan"), 2.5]),
    "price": (pa.decimal128(20, 2), [decimal.Decimal("1.50"), decimal.Decimal("-3"), decimal.Decimal("1e17")]),
    "at": (pa.timestamp("us", "UTC"), TIMES),
    "day": (pa.date32(), [time.date() for time in TIMES]),
    "name": (pa.string(), ["", "a", "b", "ab", "é", "z" * 50, "B"]),
    "blob": (pa.binary(), [b"", b"\0", b"\xff", b"a\0b"]),
    "flag": (pa.bool_(), [True, False]),
    "color": (pa.dictionary(pa.int8(), pa.string()), ["red", "blue", "green"]),
}


def random_table(chance: random.Random, rows: int) -> Any:
    """Return a table of all types, with columns of lists and structs, and the number of each row."""
    columns = {}
    for name, (arrow_type, values) in VALUES.items():
        drawn = [chance.choice([None, *values]) for _ in range(rows)]
        array = pa.array(drawn, type=arrow_type.value_type if name == "color" else arrow_type)
        columns[name] = array.dictionary_encode().cast(arrow_type) if name == "color" else array
    columns["list"] = pa.array([[i, None] * (i % 3) for i in range(rows)], type=pa.list_(pa.int64()))
    columns["pair"] = pa.array(
        [{"x": i, "y": str(i)} for i in range(rows)], pa.struct({"x": pa.int64(), "y": pa.string()})
    )
    columns["row"] = pa.array(range(rows), pa.int64())
    return pa.table(columns).replace_schema_metadata({"made by": "a test"})


def random_keys(chance: random.Random) -> list[str]:
    """Return some columns with their directions."""
    names = chance.sample(list(VALUES), chance.randint(1, 4))
    return [name + chance.choice(["", ":asc", ":desc"]) + chance.choice(["", ":first", ":last"]) for name in names]


def order_of_duckdb(table: Any, keys: list[str]) -> list[int]:
    """Return the row numbers in DuckDB's order, equal rows in input order."""
    order = []
    for key in keys:
        name, *words = key.split(":")
        order.append(f'"{name}" {"DESC" if "desc" in words else "ASC"} NULLS {"FIRST" if "first" in words else "LAST"}')
    with duckdb.connect() as connection:
        connection.register("t", table)
        rows = connection.sql(f"SELECT row FROM t ORDER BY {', '.join(order)}, row").fetchall()
    return [row for (row,) in rows]


class _NoKeyServer(pe.KmsClient):  # type: ignore[misc]
    """Keys stored next to the data they encrypt, which no one should do."""

    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
        """Return a key as text."""
        del master_key_identifier
        return base64.b64encode(key_bytes)

    def unwrap_key(self, wrapped_key: bytes, master_key_identifier: str) -> bytes:
        """Return the key in a text."""
        del master_key_identifier
        return base64.b64decode(wrapped_key)


def write_encrypted(path: Path, table: Any) -> None:
    """Write Parquet with an encrypted first column and a plain footer."""
    how = pe.EncryptionConfiguration(
        footer_key="footer", column_keys={"columns": table.schema.names[:1]}, plaintext_footer=True
    )
    properties = pe.CryptoFactory(lambda _: _NoKeyServer()).file_encryption_properties(pe.KmsConnectionConfig(), how)
    pq.write_table(table, path, encryption_properties=properties)


def write_listing(path: Path, table: Any) -> None:
    """Write `part.parquet`, and beside it the file that lists its rows, as Spark and Dask do."""
    footers: list[Any] = []
    pq.write_table(table, path.parent / "part.parquet", metadata_collector=footers)
    footers[0].set_file_path("part.parquet")
    pq.write_metadata(table.schema, path, metadata_collector=footers)
