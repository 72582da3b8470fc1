"""One part of an answer, and how a terminal and a document show it. Pages show the same parts by `page/parts.html`,
commands by `planner.cli.shell.console.show`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from planner.report.words import wrapped

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

LINES: Final = 24
"""Lines of a screen."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """A table as texts. Columns in `numbers` are aligned to the right, rows in `chosen` stand out; `styles` are rows'
    colours in a terminal.
    """

    title: str = ""
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Container[int] = ()
    chosen: Container[int] = ()
    styles: Sequence[str] = ()

    @property
    def cells(self) -> list[tuple[str, ...]]:
        """The cells of each column, its name first."""
        return [*zip(self.columns, *self.rows, strict=True)]

    def without(self, names: Collection[str]) -> Section:
        """Return the section without the columns of these names."""
        kept = [place for place, name in enumerate(self.columns) if name not in names]
        rows = [[row[place] for place in kept] for row in self.rows]
        numbers = [new for new, place in enumerate(kept) if place in self.numbers]
        return replace(self, columns=[self.columns[place] for place in kept], rows=rows, numbers=numbers)

    def __rich__(self) -> Table:
        return self.wide([None] * len(self.columns))

    def wide(self, widths: Iterable[int | None]) -> Table:
        """Return the section for a terminal, its columns of these widths; longer cells are wrapped."""
        from rich.table import Table

        table = Table(title=self.title or None, title_justify="left", title_style="bold", box=None, pad_edge=False)
        for place, (name, width) in enumerate(zip(self.columns, widths, strict=True)):
            table.add_column(name, justify="right" if place in self.numbers else "left", overflow="fold", width=width)
        for place, row in enumerate(self.rows):
            table.add_row(*row, style=self.style(place))
        return table

    def style(self, place: int) -> str:
        """Return how a row looks in a terminal."""
        return self.styles[place] if self.styles else "bold" if place in self.chosen else ""


@dataclass(frozen=True)
class Said:
    """A paragraph in a terminal, in a style up to the `rest`."""

    text: str
    style: str = ""
    rest: str = ""

    def __rich__(self) -> Text:
        from rich.text import Text

        return Text(self.text, style=self.style) if not self.rest else Text.assemble((self.text, self.style), self.rest)


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


def aligned(section: Section, *, indent: str = "", gap: int = 2, width: int | None = None) -> list[str]:
    """Return the section as lines of plain text, in as many columns as fit the width."""
    rows = [section.columns, *section.rows]
    widths = [max(map(len, cells)) for cells in section.cells]
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
