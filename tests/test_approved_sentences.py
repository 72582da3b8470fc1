"""Approved sentences are those of tests that are there."""

from __future__ import annotations

from pathlib import Path

from approvals import TESTS, sections_of


def test_approved_sentences_are_of_tests_that_ask_for_them() -> None:
    root = TESTS / "golden" / "sentences"
    asked = [
        (root.parent.parent / file.relative_to(root).with_suffix("") / module, test.partition("[")[0])
        for file in root.rglob("*.txt")
        for module, _, test in (name.partition("::") for name in sections_of(file))
    ]
    assert asked
    gone = [(path, test) for path, test in asked if not _asks(path, test)]
    assert gone == []


def _asks(path: Path, test: str) -> bool:
    """Return whether a module has a test that takes the fixture."""
    _, found, rest = path.read_text(encoding="utf-8").partition(f"def {test}(") if path.exists() else ("", "", "")
    return bool(found) and "approve: Approve" in rest.partition(") -> None:")[0]
