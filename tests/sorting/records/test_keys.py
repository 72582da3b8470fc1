"""Key specifications: their meaning in GNU sort's manual, and refused ones."""

from __future__ import annotations

import pytest

from planner.sorting.records.keys import (
    UNLIMITED,
    BadKeyError,
    Key,
    check_compatible,
    parse_key,
    parse_old_key,
    with_defaults,
)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("1", Key()),
        ("2", Key(first_field=1)),
        ("1.3,1.5b", Key(0, 2, 0, 5, "B")),
        ("2b,3.0nr", Key(1, 0, 2, 0, "bnr")),
        ("3,3r", Key(2, 0, 2, 0, "r")),
        ("2.4,5.6bn", Key(1, 3, 4, 6, "Bn")),
        ("99999999999999999999999", Key(first_field=UNLIMITED - 1)),
    ],
)
def test_a_key_is_read_as_in_the_manual(text: str, key: Key) -> None:
    assert parse_key(text) == key


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0", "field number is zero: invalid field specification '0'"),
        ("1.0", "character offset is zero: invalid field specification '1.0'"),
        ("x", "invalid number at field start: invalid count at start of 'x'"),
        ("1,", "invalid number after ',': invalid count at start of ''"),
        ("1.x", "invalid number after '.': invalid count at start of 'x'"),
        ("1,2.", "invalid number after '.': invalid count at start of ''"),
        ("1q", "stray character in field spec: invalid field specification '1q'"),
    ],
)
def test_what_is_no_key_is_refused_in_gnu_sorts_words(text: str, message: str) -> None:
    with pytest.raises(BadKeyError) as caught:
        parse_key(text)
    assert str(caught.value) == message


def test_obsolete_keys_count_from_zero() -> None:
    assert parse_old_key("1", "2") == parse_key("2,2")
    assert parse_old_key("1.2", "3.4n") == parse_key("2.3,4.4n")
    assert parse_old_key("0", None) == parse_key("1")


def test_keys_without_letters_take_the_global_ones() -> None:
    assert with_defaults([parse_key("1"), parse_key("2n")], "br") == [Key(options="brB"), Key(1, options="n")]
    assert with_defaults([], "r") == []
    assert with_defaults([], "n") == [Key(options="n")]


@pytest.mark.parametrize(
    ("options", "shown"), [("nd", "dn"), ("rghM", "ghM"), ("di", ""), ("nf", ""), ("VR", ""), ("nin", "in")]
)
def test_kinds_that_exclude_each_other(options: str, shown: str) -> None:
    if not shown:
        check_compatible(Key(options=options))
        return
    with pytest.raises(BadKeyError, match=f"options '-{shown}' are incompatible"):
        check_compatible(Key(options=options))
