"""Conventions of all commands: stdout for results, stderr for messages, and one mapping of errors to exit codes. The
reader of results may leave early, as with `| head`.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, TextIO

from planner.cli.shell.failures import ending_of, headed
from planner.report.section import Said, Section
from planner.report.words import wrapped

_NAME = 18
"""Longest cell that counts as a name, date or number, which are not broken over lines."""
_LEAST = 14
"""Narrowest column of sentences."""
_WORD = 40
"""Longest unbroken word, such as an address; on a screen below `_BROAD` it is `_NARROW_WORD`."""
_BROAD = 100
_NARROW_WORD = 24
_GAP = 2
"""Spaces between two columns."""


@contextmanager
def ends_without_reader() -> Iterator[None]:
    """End the command quietly with 0 when nobody reads its results any more."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError as error:
        if error.filename is not None:
            raise
        forget(sys.stdout)
        raise SystemExit(0) from None


def forget(stream: TextIO) -> None:
    """Discard output that can no longer be written; else Python complains at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def exit_code_of(run: Callable[[], None]) -> int:
    """Run a command and return its exit code. Every error is printed as a sentence on stderr; see `failures`."""
    try:
        with ends_without_reader():
            run()
    except Exception as error:
        return print_error(error)
    return 0


def print_error(error: Exception, *, before: str = "error: ") -> int:
    """Print an error on stderr, and return its exit code."""
    text, code = ending_of(error)
    talk(f"{before}{headed(text) if before == 'error: ' else text}")
    try:
        sys.stdout.flush()
    except OSError:
        forget(sys.stdout)
    return code


_CONTROL: Final = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"}
"""Control characters, which names and data may have and terminals obey."""


def talk(text: str) -> None:
    """Print a message for the person on stderr. Without a reader the command goes on."""
    try:
        print(text.translate(_CONTROL), file=sys.stderr)
    except OSError:
        forget(sys.stderr)


def show_text(text: str) -> None:
    """Print a result."""
    with ends_without_reader():
        print(text)


def show_version() -> None:
    """Print this version."""
    from importlib.metadata import version

    show_text(f"planner {version('sortplanner')}")


def show_json(value: Mapping[str, Any]) -> None:
    """Print a result as one JSON object that starts with its version."""
    from planner.schemas.json_values import VERSION

    show_text(json.dumps({"version": VERSION, **value}, indent=2, allow_nan=False))


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = False, title: str = "") -> Section:
    """Return a table; `numbers` right-aligns all columns but the first."""
    return Section(title=title, columns=columns, rows=[*rows], numbers=range(1, len(columns)) if numbers else ())


def of_texts(section: Section) -> Section:
    """Return a table of texts from files, such as names of jobs, whose brackets are no markup."""
    from rich.markup import escape

    return replace(section, rows=[[*map(escape, row)] for row in section.rows])


def columns() -> int:
    """Return how many columns an answer may take: COLUMNS, else the terminal's, else 80."""
    return max(shutil.get_terminal_size().columns, 40)


def shown_width() -> int:
    """Return the width of tables: the terminal's or COLUMNS, 160 in a pipe."""
    return columns() if "COLUMNS" in os.environ or sys.stdout.isatty() else 160


def show(*answers: Any, drop_first: Sequence[str] = ()) -> None:
    """Print texts, paragraphs and tables, or answers of several, as a result, `shown_width` wide; colours only where a
    terminal shows them. A table that does not fit loses columns of `drop_first` in order, with a note; if that is not
    enough it becomes a block per row, a line per cell.
    """
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=False, width=shown_width())
    with console.capture() as captured:
        for answer in answers:
            for part in [answer] if isinstance(answer, str | Said | Section) else answer:
                fitted = _fitted(part, console.width, drop_first) if isinstance(part, Section) else [part]
                for line in fitted:
                    console.print(line)
    with ends_without_reader():
        print(captured.get(), end="")


def fits(section: Section, width: int) -> bool:
    """Return whether a table of short cells fits the width without breaking any."""
    sizes = [max([_longest_word(header), *map(len, cells)]) for header, *cells in section.cells]
    return sum(sizes) + _GAP * (len(sizes) - 1) <= width


def _fitted(section: Section, width: int, drop_first: Sequence[str]) -> Iterator[Any]:
    """Yield a table that fits: names, dates and numbers keep their width, sentences are narrowed; else drop or fold."""
    present = [name for name in drop_first if name in section.columns]
    for count in range(len(present) + 1):
        left = section.without(present[:count])
        needs = [_need(header, cells, width=width) for header, *cells in left.cells]
        spare = width - sum(needs) - _GAP * (len(needs) - 1)
        if spare >= 0:
            yield left.wide(_shared_out(spare, needs, left.cells))
            if count:
                yield f"Not shown, as the screen is narrow: {', '.join(present[:count])}. COLUMNS=160 shows all."
            return
    yield _folded(section)


def _shared_out(spare: int, needs: Sequence[int], texts: Sequence[Sequence[str]]) -> list[int]:
    """Return column widths that share the screen's spare columns; rich would give them to some and crop others."""
    widths = list(needs)
    wants = [max((len(line) for text in cells for line in text.splitlines()), default=0) for cells in texts]
    order = sorted(range(len(needs)), key=lambda number: wants[number] - needs[number])
    for position, number in enumerate(order):
        given = min(max(wants[number] - needs[number], 0), -(-spare // (len(order) - position)))
        widths[number] += given
        spare -= given
    return widths


def _need(header: str, cells: Sequence[str], *, width: int) -> int:
    """Return a column's narrowest width: names stay whole, sentences and headers break between words."""
    size, word = max([_longest_word(header), *map(len, cells)]), _WORD if width >= _BROAD else _NARROW_WORD
    return size if size <= _NAME else min(max([_LEAST, _longest_word(header), *map(_longest_word, cells)]), word)


def _longest_word(text: str) -> int:
    return max(map(len, text.split()), default=0)


def _folded(section: Section) -> Any:
    """Return a table as a block per row, with a line per cell and the name of its column."""
    from rich.table import Table

    folded = Table(box=None, pad_edge=False, show_header=False, title=section.title or None, title_justify="left")
    folded.add_column()
    folded.add_column(overflow="fold")
    for number, row in enumerate(section.rows):
        if number:
            folded.add_row("", "")
        for name, cell in zip(section.columns, row, strict=True):
            if cell:
                folded.add_row(name, cell, style=section.style(number))
    return folded


def show_sentences(text: str) -> None:
    """Print a result in sentences, wrapped to the terminal or COLUMNS if narrower."""
    width = shown_width()
    for line in text.splitlines():
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        show_text("\n".join(wrapped(line, width, indent=indent)))
