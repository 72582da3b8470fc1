"""Sentences of the library's answers, approved word by word in tests/golden/sentences, a file for each folder of tests.

`pytest --write-goldens` renews them: a sentence put better changes no test.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parents[1]

Approve = Callable[[Any], None]


@pytest.fixture
def approve(request: pytest.FixtureRequest) -> Iterator[Approve]:
    """Yield what asks that a text, or each of several, is the next one approved for this test."""
    folder = request.path.parent.relative_to(TESTS)
    file = (TESTS / "golden" / "sentences" / folder).with_suffix(".txt")
    test, renews = f"{request.path.name}::{request.node.name}", request.config.getoption("--write-goldens")
    approved, said = sections_of(file).get(test, []), list[str]()
    own = str(request.getfixturevalue("tmp_path")) if "tmp_path" in request.fixturenames else ""

    def ask(text: Any) -> None:
        said.extend(line.replace(own, "TMP") if own else line for line in _lines(text))
        assert renews or said == approved[: len(said)]

    yield ask
    if renews:
        _replace(file, test, said)
    else:
        assert len(said) == len(approved), "the test approves less than before: --write-goldens"


def _lines(text: Any) -> list[str]:
    if isinstance(text, Mapping):
        return [f"{key}: {value}" for key, value in text.items()]
    texts = [text] if isinstance(text, str) else sorted(text) if isinstance(text, set | frozenset) else list(text)
    return [line.rstrip() for each in texts for line in str(each).split("\n")]


def sections_of(file: Path) -> dict[str, list[str]]:
    """Return the approved lines of each test."""
    sections: dict[str, list[str]] = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else []:
        if line.startswith("  "):
            sections[next(reversed(sections))].append(line[2:])
        else:
            sections[line] = []
    return sections


def _replace(file: Path, test: str, said: list[str]) -> None:
    """Write one test's lines, whatever other processes write beside it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a+", encoding="utf-8") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        sections = dict(sorted((sections_of(file) | {test: said}).items()))
        text = "".join(f"{name}\n" + "".join(f"  {line}\n" for line in lines) for name, lines in sections.items())
        held.truncate(0)
        held.write(text)
