"""Limits on the documents: pages, lines and sentences; the files that pages name exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

CHECKOUT: Final = Path(__file__).resolve().parent.parent
MOST_LINES: Final = {"README.md": 150, "CONTRIBUTING.md": 100, "CHANGELOG.md": 150}
PAGES: Final = sorted((CHECKOUT / "docs").glob("*.md"))
PROOF: Final = ("scripts/site_pages/papers.md", "tests/clouds/documented_facts.md", "tests/public_reports.md")
READ: Final = [CHECKOUT / name for name in (*MOST_LINES, "SECURITY.md", *PROOF)] + PAGES
MOST_WORDS: Final = 40
MOST_PAGES: Final = 26
MOST_PAGE_LINES: Final = 400
MOST_LINES_OF_ALL: Final = 3000
"""Lines of the pages of docs/ together: whoever adds a section says less elsewhere."""
ITEM: Final = re.compile(r"\s*(?:[*-]|\d+\.)\s+")
APART: Final = ("    ", "#", "!", "<")
"""Prefixes of lines that are not prose: commands, headings, pictures."""


def passages(page: str) -> Iterator[str]:
    """Yield a page's paragraphs, list items and table cells; a passage of code counts as one word."""
    words: list[str] = []
    for line in [*page.splitlines(), ""]:
        if not line.strip() or line.startswith((*APART, "|")) or ITEM.match(line):
            yield " ".join(words)
            words = []
        if line.startswith("|"):
            yield from line.strip("|").split("|")
        elif not line.startswith(APART):
            words.append(ITEM.sub("", line, count=1).strip())


def sentences(page: str) -> Iterator[str]:
    prose = re.sub(r"\]\([^)]*\)", "]", re.sub(r"```.*?```", "", page, flags=re.DOTALL))
    for passage in passages(re.sub(r"`[^`\n]*`", "code", prose)):
        yield from re.split(r"(?<=[.!?;])[\"*)\]]*\s+", passage)


@pytest.mark.parametrize("path", READ, ids=lambda path: path.name)
def test_no_sentence_is_long(path: Path) -> None:
    found = list(sentences(path.read_text(encoding="utf-8")))
    assert len(found) > 10
    assert [text for text in found if len(text.split()) > MOST_WORDS] == []


def test_a_long_sentence_would_be_found() -> None:
    words = "word " * MOST_WORDS
    page = f"* `a b` {words}\n  end. Short.\n\n| c | {words}end |\n\n```\n{words}{words}\n```\n"
    assert [len(text.split()) > MOST_WORDS for text in sentences(page) if text.strip()] == [True, False, False, True]


def test_pages_are_few_and_short() -> None:
    menu = re.findall(r": ([a-z-]+\.md)$", (CHECKOUT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert {path.name for path in PAGES} <= set(menu) and len(menu) <= MOST_PAGES
    limits = MOST_LINES | {f"docs/{path.name}": MOST_PAGE_LINES for path in PAGES}
    lines = {name: len((CHECKOUT / name).read_text(encoding="utf-8").splitlines()) for name in limits}
    assert {name: count for name, count in lines.items() if count > limits[name]} == {}
    assert sum(lines[f"docs/{path.name}"] for path in PAGES) <= MOST_LINES_OF_ALL


@pytest.mark.parametrize("path", READ, ids=lambda path: path.name)
def test_files_that_are_named_are_there(path: Path) -> None:
    named = re.findall(
        r"`((?:planner|tests|scripts|benchmarks|native|catalogs|models)/[\w/-]+\.\w+)", path.read_text("utf-8")
    )
    assert [name for name in named if not (CHECKOUT / name).exists()] == []
