"""Sorting and checking of text files in common forms: compressed, with a header, as lines or as rows of CSV.

The sort core takes one pipe, so adjacent inputs that need one are joined as the core joins files.
"""

from __future__ import annotations

import os
import re
import resource
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from planner.compression.looks import require_rows
from planner.compression.text_codecs import USUAL_WINDOW_BYTES, Pipe, Source, compressor, open_source
from planner.errors import BadInputError, InterruptedRunError, IoFailureError, PlannerError
from planner.native import STANDARD_OUTPUT, Progress, core, core_errors
from planner.sorting.records.keyed import TextOrder, TextReport, find_disorder, sort_text
from planner.sorting.records.keys import Key
from planner.sorting.text.csv_keys import NO_QUOTE, FirstRow, parse_csv_keys, read_first_row
from planner.sorting.text.text_job import CsvColumns, TextJob
from planner.units import count_text


@dataclass(frozen=True)
class OpenedInputs:
    """Inputs in the core's form."""

    paths: list[str]
    names: dict[str, str]
    order: TextOrder
    first_bytes: list[int] = field(default_factory=list)
    prologue: bytes = b""
    first_row: int = 1
    window_bytes: int = 0
    """Memory that decompressing them takes."""
    versions: dict[str, Any] = field(default_factory=dict)
    """Those of files by their names, before they were read."""


def sort_text_files(job: TextJob, progress: Progress) -> TextReport:
    """Sort; the report does not count a header as a line.

    The output appears whole or not at all. Raises BadInputError for damaged or truncated compression, naming the input,
    and for invalid rows, naming the row; else as `sort_text`.
    """
    with _open_inputs(job, progress) as opened, _output(job, progress) as output:
        return sort_text(
            opened.paths,
            output,
            order=opened.order,
            first_bytes=opened.first_bytes,
            prologue=opened.prologue,
            first_row=opened.first_row,
            versions=_fixed_versions(opened.versions, job.output),
            merge=job.merge,
            durable=True,
            most_lines=job.limit,
            memory_bytes=job.memory_bytes - opened.window_bytes if job.memory_bytes else 0,
            temp_dirs=job.temp_dirs,
            threads=job.threads or 0,
            spill=job.spill,
            replaces=job.force,
            progress=progress,
        )


def _fixed_versions(versions: Mapping[str, Any], output: str) -> list[Any]:
    """Return the versions that must hold until the end: standard output may append to an input."""
    if output:
        return list(versions.values())
    with core_errors():
        status = os.fstat(1)
    return [version for name, version in versions.items() if not os.path.samestat(os.stat(name), status)]  # noqa: PTH116


def check_text_file(job: TextJob, progress: Progress) -> tuple[int, bytes] | None:
    """Return the number, from 1, and the text of the first line out of order in the inputs, one after the other.

    With a unique order, equal lines are out of order, too. In CSV the header is row 1.
    """
    with _open_inputs(job, progress, joined=len(job.inputs) > 1) as opened:
        first_byte = opened.first_bytes[0]
        return find_disorder(opened.paths[0], order=opened.order, first_byte=first_byte, first_row=opened.first_row)


def summarize_rows(job: TextJob, progress: Progress) -> tuple[int, int]:
    """Return the number of rows or lines of text, and the sum of their hashes and a heading's. Raises BadInputError."""
    rows, checksum = 0, 0
    with core_errors():
        sources = open_sources(job, progress)
        for source in sources:
            source.read_in_chunks()
        opened = open_csv(job.csv, sources, job.order) if job.csv else OpenedInputs([], {}, job.order)
        if job.csv and opened.order.csv is None:  # empty files
            return 0, 0
        for piece in _whole_rows(join_texts(sources, opened.order), opened.order):
            found = core.summarize_text(piece, opened.order.for_core())
            rows, checksum = rows + found[0], checksum + found[1]
            progress.add_bytes(len(piece))
    return rows, checksum + zlib.crc32(opened.prologue)


def _whole_rows(chunks: Iterable[bytes], order: TextOrder) -> Iterator[bytes]:
    """Yield the same text in pieces that end where a record or a row does."""
    waiting: list[bytes] = []
    for part, ends_row in cut_rows(chunks, order):
        waiting.append(part)
        if ends_row:
            yield b"".join(waiting)
            waiting.clear()
    if waiting:
        yield b"".join(waiting)


def cut_rows(chunks: Iterable[bytes], order: TextOrder) -> Iterator[tuple[bytes, bool]]:
    """Yield the same text in parts, and whether each ends where a record does, or a row: at the end of a line outside
    quotes.
    """
    size = quotes = 0
    for chunk in chunks:
        size += len(chunk)
        quotes += chunk.count(order.csv[1]) if order.csv else 0
        end = _end_of_rows(chunk, order, size=size, quotes=quotes)
        if end:
            yield chunk[:end], True
        if end < len(chunk):
            yield chunk[end:], False


def _end_of_rows(chunk: bytes, order: TextOrder, *, size: int, quotes: int) -> int:
    """Return where the last row ends in a chunk, 0 if none does; text up to its end has that size and those quotes."""
    if order.record_bytes:
        return max(len(chunk) - size % order.record_bytes, 0)
    end = len(chunk)
    while (newline := chunk.rfind(order.line_end, 0, end)) >= 0:
        quotes -= chunk.count(order.csv[1], newline, end) if order.csv else 0
        if quotes % 2 == 0:
            return newline + 1
        end = newline
    return 0


def open_sources(job: TextJob, progress: Progress, *, memory_bytes: int = 0) -> list[Source]:
    """Return the inputs; records are compressed only where their names say so. Raises OSError, and BadInputError for a
    pipe without text if nothing says what it holds.
    """
    by_name, looks = bool(job.order.record_bytes), job.looks or (None,) * len(job.inputs)
    sources = [
        open_source(path, progress, by_name=by_name, memory_bytes=memory_bytes, look=look)
        for path, look in zip(job.inputs, looks, strict=True)
    ]
    for source in sources if job.looks and job.format is None else ():
        require_rows(next(source.head(), b""), name=source.name)
    return sources


@contextmanager
def _open_inputs(job: TextJob, progress: Progress, *, joined: bool = False) -> Iterator[OpenedInputs]:
    """Yield the inputs; threads read those that are not plain files, and all that are `joined` to one. Their errors
    take precedence over others.
    """
    with core_errors():
        sources = open_sources(job, progress, memory_bytes=job.memory_bytes or 0)
        for source in sources if joined else ():
            source.read_in_chunks()
        opened = open_csv(job.csv, sources, job.order) if job.csv else OpenedInputs([], {}, job.order)
        pipes: list[Pipe] = []
    try:
        window_bytes = _window_bytes(job, sources)
        firsts = _paths(job, sources, opened, pipes, progress)
        versions = {source.name: source.version for source in sources if source.version}
        yield replace(opened, first_bytes=firsts, window_bytes=window_bytes, versions=versions)
    except PlannerError as error:
        _close(pipes)
        raise _explained(_name_inputs(error, opened.names), job) from error
    except BaseException:
        _close(pipes)
        raise
    _close(pipes)


def _paths(
    job: TextJob, sources: Sequence[Source], opened: OpenedInputs, pipes: list[Pipe], progress: Progress
) -> list[int]:
    """Give the inputs paths, and pipes where they need them. Returns the first byte of each path.

    Inputs are read in parallel only in a merge. Raises BadInputError if that takes too many descriptors.
    """
    if job.merge:
        allow_pipes(sum(source.chunks is not None for source in sources))
    sizes = iter(opened.first_bytes or [0] * len(sources))
    firsts = []
    for group in ([source] for source in sources) if job.merge else group_sources(sources):
        skipped = [next(sizes) for _ in group]
        if group[0].chunks is None:
            opened.paths.append(group[0].name)
            firsts += skipped
            continue
        pipe = Pipe(progress)
        pipes.append(pipe)
        pipe.feed(join_texts(group, opened.order))
        opened.paths.append(pipe.path)
        opened.names[pipe.path] = group[0].name if len(group) == 1 else f"{group[0].name} and others"
        firsts.append(skipped[0])  # errors count from here
    return firsts


def _window_bytes(job: TextJob, sources: Sequence[Source]) -> int:
    """Return the memory that decoders take while inputs are read, one at a time except in a merge; 0 where usual.

    Raises BadInputError if it is more than half of the memory.
    """
    held_bytes = (sum if job.merge else max)(source.window_bytes for source in sources)
    if held_bytes < 2 * USUAL_WINDOW_BYTES:
        return 0
    if job.memory_bytes and held_bytes > job.memory_bytes // 2:
        name = max(sources, key=lambda source: source.window_bytes).name
        needed_mb = (3 * held_bytes + (64 << 20)) // 1_000_000
        others = " with the others" if job.merge else ""
        raise BadInputError(
            f"{name}: decompressing it{others} takes {held_bytes >> 20} MiB: give --memory of at least {needed_mb}MB",
            code="memory",
        )
    return held_bytes


def _close(pipes: Sequence[Pipe]) -> None:
    for pipe in pipes:
        pipe.close()
    for pipe in pipes:
        with core_errors():
            pipe.raise_failure()


def _name_inputs(error: PlannerError, names: dict[str, str]) -> PlannerError:
    """Return the error with names of inputs in place of names of pipes."""
    message = re.sub(r"/dev/fd/\d+", lambda path: names.get(path[0], path[0]), error.message)
    return error.reworded(message)


def _explained(error: PlannerError, job: TextJob) -> PlannerError:
    """Return an error that explains what counts as a quote in CSV without quotes."""
    if job.csv is None or job.csv.quote != NO_QUOTE or "quote" not in error.message:
        return error
    return error.reworded(error.message, "a NUL counts as a quote here, as CSV without quotes has none")


def open_csv(csv: CsvColumns, sources: Sequence[Source], order: TextOrder) -> OpenedInputs:
    """Remove the header of every input, or only a byte order mark."""
    dialect = {"delimiter": csv.delimiter, "quote": csv.quote}
    rows = {source.name: read_first_row(source.head(), name=source.name, **dialect) for source in sources}
    if not any(row.values for row in rows.values()):
        return OpenedInputs([], {}, order._replace(keys=()), [len(row.content) for row in rows.values()])
    common = common_rows(csv, rows)
    sizes = [csv.skipped_bytes(rows[source.name]) for source in sources]
    for source, size in zip(sources, sizes, strict=True):
        source.skip(size)
    order = order._replace(keys=common.keys, csv=common.format, stable=True)
    return OpenedInputs([], {}, order, sizes, common.prologue, 2 if csv.header else 1)


@dataclass(frozen=True, kw_only=True)
class CommonRows:
    """Properties shared by CSV files: keys, the format in the core's form, and the beginning of a sorted file."""

    keys: tuple[Key, ...]
    format: tuple[bytes, bytes, int, bool]
    prologue: bytes


def common_rows(csv: CsvColumns, rows: Mapping[str, FirstRow]) -> CommonRows:
    """Return the shared properties of files whose first rows are given by name.

    Empty files cannot differ. Raises BadInputError for different headers, for keys that are not columns, and if all
    files are empty.
    """
    rows = {name: row for name, row in rows.items() if row.values} or dict(rows)
    first_name, first = next(iter(rows.items()))
    if not first.values:
        raise BadInputError(
            f"{first_name} is empty: there is no first row that says what the columns are", code="empty-file"
        )
    names = first.values if csv.header else ()
    for name, row in rows.items():
        if csv.header and row.values != names:
            raise BadInputError(
                f"{name}: {_header_difference(row, first)} {first_name}; headers must be equal", code="header-mismatch"
            )
    try:
        keys = parse_csv_keys(csv.keys, names, columns=len(first.values))
    except BadInputError as error:
        columns = f"the first row of {first_name} has {count_text(len(first.values), 'column')}"
        raise error.reworded(error.message, columns) from None
    return CommonRows(
        keys=keys,
        format=(csv.delimiter, csv.quote, len(first.values), _ends_with_crlf(rows.values())),
        prologue=_with_line_end(first.without_blank_lines) if csv.header else first.mark,
    )


def _ends_with_crlf(rows: Iterable[FirstRow]) -> bool:
    """Return whether rows end with CRLF, from the first row that has an end: the only row of a file may lack one."""
    return next((row.ends_with_crlf for row in rows if row.content.endswith(b"\n")), False)


def _header_difference(row: FirstRow, first: FirstRow) -> str:
    if len(row.values) != len(first.values):
        return f"the header has {len(row.values)} columns and not the {len(first.values)} of"
    number = next(i for i, (a, b) in enumerate(zip(row.values, first.values, strict=True)) if a != b)
    return f"column {number + 1} is called {row.values[number]!r} and not {first.values[number]!r} as in"


def _with_line_end(row: bytes) -> bytes:
    return row if row.endswith(b"\n") else row + b"\n"


@contextmanager
def _output(job: TextJob, progress: Progress) -> Iterator[str]:
    """Yield a path for the core's output, which is compressed in passing if the job asks for it."""
    form = job.compression
    if form is None:
        yield job.output
        return
    library = compressor(form, job.threads or 0)
    with core_errors():
        target: Any = core.OutputFile(os.fsencode(job.output), replaces=job.force) if _is_replaced(job.output) else None
        opened = os.open(job.output, os.O_WRONLY) if job.output and target is None else 1
    written = _Counted(opened if target is None else target.descriptor, job.output or STANDARD_OUTPUT)
    pipe = Pipe(progress)
    pipe.drain(lambda chunk: written.add(library.compress(chunk)))
    try:
        yield pipe.path
    except BaseException:
        pipe.close()
        pipe.raise_failure()
        raise
    pipe.close()
    pipe.raise_failure()
    written.add(library.flush())
    if target is not None:
        if progress.is_cancelled:
            raise InterruptedRunError("interrupted; nothing half written was left behind")
        with core_errors():
            target.commit(written.size)


def _is_replaced(path: str) -> bool:
    """Return whether a new file takes this name at the end; standard output, devices and pipes are written directly."""
    return bool(path) and (os.path.isfile(path) or not os.path.exists(path))  # noqa: PTH110, PTH113


class _Counted:
    """Writes to a descriptor and counts the bytes."""

    def __init__(self, descriptor: int, name: str) -> None:
        self._descriptor = descriptor
        self._name = name
        self.size = 0

    def add(self, content: bytes) -> None:
        """Write all of it. Raises IoFailureError."""
        view = memoryview(content)
        while view:
            try:
                done = os.write(self._descriptor, view)
            except OSError as error:
                if isinstance(error, BrokenPipeError) and self._name == STANDARD_OUTPUT:
                    raise
                raise IoFailureError(
                    f"write failed: {self._name}: {error.strerror}; nothing was written", code="io"
                ) from error
            self.size += done
            view = view[done:]


_OTHERS: Final = 64
_OF_A_PIPE: Final = 4
"""Descriptors of a pipe: both ends, the file that fills it, and the end that the core opens."""


def allow_pipes(pipes: int) -> None:
    """Raise this process's limit of descriptors if `pipes` need more. Raises BadInputError where that is impossible."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = pipes * _OF_A_PIPE + _OTHERS
    if soft == resource.RLIM_INFINITY or needed <= soft:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise BadInputError(
            f"merging {pipes} compressed inputs takes {needed} open files, and {hard} are allowed",
            ["raise `ulimit -n`, merge some of them first, or leave out --merge"],
            code="open-files",
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def group_sources(sources: Sequence[Source]) -> Iterator[list[Source]]:
    """Yield the sources in order: one by one if the core reads them directly, adjacent ones that need a pipe
    together.
    """
    piped: list[Source] = []
    for source in sources:
        if source.chunks is not None:
            piped.append(source)
            continue
        if piped:
            yield piped
        yield [source]
        piped = []
    if piped:
        yield piped


def join_texts(sources: Sequence[Source], order: TextOrder) -> Iterator[bytes]:
    """Yield the text of all sources; a missing end of a last line is added.

    Raises BadInputError for a quoted field of CSV without an end, and for half a record, naming the source.
    """
    for source in sources:
        yield from ended_text(source.name, source.chunks or iter(()), order)


def ended_text(name: str, chunks: Iterable[bytes], order: TextOrder) -> Iterator[bytes]:
    """Yield the text of one source in the same way."""
    size, is_within_quotes, last = 0, False, b""
    for chunk in chunks:
        if chunk:
            size += len(chunk)
            last = chunk[-1:]
            is_within_quotes ^= bool(order.csv) and _flips_quotes(chunk, order)
        yield chunk
    if is_within_quotes:
        raise BadInputError(f"{name}: the last row has a quoted field that has no end", code="open-quote")
    if order.record_bytes:
        _require_whole_records(name, size, order.record_bytes)
    elif last not in (b"", order.line_end):
        yield _line_end(order, last)


def _flips_quotes(chunk: bytes, order: TextOrder) -> bool:
    return order.csv is not None and chunk.count(order.csv[1]) % 2 == 1


def _line_end(order: TextOrder, last: bytes) -> bytes:
    adds_return = order.csv is not None and order.csv[3] and last != b"\r"
    return b"\r" + order.line_end if adds_return else order.line_end


def _require_whole_records(name: str, size: int, record_bytes: int) -> None:
    if left := size % record_bytes:
        raise BadInputError(
            f"{name} holds no whole number of records of {record_bytes} bytes: {left} are left over",
            code="partial-records",
        )
