"""`planner sort` by keys of text: the options, and the sort."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from planner.cli.console import show_json, talk
from planner.cli.text_files import notes_on_columns
from planner.errors import BadInputError
from planner.units import format_duration

if TYPE_CHECKING:
    from planner.sorting.keys import Key


@dataclass(frozen=True, kw_only=True)
class KeyOptions:
    """How lines are sorted by keys. Without any of these they are sorted as before."""

    key: Annotated[
        list[str] | None, Option(help="Sort lines by a key as GNU sort's -k has it: 2,2n. Again for further keys.")
    ] = None
    separator: Annotated[str | None, Option(help="The byte between fields; blanks otherwise.")] = None
    unique: Annotated[bool, Option("--unique", help="Keep the first of lines with equal keys.")] = False
    merge: Annotated[bool, Option("--merge", help="The inputs are sorted already: merge them.")] = False
    limit: Annotated[int | None, Option(min=1, help="Write so many lines, the first in order.")] = None
    zero_terminated: Annotated[bool, Option("-z", help="Lines end with NUL, not with a newline.")] = False

    @property
    def are_given(self) -> bool:
        """Whether any of them is."""
        return bool(self.key or self.separator or self.unique or self.merge or self.limit or self.zero_terminated)


def sort_by_keys(
    sources: Sequence[Path],
    output: Path,
    options: KeyOptions,
    *,
    stable: bool,
    memory_bytes: int | None,
    threads: int | None,
    temp_dirs: Sequence[Path],
    json: bool,
) -> None:
    """Sort lines and say what was done; `-` is standard input or output. Raises BadInputError for a wrong key."""
    from planner.native import run_interruptible
    from planner.sorting.keyed import TextOrder, sort_text

    separator = parsed_separator(options)
    order = TextOrder(
        keys=parsed_keys(options),
        separator=separator,
        line_end=b"\0" if options.zero_terminated else b"\n",
        stable=stable,
        unique=options.unique,
    )
    began = time.monotonic()
    lines, runs = run_interruptible(
        lambda progress: sort_text(
            [str(source) for source in sources],
            "" if str(output) == "-" else str(output),
            order=order,
            merge=options.merge,
            durable=True,
            most_lines=options.limit,
            memory_bytes=memory_bytes or 0,
            temp_dirs=[str(path) for path in temp_dirs] or [str(output.parent)],
            threads=threads or 0,
            progress=progress,
        )
    )
    seconds = time.monotonic() - began
    if separator and str(output) != "-":
        for note in chain.from_iterable(notes_on_columns(source, separator) for source in sources):
            talk(f"note: {note}")
    if json and str(output) != "-":
        show_json({"lines": lines, "runs": runs, "seconds": seconds})
    else:
        talk(f"{lines} lines in {format_duration(seconds)}, {f'{runs} runs merged' if runs else 'in memory'}")


def parsed_keys(options: KeyOptions) -> tuple[Key, ...]:
    """Return the keys that are given. Raises BadInputError for one that cannot be."""
    from planner.sorting.keys import BadKeyError, check_compatible, parse_key

    try:
        keys = tuple(parse_key(text) for text in options.key or ())
        for key in keys:
            check_compatible(key)
    except BadKeyError as error:
        hint = "a key is the numbers of its first and last column, as 2,2 or 3,3n: give --key once for each key"
        raise BadInputError(f"--key: {error}; {hint}") from error
    return keys


def parsed_separator(options: KeyOptions) -> bytes | None:
    """Return the byte between fields, None for blanks. Raises BadInputError for more than a byte."""
    separator = None if options.separator is None else options.separator.encode()
    if separator is not None and len(separator) != 1:
        raise BadInputError(f"--separator is one byte, not {options.separator!r}")
    return separator
