"""The order of keys against a second implementation, and that one against GNU sort where it is installed."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from refusals import refused

from planner.errors import BadInputError, IoFailureError
from planner.native import core
from planner.sorting.records.keyed import TextOrder, find_disorder, sort_text
from planner.sorting.records.keys import parse_key
from planner.sorting.records.record_keys import parse_record_key
from planner.sorting.sort_job import Spill
from planner.sorting.text.csv_keys import parse_csv_keys
from tests.sorting.gnu_reference import Case, compare, expected, random_case, split

GNU_SORT = shutil.which("sort") or ""


def order_of(case: Case) -> TextOrder:
    """Return the case's order in our form."""
    return TextOrder(
        keys=case.keys, separator=case.separator, line_end=case.line_end, stable=case.stable, unique=case.unique,
        reversed=case.reversed,
    )  # fmt: skip


def sorted_by_ours(case: Case, folder: Path, **settings: int) -> bytes:
    """Return the case's text, sorted through files."""
    (folder / "in").write_bytes(case.text)
    sort_text([str(folder / "in")], str(folder / "out"), order=order_of(case), temp_dirs=[str(folder)], **settings)
    return (folder / "out").read_bytes()


def check_cases(count: int, folder: Path) -> None:
    """Compare `count` random cases with the reference."""
    chance = random.Random(16)
    for number in range(count):
        case = random_case(chance)
        in_order = expected(case)
        assert core.sorted_text(case.text, order_of(case).for_core(), unique=case.unique) == in_order, (number, case)
        if number % 20 == 0:
            assert sorted_by_ours(case, folder, threads=1) == in_order, (number, case)


def prints_equal_nans_twice(case: Case) -> bool:
    """Return whether GNU sort may treat two lines with the same NaN as different: it compares NaNs as stored in memory,
    including padding, which nothing sets. With -u it then prints both.
    """
    return case.unique and "g" in " ".join(case.arguments) and b"nan" in case.text.lower()


def has_hidden_versions(case: Case) -> bool:
    """Return whether a file name with a leading dot may be compared by version: only coreutils 9.1 takes everything
    behind that dot as a suffix and sorts ".a" before ".0".
    """
    return "V" in " ".join(case.arguments) and b"." in case.text


def has_quirk(case: Case, *, hidden_letters_first: bool) -> bool:
    return prints_equal_nans_twice(case) or (hidden_letters_first and has_hidden_versions(case))


def sorted_by_gnu(arguments: Sequence[str], text: bytes) -> bytes:
    assert GNU_SORT
    done = subprocess.run([GNU_SORT, *arguments], input=text, capture_output=True, check=True, env={"LC_ALL": "C"})
    return done.stdout


def check_reference(count: int) -> None:
    """Compare the reference with GNU sort."""
    chance = random.Random(17)
    hidden_letters_first = sorted_by_gnu(["-V"], b".0\n.a\n") == b".a\n.0\n"
    for number in range(count):
        case = random_case(chance)
        if has_quirk(case, hidden_letters_first=hidden_letters_first):
            continue
        assert expected(case) == sorted_by_gnu(case.arguments, case.text), (number, case)


def test_random_keys_as_the_reference_has_them(tmp_path: Path) -> None:
    check_cases(600, tmp_path)


@pytest.mark.skipif(not GNU_SORT, reason="GNU sort is not installed")
def test_gnu_sort_agrees_with_the_reference() -> None:
    check_reference(40)


@pytest.mark.soak
def test_very_many_random_keys(tmp_path: Path) -> None:
    check_cases(1_000_000, tmp_path)


@pytest.mark.soak
@pytest.mark.quick
@pytest.mark.skipif(not GNU_SORT, reason="GNU sort is not installed")
def test_gnu_sort_agrees_with_the_reference_ten_thousand_times() -> None:
    check_reference(10_000)


def test_encoded_keys_compare_as_lines_do_and_none_begins_with_another() -> None:
    chance = random.Random(18)
    pairs = 0
    while pairs < 3_000:
        case = random_case(chance)
        if not case.keys:
            continue
        lines = split(case.text, case.line_end)
        keys = [order_of(case).for_core().key_of(line) for line in lines]
        keys_alone = Case(
            case.text, case.keys, (), case.separator, case.line_end, stable=True, unique=False, reversed=False
        )
        for a, key_a in zip(lines, keys, strict=True):
            for b, key_b in zip(lines, keys, strict=True):
                order = compare(keys_alone, a, b)
                assert (key_a > key_b) - (key_a < key_b) == (order > 0) - (order < 0), (case, a, b)
                assert key_a == key_b or not key_b.startswith(key_a)
                pairs += 1


def test_numbers_of_any_length() -> None:
    order = core.KeyOrder([(0, 0, 2**64 - 1, 0, "n")])
    numbers = [
        b"-1" + b"0" * 400,
        b"-1" + b"0" * 120,
        b"-2",
        b"-.1",
        b"0",
        b".1",
        b"1",
        b"1.01",
        b"1" + b"0" * 110,
        b"1" + b"0" * 111,
    ]
    keys = [order.key_of(number) for number in numbers]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)
    assert order.key_of(b" 0012.50") == order.key_of(b"12.5x")


def big_case(lines: int) -> Case:
    """Return a text of many lines with few keys, whose order must be kept."""
    chance = random.Random(19)
    text = b"".join(b"%d,%s,%d\n" % (chance.randrange(1000), b"x" * chance.randrange(40), i) for i in range(lines))
    keys = (parse_key("1,1n"),)
    return Case(text, keys, (), b",", b"\n", stable=True, unique=False, reversed=False)


def by_first_number(line: bytes) -> int:
    """Return the key of a line of `big_case`."""
    return int(line.split(b",")[0])


@pytest.mark.parametrize("spill", ["plain", "lz4"])
def test_little_memory_spills_sorted_runs_and_merges_them(tmp_path: Path, spill: Spill) -> None:
    case = big_case(120_000)
    (tmp_path / "in").write_bytes(case.text)
    report = sort_text(
        [str(tmp_path / "in")], str(tmp_path / "out"), order=order_of(case), memory_bytes=1, temp_dirs=[str(tmp_path)],
        most_merged=2, spill=spill,
    )  # fmt: skip
    assert report.lines == 120_000
    assert report.runs > 1
    assert report.spilled_bytes >= len(case.text)
    assert (report.packed_bytes == report.spilled_bytes > report.packed_to_bytes > 0) == (spill == "lz4")
    ordered = sorted(split(case.text, b"\n"), key=by_first_number)
    assert (tmp_path / "out").read_bytes() == b"".join(line + b"\n" for line in ordered)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


def test_of_equal_keys_the_first_is_kept_across_runs(tmp_path: Path) -> None:
    case = big_case(120_000)
    (tmp_path / "in").write_bytes(case.text)
    order = TextOrder(keys=case.keys, separator=b",", unique=True)
    for memory in (1, 0):
        sort_text(
            [str(tmp_path / "in")], str(tmp_path / "out"), order=order, memory_bytes=memory, temp_dirs=[str(tmp_path)]
        )
        firsts: dict[int, bytes] = {}
        for line in split(case.text, b"\n"):
            firsts.setdefault(by_first_number(line), line)
        assert (tmp_path / "out").read_bytes() == b"".join(firsts[key] + b"\n" for key in sorted(firsts))


def test_merging_keeps_the_order_of_inputs_and_an_output_may_be_an_input(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1 a\n2 a\n")
    (tmp_path / "b").write_bytes(b"1 b\n3 b")
    order = TextOrder(keys=(parse_key("1,1n"),), stable=True)
    sort_text([str(tmp_path / "a"), str(tmp_path / "b")], str(tmp_path / "a"), order=order, merge=True)
    assert (tmp_path / "a").read_bytes() == b"1 a\n1 b\n2 a\n3 b\n"


def test_disorder_is_found_where_it_begins(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"1\n2\n10\n9\n")
    numbers = (parse_key("1n"),)
    assert find_disorder(str(path), order=TextOrder()) == (3, b"10")
    assert find_disorder(str(path), order=TextOrder(keys=numbers)) == (4, b"9")
    path.write_bytes(b"1\n01\n")
    assert find_disorder(str(path), order=TextOrder(keys=numbers, stable=True)) is None
    assert find_disorder(str(path), order=TextOrder(keys=numbers, unique=True)) == (2, b"01")


def test_a_line_longer_than_memory_is_sorted(tmp_path: Path) -> None:
    lines = [b"b" * 9_000_000, b"a" * 5_000_000, b"c"]
    (tmp_path / "in").write_bytes(b"\n".join(lines))
    sort_text(
        [str(tmp_path / "in")], str(tmp_path / "out"), order=TextOrder(), memory_bytes=1, lines_may_exceed_memory=True,
        temp_dirs=[str(tmp_path)],
    )  # fmt: skip
    assert (tmp_path / "out").read_bytes() == b"".join(line + b"\n" for line in sorted(lines))


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(IoFailureError, match=f"read failed: {tmp_path}: Is a directory"):
        sort_text([str(tmp_path)], str(tmp_path / "out"), order=TextOrder())
    assert list(tmp_path.iterdir()) == []


def test_a_line_whose_keys_do_not_fit_is_refused_with_advice(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"b\n" + b"x" * 40_000_000 + b"\na\n")
    with refused("memory", "byte 2", "40000000 bytes", "278000000"):
        sort_text(
            [str(tmp_path / "in")], str(tmp_path / "out"), order=TextOrder(keys=(parse_key("1"),)), memory_bytes=1,
            temp_dirs=[str(tmp_path)],
        )  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


NUMBERS = (parse_key("1,1n"),)
ROWS = TextOrder(keys=parse_csv_keys(["1:int"], (), columns=2), stable=True, csv=(b",", b'"', 2, False))
RECORDS = TextOrder(keys=(parse_record_key("0:1", record_bytes=2),), stable=True, record_bytes=2)


@pytest.mark.parametrize(
    ("texts", "order", "what"),
    [
        (["b\nc\na\n", "a\nz\n"], TextOrder(), "in0: line 3"),
        (["c\nb\n", "z\na\nq\n"], TextOrder(reversed=True), "in1: line 3"),
        (["9\n10\n", "2\n11\n3\n"], TextOrder(keys=NUMBERS, stable=True), "in1: line 3"),
        (["1,x\n3,y\n2,z\n", "2,y\n"], ROWS, "in0: row 3"),
        (["a1b2", "c1a3"], RECORDS, "in1: record 2"),
    ],
)
def test_a_merge_names_an_input_that_is_out_of_order(
    texts: list[str], order: TextOrder, what: str, tmp_path: Path
) -> None:
    names = [str(tmp_path / f"in{number}") for number in range(len(texts))]
    for name, text in zip(names, texts, strict=True):
        Path(name).write_text(text)
    with pytest.raises(BadInputError, match=f"{what} is out of order: only sorted inputs can be merged"):
        sort_text(names, str(tmp_path / "out"), order=order, merge=True)
    assert not (tmp_path / "out").exists()
    sort_text(names, str(tmp_path / "out"), order=order, merge=True, lines_may_exceed_memory=True)  # as GNU sort does
