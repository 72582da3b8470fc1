"""A damaged file ends in an error of the planner or passes; never in a signal or an error of a library."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests.sorting.mutated import ending, mutated, tables, texts

SOAK_S = 60


def endings(folder: Path, chance: random.Random) -> str:
    name, content = chance.choice([*tables(), *texts()])
    path = folder / (name if name.endswith(".parquet") else f"in.{name}")
    path.write_bytes(mutated(content, chance))
    return ending(path, folder, chance)


@pytest.mark.parametrize("seed", range(4))
def test_mutated_files_end_in_an_error_that_is_ours(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    wrong = [(number, said) for number in range(60) if (said := endings(tmp_path, chance))]
    assert not wrong


@pytest.mark.soak
@pytest.mark.quick
def test_very_many_mutated_files(tmp_path: Path) -> None:
    seed, end = 1000, time.monotonic() + SOAK_S
    while time.monotonic() < end:
        assert not endings(tmp_path, random.Random(seed)), seed
        seed += 1
    assert seed > 1000
