"""The first row of a CSV file, of any shape."""

from __future__ import annotations

import tracemalloc

import pytest
from refusals import refused

from planner.errors import BadInputError
from planner.sorting.text.csv_keys import read_first_row


def values(row: bytes, delimiter: bytes = b",") -> tuple[str, ...]:
    return read_first_row([row], name="in", delimiter=delimiter).values


def test_fields_with_quotes_and_without() -> None:
    assert values(b'a,"b","","c,""d""\n",\r\n') == ("a", "b", "", 'c,"d"\n', "")
    assert values(b'""""') == ('"',)
    assert values(b"a|b", b"|") == ("a", "b")


@pytest.mark.parametrize("row", [b'a"b\n"\n', b'"a"b', b'"a', b'a,"', b'"""', b"a\rb\n"])
def test_what_no_field_can_be(row: bytes) -> None:
    with pytest.raises(BadInputError, match=r"in: row 1: field . has a quote"):
        values(row)


@pytest.mark.parametrize("text", [b"k,v\r2,b\r1,a\r", b'\xef\xbb\xbf"k"\r2\r1', b'"k",v\r"2\n",b\r'])
def test_rows_that_end_with_carriage_returns_are_named(text: bytes) -> None:  # MarkPflug/Sylvan#198
    with refused("old-mac-rows", "in: ", "tr "):
        values(text)


def test_a_long_first_field_takes_no_more_memory_than_a_few_of_it() -> None:
    """A pattern of the whole field took 130 bytes for each byte of the field: 50 MB of it did not fit in 6 GB."""
    row = b'"' + b"x" * 1_000_000 + b'",1\n'
    tracemalloc.start()
    assert len(values(row)[0]) == 1_000_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000
