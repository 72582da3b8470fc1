"""One part of an answer, and how a terminal and a document show it. Pages show the same parts by `page/parts.html`."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner.report.words import wrapped

if TYPE_CHECKING:
    from rich.table import Table

LINES: Final = 24
"""Lines of a screen."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """A table as texts. Columns in `numbers` are aligned to the right, rows in `chosen` stand out."""

    title: str = ""
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Container[int] = ()
    chosen: Container[int] = ()


@dataclass(frozen=True)
class Lines:
    """Lines of one kind on a screen. Where there is no room, those of the least weight give way; None stays."""

    kind: str
    lines: Sequence[str]
    weight: int | None = None


GAP: Final = Lines("gap", [""], weight=0)


def without_lightest(parts: Sequence[Lines], *, over: int) -> list[Lines]:
    """Return the parts without the lightest, of these the last first, until `over` lines are gone."""
    kept = list(enumerate(parts))
    for part in sorted(kept, key=lambda part: (part[1].weight or 0, -part[0])):
        if over > 0 and part[1].weight is not None:
            kept.remove(part)
            over -= len(part[1].lines)
    return [part for _, part in kept]


def with_notes(
    lines: Sequence[str], notes: Sequence[str], *, width: int, ending: Callable[[int], list[str]]
) -> list[str]:
    """Return the lines, as many of the notes as fit on a screen, and the `ending` for the number of those left out."""
    shown, room = list(lines), LINES - len(ending(len(notes)))
    for number, note in enumerate(notes):
        more = wrapped(note, width)
        if len(shown) + len(more) > room:
            return [*shown, *ending(len(notes) - number)]
        shown += more
    return [*shown, *ending(0)]


def rich_table(section: Section, *, fold: bool = False) -> Table:
    """Return the section for a terminal; `fold` wraps long cells in place of cutting them."""
    from rich.table import Table

    table = Table(title=section.title or None, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for place, name in enumerate(section.columns):
        justify = "right" if place in section.numbers else "left"
        table.add_column(name, justify=justify, overflow="fold" if fold else "ellipsis")  # type: ignore[arg-type]
    for place, row in enumerate(section.rows):
        table.add_row(*row, style="bold" if place in section.chosen else "")
    return table


def aligned(section: Section, *, indent: str = "", gap: int = 2, width: int | None = None) -> list[str]:
    """Return the section as lines of plain text, in as many columns as fit the width."""
    rows = [section.columns, *section.rows]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    if width is not None:
        ends = [sum(widths[: place + 1]) + gap * place for place in range(len(widths))]
        widths = [size for size, end in zip(widths, ends, strict=True) if end <= width]
    signs = [">" if place in section.numbers else "<" for place in range(len(widths))]
    cells = ([f"{c:{sign}{size}}" for c, sign, size in zip(row, signs, widths, strict=False)] for row in rows)
    return [(indent + (" " * gap).join(row)).rstrip() for row in cells]


def markdown(section: Section) -> list[str]:
    """Return the section as a table in Markdown."""
    marks = ["---:" if place in section.numbers else "---" for place in range(len(section.columns))]
    rows = [section.columns, marks, *section.rows]
    return [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows]


def unrepeated(rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Return the rows with an empty first cell where it is that of the row above."""
    before = ["", *(row[0] for row in rows)]
    return [["" if row[0] == above else row[0], *row[1:]] for row, above in zip(rows, before, strict=False)]
