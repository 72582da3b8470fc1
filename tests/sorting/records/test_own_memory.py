"""What is left of memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.sorting.records import own_memory
from planner.sorting.records.own_memory import left_for_sorting


def test_what_python_holds_is_taken_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status = tmp_path / "status"
    status.write_text("VmRSS:\t 900000 kB\nRssAnon:\t   20480 kB\n")
    monkeypatch.setattr(own_memory, "_STATUS", status)
    assert left_for_sorting(100 << 20) == (100 - 20 - 12) << 20
    assert left_for_sorting(50 << 20) == 25 << 20  # half, as 18 would be less
    monkeypatch.setattr(own_memory, "_STATUS", tmp_path / "none")
    assert left_for_sorting(100) == 100


def test_this_process_holds_something() -> None:
    assert (1 << 40) // 2 < left_for_sorting(1 << 40) < 1 << 40
