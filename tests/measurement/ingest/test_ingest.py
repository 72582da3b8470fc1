"""File formats are recognised by content."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("text", ["", "  \n", "[1]", "{}", '{"fio version": NaN}'])
def test_files_that_are_nothing_are_refused(tmp_path: Path, text: str, refusal: Callable[..., Any]) -> None:
    path = tmp_path / "nothing.json"
    path.write_text(text)
    refusal(path)
