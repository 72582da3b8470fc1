"""Records of fixed size by typed keys, compared with a second order in plain Python."""

from __future__ import annotations

import gzip
import math
import random
import struct
from pathlib import Path
from typing import Any

import pytest
from refusals import refused

from planner.errors import BadInputError
from planner.native import Progress
from planner.sorting.records.keyed import TextOrder
from planner.sorting.records.record_keys import parse_record_key
from planner.sorting.text.text_files import check_text_file, sort_text_files
from planner.sorting.text.text_job import TextJob

WORDS = [b"  12", b"-3.5", b"+007", b" 1.2", b"0.00"]


def value_of(record: bytes, key: str) -> Any:
    """Return the value that a key compares, in plain Python."""
    offset, *rest = key.split(":")
    words = [word for word in rest if word not in ("asc", "desc")]
    form = words[-1] if words and not words[-1].isdigit() else "bytes"
    size = int(words[0]) if words and words[0].isdigit() else int(form[1:].rstrip("lbe")) // 8
    part = record[int(offset) : int(offset) + size]
    if form in ("bytes", "fold"):
        return part.upper() if form == "fold" else part
    if form in ("num", "float"):
        return float(part)
    order = "little" if form.endswith("le") else "big"
    if form.startswith("f"):
        letter = {2: "e", 4: "f", 8: "d"}[size]
        (number,) = struct.unpack(("<" if order == "little" else ">") + letter, part)
        return (1, 0.0) if math.isnan(number) else (0, number)
    return int.from_bytes(part, order, signed=form.startswith("i"))


def expected(records: list[bytes], keys: list[str], *, unique: bool = False) -> list[bytes]:
    """Return the records in order, equal ones in input order, or only the first of them."""
    for key in reversed(keys):
        records = sorted(records, key=lambda record: value_of(record, key), reverse="desc" in key)
    firsts: dict[Any, bytes] = {}
    for record in records:
        firsts.setdefault(tuple(value_of(record, key) for key in keys), record)
    return list(firsts.values()) if unique else records


def random_key(chance: random.Random) -> str:
    """Return a key of a record that has words in its first 4 bytes and any bytes in the other 12."""
    direction = chance.choice(["", ":asc", ":desc"])
    if chance.random() < 0.2:
        return "0:4:" + chance.choice(["num", "float"]) + direction
    if chance.random() < 0.3:
        return f"{chance.randrange(12)}:{chance.randint(1, 4)}:{chance.choice(['bytes', 'fold'])}" + direction
    bits = chance.choice([8, 16, 24, 32, 40, 48, 56, 64])
    letter = chance.choice("uif") if bits in (16, 32, 64) else chance.choice("ui")
    size = chance.choice(["", f"{bits // 8}:"])
    return f"{chance.randint(4, 16 - bits // 8)}:{size}{letter}{bits}{chance.choice(['le', 'be'])}" + direction


def random_record(chance: random.Random) -> bytes:
    special = [0, -0.0, math.nan, -math.nan, math.inf, -math.inf, 1.5, -1.5, 5e-324, 2**-1074]
    form = chance.choice(["<d", ">d"])
    rest = struct.pack(form, chance.choice(special)) + bytes(chance.choice([0, 1, 127, 128, 255]) for _ in range(4))
    return chance.choice(WORDS) + rest


def sorted_records(folder: Path, data: bytes, keys: list[str], *, unique: bool = False, **settings: Any) -> bytes:
    (folder / "in").write_bytes(data)
    parsed = tuple(parse_record_key(key, record_bytes=16) for key in keys)
    order = TextOrder(parsed, stable=True, unique=unique, record_bytes=16)
    job = TextJob(inputs=(str(folder / "in"),), output=str(folder / "out"), force=True, order=order, **settings)
    sort_text_files(job, Progress())
    ours = (folder / "out").read_bytes()
    check = TextJob(inputs=(str(folder / "out"),), order=order)
    assert check_text_file(check, Progress()) is None
    return ours


def check_cases(count: int, folder: Path) -> None:
    chance = random.Random(31)
    for number in range(count):
        records = [random_record(chance) for _ in range(chance.randrange(40))]
        keys = [random_key(chance) for _ in range(chance.randint(1, 3))]
        unique = chance.random() < 0.3
        ours = sorted_records(folder, b"".join(records), keys, unique=unique, threads=1)
        assert ours == b"".join(expected(records, keys, unique=unique)), (number, keys)


def test_random_records_as_the_reference_has_them(tmp_path: Path) -> None:
    check_cases(80, tmp_path)


@pytest.mark.soak
def test_very_many_random_records(tmp_path: Path) -> None:
    check_cases(100_000, tmp_path)


def test_several_runs_and_records_of_one_run(tmp_path: Path) -> None:
    chance = random.Random(32)
    numbers = [chance.getrandbits(20) for _ in range(250_000)]
    records = [struct.pack("<4sqi", b"abcd", number, i) for i, number in enumerate(numbers)]
    records.sort(key=lambda record: record[12:])
    wanted = b"".join(sorted(records, key=lambda record: struct.unpack_from("<q", record, 4)[0]))
    assert sorted_records(tmp_path, b"".join(records), ["4:i64le"], memory_bytes=1) == wanted
    half = len(records) // 2
    (tmp_path / "a").write_bytes(b"".join(sorted(records[:half], key=lambda record: record[4:12][::-1])))
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"".join(sorted(records[half:], key=lambda r: r[4:12][::-1]))))
    order = TextOrder((parse_record_key("4:i64le", record_bytes=16),), stable=True, record_bytes=16)
    job = TextJob(
        inputs=(str(tmp_path / "a"), str(tmp_path / "b.gz")), output=str(tmp_path / "out.gz"), order=order, merge=True,
        force=True, limit=1000,
    )  # fmt: skip
    assert sort_text_files(job, Progress()).lines == 1000
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()) == wanted[:16000]


def test_what_is_no_number_is_named_by_file_and_record(tmp_path: Path) -> None:
    with refused("bad-record", "in: row 2: '1?  '"):
        sorted_records(tmp_path, b"  12".ljust(16) + b"1\0  ".ljust(16), ["0:4:int"])


@pytest.mark.parametrize("size", [1, 15, 17, 3_000_001])
@pytest.mark.parametrize("memory_bytes", [0, 1])
def test_half_a_record_is_refused(tmp_path: Path, size: int, memory_bytes: int) -> None:
    with pytest.raises(BadInputError, match=r"in holds no whole number of records of 16 bytes: \d+ are left over"):
        sorted_records(tmp_path, bytes(size), ["0:4"], memory_bytes=memory_bytes)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("4:u64", "say u64le if the first byte counts least"),
        ("4:4:u64le", "u64le has 8 bytes, not 4"),
        ("4:f24le", "floating-point numbers have 16, 32 or 64 bits"),
        ("4:4:u64l", "Did you mean u64le"),
        ("4:4:int:num", "'num' is one word too many"),
        ("12:8", "bytes 12 to 20 are no part of a record of 16 bytes"),
        ("4:0", "no part of a record"),
        ("4", "a key of records is OFFSET:SIZE"),
    ],
)
def test_keys_that_cannot_be(key: str, message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        parse_record_key(key, record_bytes=16)
