"""Options that describe records and their keys, the same for every command that reads or writes data."""

from __future__ import annotations

from typing import Annotated

from typer import Option

RecordSize = Annotated[int, Option(help="Bytes of a record.")]
KeyOffset = Annotated[int, Option(help="Where the key begins.")]
KeySize = Annotated[
    int | None, Option(help="Bytes of the key: 10 of a record, to the end of a line unless given.")
]  # fmt: skip
Threads = Annotated[int | None, Option(help="Threads; all cores otherwise.", min=1)]
