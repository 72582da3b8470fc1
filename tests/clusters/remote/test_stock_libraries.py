"""An extension that needs newer libraries than the stock image has is known here, and not by machines that are paid."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from planner.clusters.remote import stock_libraries, wheelhouse
from planner.clusters.remote.stock_libraries import newer_than_stock
from planner.errors import BadInputError
from planner.native import core


def needs_of(extension: Path) -> dict[str, int]:
    """Return what the dynamic linker would ask for, by binutils' own reading."""
    shown = subprocess.run(["objdump", "-p", str(extension)], check=True, capture_output=True, text=True).stdout
    words = [word for word in shown.split() if word.startswith(tuple(stock_libraries.STOCK))]
    return {
        prefix: max(int(word.removeprefix(prefix).partition(".")[0]) for word in words if word.startswith(prefix))
        for prefix in stock_libraries.STOCK
    }


def test_what_the_extension_needs_is_what_binutils_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shutil.which("objdump"), "binutils are part of any compiler's installation"
    extension = Path(core.__file__)
    needs = needs_of(extension)
    monkeypatch.setattr(stock_libraries, "STOCK", needs)
    assert newer_than_stock(extension) == []
    monkeypatch.setattr(stock_libraries, "STOCK", {prefix: number - 1 for prefix, number in needs.items()})
    assert newer_than_stock(extension) == [f"{prefix}{number}" for prefix, number in needs.items()]


def test_wheels_are_not_made_of_an_extension_that_the_machines_cannot_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wheelhouse, "_fits", lambda **_: True)
    monkeypatch.setattr(stock_libraries, "STOCK", {"GLIBC_2.": 1})
    with pytest.raises(BadInputError, match=r"needs GLIBC_2\.\d+, newer than the stock image's"):
        wheelhouse.make_wheels(tmp_path / "wheels")
    assert not (tmp_path / "wheels").exists()
