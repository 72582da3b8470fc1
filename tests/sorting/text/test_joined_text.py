"""Many compressed texts through few pipes."""

from __future__ import annotations

import gzip
import random
import resource
from collections.abc import Sequence
from pathlib import Path

import pytest

from planner.compression.text_codecs import Source
from planner.errors import BadInputError
from planner.native import Progress
from planner.sorting.records.keyed import TextOrder
from planner.sorting.records.keys import parse_key
from planner.sorting.text.joined_text import grouped
from planner.sorting.text.text_files import CsvColumns, TextJob, sort_text_files


def written(folder: Path, texts: Sequence[bytes]) -> tuple[str, ...]:
    """Write texts to files, of which those with an even number are compressed."""
    for number, text in enumerate(texts):
        (folder / f"{number}.gz").write_bytes(text if number % 2 else gzip.compress(text))
    return tuple(str(folder / f"{number}.gz") for number in range(len(texts)))


def result(folder: Path, texts: Sequence[bytes], **settings: object) -> bytes:
    job = TextJob(inputs=written(folder, texts), output=str(folder / "out"), **settings)  # type: ignore[arg-type]
    sort_text_files(job, Progress())
    return (folder / "out").read_bytes()


def test_neighbours_that_need_a_pipe_share_it() -> None:
    sources = [Source(name, None if name.isupper() else iter(())) for name in "aBcdE"]
    assert [[source.name for source in group] for group in grouped(sources)] == [["a"], ["B"], ["c", "d"], ["E"]]


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
    with pytest.raises(BadInputError, match=r"0\.gz: the last row has a quoted field that has no end"):
        sort_text_files(
            TextJob(inputs=paths[::2], output=str(tmp_path / "out"), csv=CsvColumns(keys=("a",))), Progress()
        )
    order = TextOrder(keys=(parse_key("1.1,1.1"),), record_bytes=2)
    with pytest.raises(BadInputError, match=r"0\.gz holds no whole number of records of 2 bytes: 1 are left over"):
        result(tmp_path, [b"abc", b"", b"d"], order=order)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("csv", [None, CsvColumns(keys=("1",), header=False)])
def test_hundreds_of_compressed_inputs_need_few_descriptors(csv: CsvColumns | None, tmp_path: Path) -> None:
    paths = written(tmp_path, [b"%03d\n" % (number * 7 % 300) for number in range(300)])
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(path.name) for path in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 40, before[1]))
    try:
        sort_text_files(TextJob(inputs=paths[::2], output=str(tmp_path / "out"), csv=csv), Progress())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert (tmp_path / "out").read_bytes() == b"".join(
        sorted(b"%03d\n" % (number * 7 % 300) for number in range(0, 300, 2))
    )


def test_descriptors_above_a_thousand_can_be_waited_for(tmp_path: Path) -> None:
    """300 pipes have 600 ends, and each of the 300 files one that is waited for."""
    paths = written(tmp_path, [b"%03d\n" % number for number in range(600)])[::2]
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        sort_text_files(TextJob(inputs=paths, output=str(tmp_path / "out"), merge=True), Progress())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert (tmp_path / "out").read_bytes() == b"".join(b"%03d\n" % number for number in range(0, 600, 2))


def test_an_error_names_the_input_and_not_another_whose_pipe_begins_alike(tmp_path: Path) -> None:
    paths = written(tmp_path, [b"n\n%d\n" % number for number in range(120)])[::2]
    Path(paths[50]).write_bytes(gzip.compress(b"n\nno number\n"))
    job = TextJob(inputs=paths, output=str(tmp_path / "out"), csv=CsvColumns(keys=("n:int",)), merge=True)
    with pytest.raises(BadInputError, match=f"{paths[50]}: row 2"):
        sort_text_files(job, Progress())
