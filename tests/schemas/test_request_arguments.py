"""The arguments that type checkers read are those of the declaration."""

from __future__ import annotations

from scripts.write_request_arguments import FILE, written


def test_the_arguments_for_type_checkers_are_as_declared() -> None:
    assert FILE.read_text(encoding="utf-8") == written(), "run python scripts/write_request_arguments.py"
