"""Where sorted tables go: one file, standard output, or a folder of files of about a given size."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from io import BufferedWriter, FileIO
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from planner.native import core
from planner.sorting.sort_job import SortJob, TableFormat

if TYPE_CHECKING:
    from typing_extensions import Buffer

_STDOUT: Final = 1


class Writer(Protocol):
    """A file of some format that tables are written to in order."""

    def write(self, groups: Iterator[Any], *, threads: int) -> Iterator[Any]:
        """Write tables; yield what was written of each."""

    def finish(self) -> int:
        """Write what is left; return the size of the file."""


class NamedOutput(FileIO):
    """An output descriptor whose errors name a path; its position is what was written, also of a pipe."""

    def __init__(self, descriptor: int, path: str) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self._path = path
        self._written = 0

    def write(self, content: Buffer, /) -> int:
        """Write some bytes; return how many."""
        try:
            written = super().write(content)
        except BrokenPipeError:  # which `head` causes, and no name explains
            raise
        except OSError as error:
            raise OSError(error.errno, f"cannot write {self._path}: {error.strerror}") from error
        self._written += written
        return written

    def tell(self) -> int:
        """Return the bytes written."""
        return self._written


NewWriter = Callable[[Any], Writer]


def write_tables(
    job: SortJob,
    groups: Iterator[Any],
    new: NewWriter,
    *,
    format: TableFormat,
    threads: int,
    before_commit: Callable[[], None],
) -> Iterator[Any]:
    """Write tables to the job's output; yield what was written of each. A file or folder appears whole or not at all,
    after `before_commit`, which may raise. Raises IoFailureError.
    """
    if job.output == "-":
        yield from _write(_STDOUT, "standard output", groups, new, threads=threads)
        before_commit()
    elif job.file_bytes is None:
        output = core.OutputFile(os.fsencode(job.output), replaces=job.force)
        size = yield from _write(output.descriptor, job.output, groups, new, threads=threads)
        before_commit()
        output.commit(size)
    else:
        suffix = f".{format}" + (f".{job.compression}" if job.compression else "")
        yield from _write_folder(job, job.file_bytes, suffix, groups, new, threads=threads, before_commit=before_commit)


def _write(
    descriptor: int, path: str, groups: Iterator[Any], new: NewWriter, *, threads: int, most_bytes: float = float("inf")
) -> Generator[Any, None, int]:
    """Write tables until a file is large enough; yield what was written of each, and return the size of the file."""
    with BufferedWriter(NamedOutput(descriptor, path)) as file:
        writer = new(file)
        yield from writer.write(_until(groups, lambda: file.tell() >= most_bytes), threads=threads)
        size = writer.finish()
        file.flush()
    return size


def _until(groups: Iterator[Any], is_enough: Callable[[], bool]) -> Iterator[Any]:
    for table in groups:
        yield table
        if is_enough():
            return


def _write_folder(
    job: SortJob,
    file_bytes: int,
    suffix: str,
    groups: Iterator[Any],
    new: NewWriter,
    *,
    threads: int,
    before_commit: Callable[[], None],
) -> Iterator[Any]:
    folder = Path(job.output)
    scratch = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    scratch.mkdir()
    try:
        for number in count():
            if (first := next(groups, None)) is None and number:
                break
            path = scratch / f"part-{number:05}{suffix}"
            output = core.OutputFile(os.fsencode(path), replaces=False)
            of_file = groups if first is None else chain([first], groups)
            size = yield from _write(output.descriptor, str(path), of_file, new, threads=threads, most_bytes=file_bytes)
            output.commit(size)
        before_commit()
        scratch.rename(folder)
    finally:
        with suppress(FileNotFoundError):
            shutil.rmtree(scratch)
