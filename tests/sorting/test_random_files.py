"""Files of all formats, in any layout, dialect and compression, made by `random_files.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.marks import QUICK_SOAK
from tests.sorting.random_files import FORMATS, run


@pytest.mark.parametrize(("count", "seed"), [(40, 1), pytest.param(1500, 2, marks=QUICK_SOAK)])
def test_random_files_are_sorted_as_others_sort_them(count: int, seed: int, tmp_path: Path) -> None:
    counted, problems = run(count, seed, tmp_path)
    assert problems == []
    assert counted.keys() == FORMATS.keys()
