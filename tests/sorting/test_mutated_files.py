"""A damaged file ends in an error of the planner, or in all of its rows; never in a signal or an error of a library."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from refusals import refused

import planner
from tests.sorting.mutated_endings import case
from tests.sorting.mutated_seeds import compressed, records, text

SOAK_S = 60
FILES_OF_A_NIGHT = 10_000


def wrong_endings(folder: Path, seeds: range) -> list[str]:
    """Return the kinds and the seeds of files that end wrongly; `case` makes the same again."""
    endings = ((seed, *case(folder / str(seed), seed)) for seed in seeds)
    return [f"{seed} {kind}: {wrong}" for seed, kind, wrong in endings if wrong]


@pytest.mark.parametrize("first", range(0, 100, 25))
def test_mutated_files_end_in_an_error_that_is_ours(first: int, tmp_path: Path) -> None:
    assert not wrong_endings(tmp_path, range(first, first + 25))


@pytest.mark.soak
@pytest.mark.quick
def test_many_mutated_files(tmp_path: Path) -> None:
    seed, end = 1000, time.monotonic() + SOAK_S
    while time.monotonic() < end:
        assert not wrong_endings(tmp_path, range(seed, seed + 1))
        seed += 1
    assert seed > 1000


@pytest.mark.soak
def test_the_mutated_files_of_a_night(tmp_path: Path) -> None:
    """Other files every night: the failure names their seeds."""
    first = 10**6 + int(time.time()) // 86_400 * FILES_OF_A_NIGHT
    wrong = wrong_endings(tmp_path, range(first, first + FILES_OF_A_NIGHT))
    assert not wrong, Counter(text.split()[1] for text in wrong)


@pytest.mark.parametrize("suffix", [".gz", ".zst", ".bz2", ".xz", ".lz4", ".sz"])
@pytest.mark.parametrize("form", ["lines", "csv", "records"])
def test_compressed_data_whose_beginning_is_damaged_is_no_text(suffix: str, form: str, tmp_path: Path) -> None:
    """Its name says that it is compressed; the bytes, of which lines could be made, do not any more."""
    path = tmp_path / f"in{suffix}"
    data = bytearray(compressed(records() if form == "records" else text(), suffix[1:], random.Random(1)))
    data[1] ^= 255
    path.write_bytes(bytes(data) + bytes(-len(data) % 100))
    how: dict[str, Any] = {"format": form} | (
        {"key": "2", "no_header": True, "separator": ","} if form == "csv" else {}
    )
    acts = [
        lambda: planner.sort(path, tmp_path / "out", **how),
        lambda: planner.sort(path, tmp_path / "out", consume_input=True, **how),
        lambda: planner.find_disorder(path, **how),
    ]
    for act in [*acts, lambda: planner.validate(path, lines=True)] if form == "lines" else acts:
        with refused("broken-compression", "not compressed as its name says"):
            act()
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_text_may_be_named_as_if_it_was_compressed(tmp_path: Path) -> None:
    (tmp_path / "in.gz").write_text("2\n1\n")
    planner.sort(tmp_path / "in.gz", tmp_path / "out", format="lines")
    assert (tmp_path / "out").read_text() == "1\n2\n"
