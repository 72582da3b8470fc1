"""The options that say what files hold and by what keys they are sorted, as several commands have them."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from typer import Option

KEY_HELP: Final = (
    "A key of lines as GNU sort's -k has it: 2,2n. Of columns: NAME[:int|num|float|fold][:desc][:first]. Of records:"
    " OFFSET:SIZE[:KIND][:desc], KIND as of columns or u64le, i32be, f64le and their kin."
)
Keys = Annotated[list[str] | None, Option(help=KEY_HELP)]
Separator = Annotated[str | None, Option(help="The byte between fields; blanks, or of CSV a comma, otherwise.")]
Format = Annotated[
    Literal["records", "lines", "csv", "parquet"] | None, Option(help="What the files hold; records otherwise.")
]
NoHeader = Annotated[bool, Option("--no-header", help="The first row of CSV is data.")]
Unique = Annotated[bool, Option("--unique", help="Keep the first of lines with equal keys.")]
ZeroTerminated = Annotated[bool, Option("-z", help="Lines end with NUL, not with a newline.")]
