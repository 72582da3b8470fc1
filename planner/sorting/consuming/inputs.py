"""What a sort does to its inputs with `--consume-input`: it frees their space, and deletes them. Nothing else does."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from planner.errors import BadInputError, IoFailureError
from planner.native import core, core_errors

FREED_BYTES: Final = 4096
"""Block size of most file systems; one with larger blocks frees a block only once all of it is released."""

Range = tuple[int, int]
"""Offset and size of a range of bytes in a file."""
Part = tuple[str, Sequence[Range]]
"""A file and ranges of it."""
Identity = tuple[int, int, int]
"""Device, inode number and size in bytes of a file."""


@dataclass(frozen=True)
class ConsumeInput:
    """The option `--consume-input` as it was given, now or when the sort that is resumed was begun.

    What frees or deletes inputs takes it. Raises BadInputError where it was not given.
    """

    is_given: bool

    def __post_init__(self) -> None:
        if self.is_given is not True:
            raise BadInputError("inputs are freed and deleted only with --consume-input", code="not-consumed")


def delete_inputs(
    option: ConsumeInput, inputs: Sequence[tuple[str, Identity]], *, output: Path, output_bytes: int
) -> None:
    """Delete the inputs that are still those files, once the output is whole and on the disk, its name too.

    Raises IoFailureError, and deletes nothing, where the output has another size.
    """
    del option
    if not output.is_file() or output.stat().st_size != output_bytes:
        raise IoFailureError(f"{output} is not the result of {output_bytes} bytes", code="damaged-state")
    for path, identity in inputs:
        if os.path.exists(path) and identity_of(path) == identity:  # noqa: PTH110  # else the output replaced it
            os.unlink(path)  # noqa: PTH108


def free_inputs(option: ConsumeInput, parts: Sequence[Part]) -> None:
    """Free parts of inputs whose rows are elsewhere on the disk."""
    del option
    free_parts(parts)


def free_parts(parts: Sequence[Part]) -> None:
    """Free the whole blocks within parts of files; zeroing the partial blocks would cost a transfer each."""
    core.free_space([(os.fsencode(path), list(_whole_blocks(ranges))) for path, ranges in parts])


def _whole_blocks(ranges: Sequence[Range]) -> Iterator[Range]:
    for begin, size in ranges:
        first, end = -(-begin // FREED_BYTES) * FREED_BYTES, (begin + size) // FREED_BYTES * FREED_BYTES
        if first < end:
            yield first, end - first


def identity_of(path: str) -> Identity:
    """Return the device, the inode number and the size in bytes of a file."""
    status = os.stat(path)  # noqa: PTH116
    return status.st_dev, status.st_ino, status.st_size


def require_consumable(path: str) -> None:
    """Raise BadInputError for a file whose space cannot be freed, or which has other names."""
    status = os.stat(path)  # noqa: PTH116
    if status.st_nlink > 1:
        raise BadInputError(
            f"{path} has {status.st_nlink} names, and none would keep its data: copy it first", code="several-names"
        )
    if not os.access(path, os.W_OK) or not os.access(os.path.dirname(path), os.W_OK):  # noqa: PTH120
        raise BadInputError(
            f"{path}: permission denied; --consume-input removes it, so you must be allowed to",
            code="permission-denied",
        )
    try:
        with core_errors():
            core.free_space([(os.fsencode(path), [(status.st_size, FREED_BYTES)])])
    except IoFailureError as error:
        raise BadInputError(
            f"{path}: its file system frees no parts of files; leave out --consume-input",
            [error.message],
            code="unsupported-file-system",
        ) from error
