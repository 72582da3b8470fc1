"""Sorting, merging and checking text by keys, from files and pipes to a file or a pipe."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from planner.config.paths import StrPath
from planner.native import Progress, core, core_errors
from planner.sorting.records.keys import Key
from planner.sorting.sort_job import Spill


class TextOrder(NamedTuple):
    """The order of lines, and the treatment of equal ones.

    Equal keys are ordered by the whole line, unless `stable` keeps their order or `unique` only the first of them.
    """

    keys: tuple[Key, ...] = ()
    separator: bytes | None = None
    line_end: bytes = b"\n"
    stable: bool = False
    unique: bool = False
    reversed: bool = False
    random_seed: bytes = b""
    csv: tuple[bytes, bytes, int, bool] | None = None
    """Delimiter, quote, columns, and whether a row ends with CRLF: lines are rows, and equal ones keep their order."""
    record_bytes: int = 0
    """If not 0, lines are records of this many bytes without a terminator, and equal ones keep their order."""

    def for_core(self) -> core.KeyOrder:
        """Return this order in the sort core's form."""
        return core.KeyOrder(
            self.keys,
            separator=self.separator,
            line_end=self.line_end,
            whole_line_last=not (self.stable or self.unique),
            reversed=self.reversed,
            random_seed=self.random_seed,
            csv=self.csv,
            record_bytes=self.record_bytes,
        )


@dataclass(frozen=True)
class TextReport:
    """Result of a sort by keys: the `lines` written, and the number of `runs`, 0 if memory held all lines.

    `spilled_bytes` went to scratch files; `packed_bytes` of them were packed to `packed_to_bytes`, for `spill_reason`.
    """

    lines: int
    runs: int
    spilled_bytes: int
    packed_bytes: int
    packed_to_bytes: int
    spill_reason: str


def sort_text(
    inputs: Sequence[str],
    output: str = "",
    *,
    order: TextOrder,
    merge: bool = False,
    durable: bool = False,
    most_lines: int | None = None,
    memory_bytes: int = 0,
    lines_may_exceed_memory: bool = False,
    temp_dirs: Sequence[StrPath] = (),
    threads: int = 0,
    most_merged: int = 0,
    spill: Spill = "auto",
    replaces: bool = True,
    first_bytes: Sequence[int] = (),
    end_bytes: Sequence[int] = (),
    prologue: bytes = b"",
    first_row: int = 1,
    versions: Sequence[Any] = (),
    progress: Progress | None = None,
) -> TextReport:
    """Sort the lines of `inputs` into `output`.

    `-` is standard input, no output standard output. The output may be an input. With `merge` the inputs are already
    sorted; only the first `most_lines` of the result are written. With `durable` an output file is on disk before it
    gets its name; an existing file of that name, even one that appears during the sort, stays unless the output
    `replaces` it. Inputs are read from their `first_bytes` to their `end_bytes`, where given, and the output begins
    with the `prologue`; errors number rows of CSV from `first_row` on. `memory_bytes` 0 is four fifths of the available
    memory; fewer than 8 MiB count as 8 MiB. A line too long to be sorted in that memory is refused unless
    `lines_may_exceed_memory`.

    Raises IoFailureError with the step, the path and the system's reason; InputChangedError if a file no longer has one
    of the `versions` before the output gets its name; BadInputError for too little memory, and for an invalid row of
    CSV.
    """
    with core_errors():
        report = core.sort_text(
            [os.fsencode(path) for path in inputs],
            os.fsencode(output),
            order.for_core(),
            unique=order.unique,
            merge=merge,
            durable=durable,
            most_lines=2**64 - 1 if most_lines is None else most_lines,
            memory_bytes=memory_bytes,
            lines_may_exceed_memory=lines_may_exceed_memory,
            temporary_directories=[os.fsencode(path) for path in temp_dirs],
            threads=threads,
            most_merged=most_merged,
            spill=spill,
            replaces=replaces,
            first_bytes=list(first_bytes),
            end_bytes=list(end_bytes),
            prologue=prologue,
            first_row=first_row,
            versions=versions,
            progress=progress,
        )
    return TextReport(**report)


def find_disorder(path: str, *, order: TextOrder, first_byte: int = 0, first_row: int = 1) -> tuple[int, bytes] | None:
    """Return the number and the text of the first line that is out of order, None if there is none.

    Lines are counted from `first_row`, and the file is read from `first_byte`.
    """
    with core_errors():
        return core.find_disorder(
            os.fsencode(path), order.for_core(), unique=order.unique, first_byte=first_byte, first_row=first_row
        )
