"""Emulators follow the documents: each of their refusals, and each fact that the code relies on, has a row."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
FACTS = (TESTS / "clouds" / "documented_facts.md").read_text("utf-8")
REFUSAL = re.compile(r"""(?:EC2ClientError\(|RefusedError\(\s*\d+,|<Code>)\s*"?([A-Za-z][\w.]*)(?:"|</Code>)""")
"""A refusal in an emulator's source; the codes are written out there."""


def rows() -> list[list[str]]:
    lines = [line for line in FACTS.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [row for row in cells if row[0] not in ("behaviour", "code")]


def test_each_refusal_of_an_emulator_has_a_row() -> None:
    emulators = [path.read_text("utf-8") for path in (TESTS / "emulators").rglob("*.py")]
    codes = {code for text in emulators for code in REFUSAL.findall(text)}
    assert {"InsufficientInstanceCapacity", "SkuNotAvailable", "QUOTA_EXCEEDED"} < codes
    assert sorted(code for code in codes if f"`{code}`" not in FACTS) == []


def test_each_row_has_its_document_and_date() -> None:
    assert len(rows()) > 80
    for row in rows():
        assert len(row) == 4 and all(row), row
        assert any(_is_date(cell) for cell in row), row


def test_the_tests_that_are_named_are_there() -> None:
    named = set(re.findall(r"`?(test_\w+)\.py", FACTS)) | set(re.findall(r"\b(test_[a-z0-9_]+)`", FACTS))
    texts = "\n".join(f"{path.stem}\n{path.read_text('utf-8')}" for path in TESTS.rglob("test_*.py"))
    assert sorted(name for name in named if not re.search(rf"\b{name}\b", texts)) == []


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).year >= 2026
    except ValueError:
        return False
