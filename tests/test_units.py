"""Quantities as people write them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from planner.errors import BadInputError
from planner.units import (
    count_of,
    count_text,
    format_bytes,
    format_duration,
    format_exact_size,
    format_rate,
    format_usd,
    parse_count,
    parse_duration,
    parse_rate,
    parse_seconds,
    parse_share,
    parse_size,
)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("100TB", 10**14),
        ("1TiB", 2**40),
        ("1 GB", 10**9),
        ("1.5kB", 1500),
        ("3 Terabytes", 3 * 10**12),
        ("1.5 tebibytes", 3 * 2**39),
        ("1 gigabyte", 10**9),
        ("200 bytes", 200),
        ("100B", 100),
        ("1e3MB", 10**9),
        ("1_000B", 1000),
        ("100T", 10**14),
        ("1Ti", 2**40),
        ("500g", 5 * 10**11),
        ("10,000GB", 10**13),
        ("1,234,567.5KB", 1234567500),
        ("1e6 B", 10**6),
    ],
)
def test_sizes_are_decimal_unless_they_say_binary(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text",
    ["100", "", "TB", "-1TB", "0GB", "1e30TB", "12 parsecs", "nanGB", "1.2.3TB", "0.1B", "1,00TB", "100i", "1e6"],
)
def test_a_bad_size_is_refused(text: str) -> None:
    with pytest.raises(BadInputError, match="size"):
        parse_size(text)


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("3Tb", "bits or bytes? Write 3TB for bytes, or 0.375TB for 3 Tbit"),
        ("3tb", "bits or bytes? Write 3TB for bytes, or 0.375TB for 3 Tbit"),
        ("1.5kb", "bits or bytes? Write 1.5KB for bytes, or 0.1875KB for 1.5 Kbit"),
        ("1Tib", "bits or bytes? Write 1TiB for bytes, or 0.125TiB for 1 Tibit"),
        ("800b", "bits or bytes? Write 800B for bytes, or 100B for 800 bit"),
        ("8 terabits", "sizes are in bytes. Write 1TB for 8 Tbit"),
        ("8Gbit", "sizes are in bytes. Write 1GB for 8 Gbit"),
    ],
)
def test_bits_are_never_taken_for_bytes(text: str, readings: str) -> None:
    with pytest.raises(BadInputError) as refused:
        parse_size(text)
    assert refused.value.message == f"size {text!r}: {readings}"


@pytest.mark.parametrize("text", ["10gb/s", "10 gB/s", "10GIB/s"])
def test_a_rate_that_may_be_bits_has_both_readings(text: str) -> None:
    with pytest.raises(BadInputError, match=r"bits or bytes\? Write G(i?)bit/s for bits, G\1B/s for bytes"):
        parse_rate(text)


def test_a_bare_number_says_how_to_write_it() -> None:
    with pytest.raises(BadInputError, match="no unit; write it as 100TB"):
        parse_size("100")


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("800MB/s", 8e8),
        ("1GiB/s", 2.0**30),
        ("25Gbit/s", 3.125e9),
        ("400Mbps", 5e7),
        ("400Mbit", 5e7),
        ("10Gb/s", 1.25e9),
        ("1GB/s", 1e9),
        ("10 gigabits per second", 1.25e9),
        ("10 Gigabit/s", 1.25e9),
        ("2 megabytes/s", 2e6),
    ],
)
def test_rates_in_bits_and_bytes(text: str, rate: float) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize("text", ["800", "800MB", "-1MB/s", "0MB/s", "fast", "infGB/s", "10Gb", "10gb/s", "100T/s"])
def test_a_bad_rate_is_refused(text: str) -> None:
    with pytest.raises(BadInputError, match="rate"):
        parse_rate(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("20m", 1200),
        ("1.5h", 5400),
        ("2d", 172800),
        ("250ms", 0.25),
        ("1h 30m", 5400),
        ("1h30m", 5400),
        ("1h30", 5400),
        ("1e3s", 1000),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["20", "soon", "-5m", "0s", "3 fortnights", "1h 90", "1m30", "6:00", "1h 3x", "1h -5m"]
)
def test_a_bad_duration_is_refused(text: str) -> None:
    with pytest.raises(BadInputError, match="duration"):
        parse_duration(text)


@given(st.integers(1, 10**18))
def test_bytes_survive_being_written_with_their_unit(size: int) -> None:
    assert parse_size(f"{size}B") == size


@given(st.integers(1, 10**18))
def test_exact_sizes_read_back_exactly(size: int) -> None:
    assert parse_size(format_exact_size(size)) == size


def test_exact_sizes_have_the_unit_that_is_shortest() -> None:
    sizes = (150, 2_500_000, 10**14, 64 * 2**30, 100 * 2**40, 10**9 + 1)
    assert [format_exact_size(size) for size in sizes] == ["150B", "2500KB", "100TB", "64GiB", "100TiB", "1000000001B"]


@given(st.floats(1, 1e18))
def test_shown_sizes_read_back_within_their_precision(size: float) -> None:
    assert parse_size(format_bytes(size)) == pytest.approx(size, rel=1e-3, abs=1)


def test_formats() -> None:
    assert format_rate(8.79e8) == "879 MB/s"
    assert format_duration(962) == "16 min 2 s"
    assert format_duration(7260) == "2 h 1 min"
    assert [format_duration(seconds) for seconds in (59.94, 59.96, 60.0)] == ["59.9 s", "1 min 0 s", "1 min 0 s"]
    assert format_duration(float("nan")) == "unknown"
    assert format_usd(1234.5) == "$1,234.50"
    assert format_usd(float("nan")) == "unknown"


def test_small_amounts_are_not_nothing() -> None:
    assert [format_usd(amount) for amount in (0.0, 0.0042, 0.0001, 0.00001, 0.005, 0.0996, 0.1)] == [
        "$0.00",
        "$0.0042",
        "$0.0001",
        "under $0.0001",
        "$0.0050",
        "$0.0996",
        "$0.10",
    ]
    assert [format_duration(seconds) for seconds in (0.0, 4.37e-8, 0.0125)] == ["0 s", "under 1 ms", "0.0125 s"]


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("1m", 60), ("0.2", 0.2), ("0", 0)])
def test_lengths_of_measurements(text: str, seconds: float) -> None:
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("text", ["-1", "long", "0s", "1:30"])
def test_what_is_no_length_is_refused(text: str) -> None:
    with pytest.raises(BadInputError, match="duration"):
        parse_seconds(text)


@pytest.mark.parametrize(("text", "share"), [("95%", 0.95), ("0.95", 0.95), (" 10 % ", 0.1)])
def test_shares_of_one(text: str, share: float) -> None:
    assert parse_share(text) == share


@pytest.mark.parametrize(("text", "count"), [("10,000,000", 10**7), ("1e7", 10**7), ("12", 12), ("-1", -1)])
def test_counts(text: str, count: int) -> None:
    assert parse_count(text) == count


@pytest.mark.parametrize("text", ["", "ten", "1.5", "1e999", "nan", "1,0", "5 apples"])
def test_what_is_no_count_is_refused(text: str) -> None:
    with pytest.raises(BadInputError, match="whole number"):
        parse_count(text)
    if text in ("", "ten"):
        with pytest.raises(BadInputError, match="95% or"):
            parse_share(text)


def test_counts_have_the_number_of_their_noun() -> None:
    assert [count_text(count, "row") for count in (0, 1, 1200)] == ["0 rows", "1 row", "1200 rows"]
    assert [count_text(count, "copy", "copies") for count in (1, 2)] == ["1 copy", "2 copies"]
    assert count_text(44_066, "task", grouped=True) == "44,066 tasks"
    assert [count_text(count, "CPU") for count in (0.5, 1.0)] == ["0.5 CPUs", "1 CPU"]
    assert [count_of(count, "rows") for count in (1, 2)] == ["1 row", "2 rows"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2hours", 7200),
        ("1 hour", 3600),
        ("2 hours 30 minutes", 9000),
        ("90 seconds", 90),
        ("3mins", 180),
        ("1 day", 86400),
    ],
)
def test_units_of_durations_may_be_written_out(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(("parse", "text"), [(parse_size, "5,5TB"), (parse_duration, "1,5h"), (parse_rate, "1,5GB/s")])
def test_a_decimal_comma_is_answered_with_a_point(parse: Callable[[str], float], text: str) -> None:
    with refused("decimal-comma", text.replace(",", ".")) as refusal:
        parse(text)
    assert parse(refusal.value.message.rpartition(": ")[2]) == parse(text.replace(",", "."))
