"""Text in everyday forms: rows of CSV against a second implementation, compressed files, and invalid input."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import os
import random
import re
import resource
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import cramjam
import pytest
import zstandard
from refusals import refused

from planner.compression.lz4_frames import Lz4Compressor
from planner.compression.text_codecs import Source, open_source
from planner.errors import BadInputError, IoFailureError, PlannerError
from planner.native import Progress
from planner.sorting.records.keyed import TextOrder, sort_text
from planner.sorting.records.keys import parse_key
from planner.sorting.text.text_files import allow_pipes, check_text_file, group_sources, sort_text_files
from planner.sorting.text.text_job import CsvColumns, TextJob
from tests.sorting.csv_reference import CsvCase, random_csv


def sorted_text(folder: Path, text: bytes, *, unique: bool = False, **settings: Any) -> bytes:
    """Return a text sorted through files."""
    source = folder / "in"
    source.write_bytes(text)
    job = TextJob(
        inputs=(str(source),), output=str(folder / "out"), order=TextOrder(unique=unique), temp_dirs=(str(folder),),
        force=True, **settings,
    )  # fmt: skip
    sort_text_files(job, Progress())
    return (folder / "out").read_bytes()


def columns_of(case: CsvCase) -> CsvColumns:
    keys = tuple(key.text(case.names[key.column]) for key in case.keys)
    return CsvColumns(keys=keys, delimiter=case.delimiter.encode())


def check_cases(count: int, folder: Path) -> None:
    """Compare `count` random files with the reference."""
    chance = random.Random(17)
    for number in range(count):
        case = random_csv(chance)
        unique = chance.random() < 0.3
        ours = sorted_text(folder, case.text, unique=unique, csv=columns_of(case), threads=1)
        assert ours == case.expected(unique=unique), (number, case)
        job = TextJob(inputs=(str(folder / "out"),), order=TextOrder(unique=unique), csv=columns_of(case))
        assert check_text_file(job, Progress()) is None, (number, case)


def test_random_rows_as_the_reference_has_them(tmp_path: Path) -> None:
    check_cases(60, tmp_path)


@pytest.mark.soak
def test_very_many_random_rows(tmp_path: Path) -> None:
    check_cases(100_000, tmp_path)


def big_rows(count: int) -> tuple[bytes, list[bytes]]:
    """Return a header, and rows whose third column has quoted newlines and delimiters."""
    chance = random.Random(18)
    rows = [b'%d,%d,"a ""%s"",\nb"\n' % (i, chance.randrange(5000), b"x" * chance.randrange(60)) for i in range(count)]
    return b"id,the number,text\n", rows


def number_of(row: bytes) -> int:
    return int(row.split(b",")[1])


@pytest.mark.parametrize("memory_bytes", [0, 1])
def test_rows_with_newlines_in_one_run_and_in_several(tmp_path: Path, memory_bytes: int) -> None:
    header, rows = big_rows(150_000)
    csv = CsvColumns(keys=("the number:int:desc",))
    ours = sorted_text(tmp_path, header + b"".join(rows), csv=csv, memory_bytes=memory_bytes)
    assert ours == header + b"".join(sorted(rows, key=number_of, reverse=True))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


@pytest.mark.parametrize("has_header", [True, False])
def test_much_text_goes_past_the_page_cache(tmp_path: Path, has_header: bool) -> None:
    """With a header the sorted rows start within a block; without one at byte 0. The last block is not a whole page."""
    rows = [b"%d,%s\n" % (number * 7919 % 100_003, b"x" * 700) for number in range(100_003)]
    csv = CsvColumns(keys=("1:int",), header=has_header)
    header = b"number,text\n" if has_header else b""
    ours = sorted_text(tmp_path, header + b"".join(rows), csv=csv)
    assert ours == header + b"".join(sorted(rows, key=lambda row: int(row.split(b",")[0])))


@pytest.mark.parametrize("wrong", [b"9,1\n", b"9,1,x,y\n", b'9,1,a"b"\n', b"9,one,x\n"])
@pytest.mark.parametrize("memory_bytes", [0, 1])
def test_a_wrong_row_is_named_wherever_it_is(tmp_path: Path, wrong: bytes, memory_bytes: int) -> None:
    header, rows = big_rows(120_000)
    rows[99_999] = wrong  # the header is row 1, so this is row 100001
    with pytest.raises(BadInputError, match=r"in: row 100001: "):
        sorted_text(tmp_path, header + b"".join(rows), csv=CsvColumns(keys=("2:int",)), memory_bytes=memory_bytes)
    assert not (tmp_path / "out").exists()


def test_a_quote_without_an_end_is_no_row(tmp_path: Path) -> None:
    for text in (b'a,b\n1,"x\n', b'a,b\n1,"x\n2,y'):
        with refused("bad-record", "in: row 2"):
            sorted_text(tmp_path, text, csv=CsvColumns(keys=("a",)))


def joined(folder: Path, *texts: bytes, **settings: Any) -> bytes:
    """Return several inputs sorted into one."""
    names = [folder / f"in{i}" for i in range(len(texts))]
    for name, text in zip(names, texts, strict=True):
        name.write_bytes(text)
    job = TextJob(inputs=tuple(map(str, names)), output=str(folder / "out"), force=True, **settings)
    sort_text_files(job, Progress())
    return (folder / "out").read_bytes()


@pytest.mark.parametrize("memory_bytes", [0, 8 << 20])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_blank_lines_are_no_rows_of_several_columns(end: bytes, memory_bytes: int, tmp_path: Path) -> None:
    csv, count = CsvColumns(keys=("n:int",)), 1000 if memory_bytes == 0 else 300_000
    rows = [b"%d,%s" % (i, b"x" * 20) for i in range(count)]
    text = end.join([b"", b"n,x", b"", *rows[::-1], b"", b"", b""])
    settings: dict[str, Any] = {"csv": csv, "memory_bytes": memory_bytes, "threads": 2}
    assert sorted_text(tmp_path, text, **settings) == end.join([b"n,x", *rows, b""])
    assert sorted_text(tmp_path, end.join([b"n,x", *rows, b"", b""]), merge=True, **settings) == end.join(
        [b"n,x", *rows, b""]
    )
    job = TextJob(inputs=(str(tmp_path / "in"),), csv=csv)
    assert check_text_file(job, Progress()) is None
    first = sorted_text(tmp_path, text, unique=True, limit=2, **settings)
    assert first == end.join([b"n,x", *rows[:2], b""])


def test_blank_lines_of_one_column_are_empty_values(tmp_path: Path) -> None:
    assert sorted_text(tmp_path, b"n\n2\n\n1\n", csv=CsvColumns(keys=("n:int",))) == b"n\n1\n2\n\n"


def test_wrong_rows_behind_blank_lines_are_found(tmp_path: Path) -> None:
    with refused("bad-record", "row 4", "3 fields", "2"):
        sorted_text(tmp_path, b"n,x\n1,a\n\n1,2,3\n", csv=CsvColumns(keys=("n:int",)))


@pytest.mark.parametrize("header", [True, False])
def test_empty_files_have_no_rows(header: bool, tmp_path: Path) -> None:
    csv, first = CsvColumns(keys=("1:int",), header=header), b"n,x\n" if header else b""
    assert joined(tmp_path, b"", b"\xef\xbb\xbf", csv=csv) == b""
    assert joined(tmp_path, b"", first + b"2,b\n1,a\n", b"", csv=csv) == first + b"1,a\n2,b\n"


def test_long_windows_of_zstd_are_read_where_memory_has_room(tmp_path: Path) -> None:
    library = pytest.importorskip("zstandard")
    parameters = library.ZstdCompressionParameters(window_log=28)
    packer = library.ZstdCompressor(compression_params=parameters).compressobj()
    text = packer.compress(b"b\na\n") + packer.flush()
    assert sorted_text(tmp_path, text) == b"a\nb\n"
    with refused("memory", "257 MiB", "--memory") as caught:
        sorted_text(tmp_path, text, memory_bytes=100 << 20)
    enough_mb = int(re.search(r"(\d+)MB", caught.value.message)[1])  # type: ignore[index]
    assert sorted_text(tmp_path, text, memory_bytes=enough_mb * 1_000_000) == b"a\nb\n"


@pytest.mark.parametrize("library", [bz2, lzma])
def test_bzip2_and_xz_are_read_and_written(library: Any, tmp_path: Path) -> None:
    assert sorted_text(tmp_path, library.compress(b"b\na\n")) == b"a\nb\n"
    out = tmp_path / ("out.bz2" if library is bz2 else "out.xz")
    sort_text_files(TextJob(inputs=(str(tmp_path / "in"),), output=str(out), force=True), Progress())
    assert library.decompress(out.read_bytes()) == b"a\nb\n"
    with pytest.raises(BadInputError, match=r"bzip2|xz"):
        sorted_text(tmp_path, library.compress(b"b\na\n")[:-4])


def test_lz4_is_read_and_written(tmp_path: Path) -> None:
    text = b"".join(b"%d\n" % (i * 7919 % 100_003) for i in range(100_003))
    content = b""
    for part in (text[:300_000], text[300_000:]):
        frame = Lz4Compressor()
        content += frame.compress(part) + frame.flush()
    assert sorted_text(tmp_path, content) == b"".join(sorted(text.splitlines(keepends=True)))
    out = tmp_path / "out.lz4"
    sort_text_files(TextJob(inputs=(str(tmp_path / "in"),), output=str(out), force=True), Progress())
    assert sorted_text(tmp_path, out.read_bytes()) == b"".join(sorted(text.splitlines(keepends=True)))
    with pytest.raises(BadInputError, match="the LZ4 data are damaged, or end early"):
        sorted_text(tmp_path, content[:-9])


def test_snappy_is_read_and_written(tmp_path: Path) -> None:
    text = b"".join(b"%d\n" % (i * 7919 % 100_003) for i in range(100_003))
    padding = b"\xfe\x03\x00\x00abc"
    first = bytes(cramjam.snappy.compress(text[:300_000]))
    content = first + padding + bytes(cramjam.snappy.compress(text[300_000:]))
    assert sorted_text(tmp_path, content) == b"".join(sorted(text.splitlines(keepends=True)))
    out = tmp_path / "out.sz"
    sort_text_files(TextJob(inputs=(str(tmp_path / "in"),), output=str(out), force=True), Progress())
    assert bytes(cramjam.snappy.decompress(out.read_bytes())) == b"".join(sorted(text.splitlines(keepends=True)))
    damaged = bytearray(content)
    damaged[15] ^= 1  # in the checksum
    for wrong in (content[:-9], content[: len(first) + 5], content + b"\x02\x00\x00\x00", bytes(damaged)):
        with refused("broken-compression"):
            sorted_text(tmp_path, wrong)
    (tmp_path / "in.snappy").write_bytes(b"\0\0\0\5hello")
    with pytest.raises(BadInputError, match="Hadoop frames it"):
        open_source(str(tmp_path / "in.snappy"), Progress())


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress, bz2.compress])
def test_zeros_between_streams_are_padding(compress: Callable[[bytes], bytes], tmp_path: Path) -> None:
    content = compress(b"b\na\n") + b"\0" * 8 + compress(b"c\n") + b"\0" * 4
    assert sorted_text(tmp_path, content) == b"a\nb\nc\n"


def test_several_inputs_have_one_header(tmp_path: Path) -> None:
    csv = CsvColumns(keys=("n:int",))
    assert joined(tmp_path, b"n,x\n3,a\n1,a", b'"n",x\n2,b\n1,b', csv=csv) == b"n,x\n1,a\n1,b\n2,b\n3,a\n"
    merged = joined(tmp_path, b"n,x\n1,a\n3,a", b"n,x\n1,b\n2,b", csv=csv, merge=True, limit=3)
    assert merged == b"n,x\n1,a\n1,b\n2,b\n"
    with refused("header-mismatch", "in1: column 2", "'y'", "'x'"):
        joined(tmp_path, b"n,x\n1,a\n", b"n,y\n1,a\n", csv=csv)


def test_a_quote_that_one_input_lacks_does_not_reach_into_the_next(tmp_path: Path) -> None:
    with refused("bad-record", "in0: row 2"):
        joined(tmp_path, b'a\n"x', b'a\ny"\n', csv=CsvColumns(keys=("a",)))


def test_marks_ends_and_files_without_a_header(tmp_path: Path) -> None:
    mark = b"\xef\xbb\xbf"
    csv = CsvColumns(keys=("n:int",))
    assert sorted_text(tmp_path, mark + b"n\r\n2\r\n1", csv=csv) == mark + b"n\r\n1\r\n2\r\n"
    bare = CsvColumns(keys=("1:int",), header=False)
    assert sorted_text(tmp_path, mark + b"2,x\n1,y\n", csv=bare) == mark + b"1,y\n2,x\n"
    assert sorted_text(tmp_path, b"n", csv=csv) == b"n\n"
    assert sorted_text(tmp_path, b"", csv=csv) == b""
    for encoding in ("utf-16-le", "utf-16-be"):
        with pytest.raises(BadInputError, match="is UTF-16: make it UTF-8 first"):
            sorted_text(tmp_path, "\ufefftime,b\n1,2\n".encode(encoding), csv=csv)


@pytest.mark.parametrize(
    ("word", "kind"), [("number", "num"), ("integer", "int"), ("Double", "float"), ("text", "bytes")]
)
@pytest.mark.parametrize(("order", "direction"), [("ascending", "asc"), ("descending", "desc")])
def test_kinds_and_directions_go_by_their_usual_names(
    tmp_path: Path, word: str, kind: str, order: str, direction: str
) -> None:
    table = b"n,m\n10,a\n9,b\n100,c\n"
    called, usual = f"n:{word}:{order}", f"n:{kind}:{direction}"
    assert sorted_text(tmp_path, table, csv=CsvColumns(keys=(called,))) == sorted_text(
        tmp_path, table, csv=CsvColumns(keys=(usual,))
    )


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("tme", "there is no column 'tme'. Did you mean time"),
        ("time:dsc", "'dsc' is none of .* Did you mean desc"),
        ("-time", "there is no column '-time'. Did you mean time:desc"),
        ("time desc", "there is no column 'time desc'. Did you mean time:desc"),
        ("time:number:numeric", "num and num exclude each other"),
        ("time:int:num", "int and num exclude each other"),
        ("4", "there is no column 4; they are numbered from 1 to 3"),
        ("twice", "2 columns are called 'twice'; give a number"),
    ],
)
def test_keys_that_cannot_be(tmp_path: Path, key: str, message: str) -> None:
    with pytest.raises(BadInputError, match=message) as refused:
        sorted_text(tmp_path, b"time,twice,twice\n1,2,3\n", csv=CsvColumns(keys=(key,)))
    assert re.search(rf"^the first row of {tmp_path}\S* has 3 columns$", refused.value.details[-1])


CHECKED_ZSTD = zstandard.ZstdCompressor(write_checksum=True)  # otherwise zstd does not notice damage of text
COMPRESSED = {"gz": gzip.compress, "zst": CHECKED_ZSTD.compress}
OPENED = {"gz": gzip.decompress, "zst": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data)}


@pytest.mark.parametrize("form", COMPRESSED)
def test_compressed_text_in_and_out(tmp_path: Path, form: str) -> None:
    lines = [b"%d\n" % random.Random(3).randrange(10**9) for _ in range(3000)]
    parts = COMPRESSED[form](b"".join(lines[:1000])) + COMPRESSED[form](b"".join(lines[1000:]))
    (tmp_path / "in").write_bytes(parts)
    job = TextJob(
        inputs=(str(tmp_path / "in"),),
        output=str(tmp_path / f"out.{form}"),
        force=True,
        order=TextOrder(keys=(parse_key("1n"),)),
    )
    report = sort_text_files(job, Progress())
    assert (report.lines, report.runs, report.spilled_bytes) == (3000, 0, 0)
    assert OPENED[form]((tmp_path / f"out.{form}").read_bytes()) == b"".join(sorted(lines, key=int))
    assert sorted_text(tmp_path, COMPRESSED[form](b"n\n2\n1\n"), csv=CsvColumns(keys=("n",))) == b"n\n1\n2\n"


@pytest.mark.parametrize("number", [0, 15])
def test_zstd_may_begin_with_frames_that_hold_nothing(tmp_path: Path, number: int) -> None:
    skipped = bytes((0x50 + number, 0x2A, 0x4D, 0x18)) + (3).to_bytes(4, "little") + b"xyz"
    text = skipped * 2 + COMPRESSED["zst"](b"n\n2\n1\n")
    assert sorted_text(tmp_path, text, csv=CsvColumns(keys=("n",))) == b"n\n1\n2\n"


@pytest.mark.parametrize("form", COMPRESSED)
@pytest.mark.parametrize("what", ["damaged", "truncated"])
def test_damaged_compression_leaves_nothing_half_written(tmp_path: Path, form: str, what: str) -> None:
    data = COMPRESSED[form](os.urandom(300_000).hex().encode() + b"\n")
    broken = data[: len(data) // 2] if what == "truncated" else data[:200] + os.urandom(60) + data[260:]
    (tmp_path / "out.zst").write_bytes(b"as before")
    (tmp_path / "in").write_bytes(broken)
    job = TextJob(inputs=(str(tmp_path / "in"),), output=str(tmp_path / "out.zst"), force=True)
    with pytest.raises(BadInputError, match=r"in: the .* data (end early|are damaged)"):
        sort_text_files(job, Progress())
    assert (tmp_path / "out.zst").read_bytes() == b"as before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out.zst"]


@pytest.mark.parametrize("outer", COMPRESSED)
@pytest.mark.parametrize("inner", COMPRESSED)
def test_text_that_was_compressed_twice_is_refused(tmp_path: Path, outer: str, inner: str) -> None:
    """As servers leave it that compress what they send: its bytes would be sorted as lines."""
    with refused("twice-compressed"):
        sorted_text(tmp_path, COMPRESSED[outer](COMPRESSED[inner](b"2\n1\n")))


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"b\na\n")
    job = TextJob(inputs=(str(tmp_path / "in"),), output="/dev/full", force=True, compress="gz")
    with pytest.raises(PlannerError, match="No space left"):
        sort_text_files(job, Progress())


def test_rows_out_of_order_are_found(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(gzip.compress(b'n,x\n2,"a\nb"\n10,c\n9,d\n'))
    job = TextJob(inputs=(str(tmp_path / "in"),), csv=CsvColumns(keys=("n:int",)))
    assert check_text_file(job, Progress()) == (4, b"9,d")


def test_the_only_row_of_a_file_gets_the_end_that_rows_of_others_have(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"2,x")
    (tmp_path / "b").write_bytes(b"3,y\r\n1,z\r\n")
    job = TextJob(inputs=(str(tmp_path / "a"), str(tmp_path / "b")), output=str(tmp_path / "out"), force=True,
                  csv=CsvColumns(keys=("1:int",), header=False))  # fmt: skip
    sort_text_files(job, Progress())
    assert (tmp_path / "out").read_bytes() == b"1,z\r\n2,x\r\n3,y\r\n"


@pytest.fixture
def limits() -> Iterator[tuple[int, int]]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield before
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_the_limit_rises_as_far_as_it_may(limits: tuple[int, int]) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, limits[1]))
    allow_pipes(16)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (128, limits[1])
    allow_pipes(17)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (132, limits[1])


def test_what_the_system_does_not_allow_is_refused(limits: tuple[int, int]) -> None:
    with pytest.raises(BadInputError, match=r"4000064 open files, and .* are allowed\n  raise `ulimit -n`"):
        allow_pipes(10**6)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == limits


def written(folder: Path, texts: Sequence[bytes]) -> tuple[str, ...]:
    """Write texts to files, compressing those with an even number."""
    for number, text in enumerate(texts):
        (folder / f"{number}.gz").write_bytes(text if number % 2 else gzip.compress(text))
    return tuple(str(folder / f"{number}.gz") for number in range(len(texts)))


def result(folder: Path, texts: Sequence[bytes], **settings: object) -> bytes:
    job = TextJob(inputs=written(folder, texts), output=str(folder / "out"), force=True, **settings)  # type: ignore[arg-type]
    sort_text_files(job, Progress())
    return (folder / "out").read_bytes()


def test_neighbours_that_need_a_pipe_share_it() -> None:
    sources = [Source(name, None if name.isupper() else iter(())) for name in "aBcdE"]
    assert [[source.name for source in group] for group in group_sources(sources)] == [["a"], ["B"], ["c", "d"], ["E"]]


def test_random_texts_are_joined_as_files_are(tmp_path: Path) -> None:
    chance = random.Random(5)
    for _ in range(100):
        texts = [b"\n".join(chance.choice([b"", b"a", b"bc"]) for _ in range(chance.randrange(4))) for _ in range(5)]
        lines = [line for text in texts for line in text.removesuffix(b"\n").split(b"\n") if text]
        ours = result(tmp_path, texts, order=TextOrder(keys=(parse_key("1,1"),)))
        assert ours == b"".join(line + b"\n" for line in sorted(lines)), texts


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_rows_of_csv_are_joined_as_files_are(end: bytes, tmp_path: Path) -> None:
    texts = [b"n" + end + b"%d" % number + end * (number % 3 == 0) for number in (5, 3, 4, 6, 1, 2)]
    ours = result(tmp_path, texts, csv=CsvColumns(keys=("n:int",)))
    assert ours == b"n" + end + b"".join(b"%d" % number + end for number in (1, 2, 3, 4, 5, 6))


def test_what_one_input_lacks_the_next_does_not_have(tmp_path: Path) -> None:
    paths = written(tmp_path, [b'a\n"x', b"a\n1\n", b'a\ny"\n'])
    with refused("open-quote", "0.gz"):
        sort_text_files(
            TextJob(inputs=paths[::2], output=str(tmp_path / "out"), force=True, csv=CsvColumns(keys=("a",))),
            Progress(),
        )
    order = TextOrder(keys=(parse_key("1.1,1.1"),), record_bytes=2)
    with refused("partial-records", "0.gz", "2 bytes: 1"):
        result(tmp_path, [b"abc", b"", b"d"], order=order)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("csv", [None, CsvColumns(keys=("1",), header=False)])
def test_hundreds_of_compressed_inputs_need_few_descriptors(csv: CsvColumns | None, tmp_path: Path) -> None:
    paths = written(tmp_path, [b"%03d\n" % (number * 7 % 300) for number in range(300)])
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(path.name) for path in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 40, before[1]))
    try:
        sort_text_files(TextJob(inputs=paths[::2], output=str(tmp_path / "out"), force=True, csv=csv), Progress())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert (tmp_path / "out").read_bytes() == b"".join(
        sorted(b"%03d\n" % (number * 7 % 300) for number in range(0, 300, 2))
    )


def test_descriptors_above_a_thousand_can_be_waited_for(tmp_path: Path) -> None:
    """300 pipes have 600 ends, and each of the 300 files has one that is waited for."""
    paths = written(tmp_path, [b"%03d\n" % number for number in range(600)])[::2]
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        sort_text_files(TextJob(inputs=paths, output=str(tmp_path / "out"), force=True, merge=True), Progress())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert (tmp_path / "out").read_bytes() == b"".join(b"%03d\n" % number for number in range(0, 600, 2))


def test_an_error_names_the_input_and_not_another_whose_pipe_begins_alike(tmp_path: Path) -> None:
    paths = written(tmp_path, [b"n\n%d\n" % number for number in range(120)])[::2]
    Path(paths[50]).write_bytes(gzip.compress(b"n\nno number\n"))
    job = TextJob(inputs=paths, output=str(tmp_path / "out"), force=True, csv=CsvColumns(keys=("n:int",)), merge=True)
    with pytest.raises(BadInputError, match=f"{paths[50]}: row 2"):
        sort_text_files(job, Progress())


def test_a_file_that_becomes_shorter_is_named(tmp_path: Path) -> None:
    shrinking, pipe = tmp_path / "shrinking", tmp_path / "pipe"
    shrinking.write_bytes(b"a" * 99 + b"\n" + b"".join(b"b%098d\n" % i for i in range(150_000)))
    os.mkfifo(pipe)

    def shorten() -> None:
        with pipe.open("wb") as end:
            while read_bytes_of(shrinking) < 100_000:  # then the merge waits for the pipe
                time.sleep(0.01)
            os.truncate(shrinking, 1000)
            end.write(b"c\n")

    other = threading.Thread(target=shorten)
    other.start()
    with refused("io", "shrinking", kind=IoFailureError):
        inputs = [str(shrinking), str(pipe)]
        sort_text(inputs, str(tmp_path / "out"), order=TextOrder(), merge=True, memory_bytes=8 << 20)
    other.join()
    assert not (tmp_path / "out").exists()


def read_bytes_of(path: Path) -> int:
    """Return how far this process has read an open file, or 0 if the file is not open."""
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            if descriptor.readlink() == path:
                info = Path("/proc/self/fdinfo", descriptor.name).read_text()
                return int(info.split()[1])
    return 0
