"""Small whole files of every form that sorts read, to be damaged: Parquet, compressed text and compressed records."""

from __future__ import annotations

import bz2
import lzma
import random
import struct
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import cramjam
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

ROWS = 60
CODECS = ("none", "none", "none", "snappy", "gzip", "brotli", "zstd", "lz4")
ENCODINGS: dict[str, tuple[str, ...]] = {
    "k": ("PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"),
    "s": ("PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"),
    "f": ("PLAIN", "BYTE_STREAM_SPLIT"),
    "x": ("PLAIN", "BYTE_STREAM_SPLIT", "DELTA_BYTE_ARRAY"),
    "b": ("PLAIN", "RLE"),
    "i": ("PLAIN", "DELTA_BINARY_PACKED"),
}


def _columns() -> dict[str, Any]:
    """Return the columns by their letters: `k` is the key."""
    numbers = range(ROWS)
    times = [datetime(2026, 1, 1, i % 24, i, tzinfo=UTC).replace(tzinfo=None) for i in numbers]
    return {
        "k": pa.array([i * 7919 % ROWS for i in numbers], pa.int64()),
        "s": pa.array([None if i % 7 == 0 else f"text {i % 5}" for i in numbers]),
        "f": pa.array([i / 7 for i in numbers]),
        "x": pa.array([b"%04d" % (i * 31) for i in numbers], pa.binary(4)),
        "b": pa.array([i % 3 == 0 for i in numbers]),
        "i": pa.array([None if i % 11 == 0 else i - 30 for i in numbers], pa.int32()),
        "l": pa.array([[i] * (i % 3) for i in numbers]),
        "n": pa.array([{"x": i, "y": [str(i)]} for i in numbers]),
        "m": pa.array([[(f"{i}", i)] * (i % 2) for i in numbers], pa.map_(pa.string(), pa.int64())),
        "d": pa.array([Decimal(i * 37) / 100 for i in numbers], pa.decimal128(20, 2)),
        "t": pa.array(times, pa.timestamp("us")),
        "c": pa.array([f"c{i % 4}" for i in numbers]).dictionary_encode(),
        "o": pa.DictionaryArray.from_arrays([i % 3 for i in numbers], ["low", "middle", "high"], ordered=True),
    }  # fmt: skip


COLUMNS = _columns()


def table_file(chance: random.Random) -> bytes:
    """Return a Parquet file of a few columns in one of the many forms that pyarrow writes."""
    letters = ["k", *chance.sample([letter for letter in COLUMNS if letter != "k"], chance.randint(1, 3))]
    how: dict[str, Any] = {
        "compression": chance.choice(CODECS),
        "data_page_version": chance.choice(("1.0", "2.0")),
        "row_group_size": chance.choice((ROWS, 20)),
        "data_page_size": chance.choice((None, 100)),
        "write_batch_size": chance.choice((None, 10)),
        "write_statistics": chance.random() < 0.5,
        "write_page_index": chance.random() < 0.3,
        "write_page_checksum": chance.random() < 0.15,
        "store_schema": chance.random() < 0.7,
        "use_deprecated_int96_timestamps": chance.random() < 0.3,
        "store_decimal_as_integer": chance.random() < 0.3,
        "bloom_filter_options": {"k": True} if chance.random() < 0.2 else None,
    }
    if chance.random() < 0.6:
        encodings = {letter: chance.choice(ENCODINGS[letter]) for letter in letters if letter in ENCODINGS}
        how |= {"use_dictionary": False, "column_encoding": encodings}
    file = pa.BufferOutputStream()
    pq.write_table(pa.table({letter: COLUMNS[letter] for letter in letters}), file, **how)
    return bytes(file.getvalue())


def text() -> bytes:
    """Return rows of CSV without a heading, of which the second column and the line are keys."""
    return b"".join(b"%d,%d\n" % (i * 7919 % 1000, i) for i in range(1000))


def records() -> bytes:
    """Return records of 100 bytes."""
    return random.Random(5).randbytes(100 * 100)


def _bgzf(content: bytes) -> bytes:
    """Return gzip members that state their sizes, and the empty one that ends such a file."""
    return b"".join(_bgzf_member(content[at : at + 3000]) for at in range(0, len(content), 3000)) + _bgzf_member(b"")


def _bgzf_member(content: bytes) -> bytes:
    made = zlib.compressobj(6, zlib.DEFLATED, -15)
    data = made.compress(content) + made.flush()
    head = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0" + struct.pack("<H", len(data) + 25)
    return head + data + struct.pack("<II", zlib.crc32(content), len(content))


def _zstd(content: bytes, chance: random.Random) -> bytes:
    how = zstandard.ZstdCompressionParameters.from_level(
        3,
        write_checksum=chance.random() < 0.5,
        write_content_size=chance.random() < 0.5,
        window_log=chance.choice((10, 20, 27, 30)),
        enable_ldm=chance.random() < 0.3,
    )
    skipped = b"\x50\x2a\x4d\x18\x04\0\0\0skip" if chance.random() < 0.2 else b""
    return skipped + zstandard.ZstdCompressor(compression_params=how).compress(content)


def _xz(content: bytes, chance: random.Random) -> bytes:
    check = chance.choice((lzma.CHECK_NONE, lzma.CHECK_CRC32, lzma.CHECK_CRC64, lzma.CHECK_SHA256))
    return lzma.compress(content, preset=0, check=check)


COMPRESSED: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "gz": lambda content, _: zlib.compress(content, 6, 31),
    "bgz.gz": lambda content, _: _bgzf(content),
    "bz2": lambda content, _: bz2.compress(content, 1),
    "xz": _xz,
    "zst": _zstd,
    "lz4": lambda content, _: pa.compress(content, codec="lz4", asbytes=True),
    "frames.lz4": lambda content, _: bytes(cramjam.lz4.compress(content)),
    "sz": lambda content, _: bytes(cramjam.snappy.compress(content)),
}


def compressed(content: bytes, form: str, chance: random.Random) -> bytes:
    """Return content compressed, as one stream or as several, one after the other."""
    parts = [content]
    if chance.random() < 0.4:
        cut = chance.randrange(0, len(content) + 1, 100)
        parts = [content[:cut], content[cut:]]
    return b"".join(COMPRESSED[form](part, chance) for part in parts)
