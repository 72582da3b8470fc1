"""The sorted rewrite of groups of files: sort, prove, commit, a group at a time.

Each group is its own commit, so that what is done stays done. Before it, the new files are read back: their rows, and
an order-free checksum of every column, must be those that the sort has read.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from planner.errors import BadInputError, IoFailureError, PlannerError, ValidationFailedError
from planner.native import Progress, core
from planner.sorting.sort_job import SortJob
from planner.sorting.tables.arrow_library import arrow
from planner.sorting.tables.parquet import free_bytes_of, see_rows, sort_tables
from planner.sorting.tables.parquet_output import MOST_GROUP_ROWS, ParquetStyle
from planner.sorting.tables.table_hash import Checksums
from planner.tables.layout import DataFile, Group, LostError, NewFile, Snapshot, UnconfirmedError, new_id
from planner.tables.parquet_files import shape
from planner.tables.storage import FOLDER
from planner.tables.table_format import TableFormat
from planner.units import count_text, format_bytes

_ATTEMPTS: Final = 5
_ROOM: Final = 1.1
"""The spill may take this fraction of a group's rows in memory, and the result of its files."""

Watched = Callable[[], AbstractContextManager[Progress]]
ClusterSort = Callable[[Sequence[str], str], tuple[list[str], int]]
"""Takes files and a place, and returns the sorted files in order with the bytes spilled."""


@dataclass(frozen=True, kw_only=True)
class RewriteJob:
    """Keys and limits of a rewrite. `on_cluster`, if given, has a cluster sort the files at addresses that it reaches
    into a folder or prefix, by the keys and about in files of the target size.
    """

    keys: tuple[str, ...]
    target_bytes: int
    memory_bytes: int | None = None
    threads: int | None = None
    temp_dir: str | None = None
    on_cluster: ClusterSort | None = None


@dataclass(frozen=True, kw_only=True)
class GroupReport:
    """A committed group: files, bytes and rows before and after, and the version that has them."""

    reason: str
    partition: str
    depth: int
    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int
    rows: int
    spilled_bytes: int
    seconds: float
    attempts: int
    version: str
    checksums: dict[str, str]
    """The checksum of each column, equal before and after."""


def rewrite(
    table: TableFormat,
    snapshot: Snapshot,
    groups: Sequence[Group],
    job: RewriteJob,
    *,
    watched: Watched,
    say: Callable[[str], None],
) -> list[GroupReport]:
    """Rewrite groups in turn, and return a report for each that was committed.

    Raises BadInputError before anything is read where the table cannot be rewritten, ValidationFailedError if sorted
    files do not hold the rows that were read, IoFailureError. What was not committed is removed.
    """
    require_writable(snapshot)
    reports = []
    for number, group in enumerate(groups, start=1):
        report = _rewrite_group(table, snapshot, group, job, watched=watched, say=say)
        if report is None:
            say(f"group {number} of {len(groups)}: other writers replaced its files; nothing is left to do")
            continue
        reports.append(report)
        place = f" of {report.partition}" if report.partition else ""
        say(
            f"group {number} of {len(groups)}{place}: {count_text(report.files_before, 'file')} became"
            f" {report.files_after}, {format_bytes(report.bytes_after)}"
            + f", as version {report.version}"
            * (report.version != "")
        )
    return reports


def require_writable(snapshot: Snapshot) -> None:
    """Raise BadInputError for a table that cannot be rewritten."""
    if snapshot.refusal:
        raise BadInputError(f"{snapshot.location} cannot be rewritten: {snapshot.refusal}", code="unsupported-table")


def clean_up(table: TableFormat, *, say: Callable[[str], None]) -> None:
    """Remove the files of rewrites that were killed, unless their commit was made."""
    for group_id in table.interrupted():
        if table.is_committed(group_id):
            table.end(Group(id=group_id, files=(), depth=0, reason=""))
        elif count := table.discard(group_id):
            say(f"note: removed {count_text(count, 'file')} of an interrupted rewrite")


def _rewrite_group(
    table: TableFormat,
    snapshot: Snapshot,
    group: Group,
    job: RewriteJob,
    *,
    watched: Watched,
    say: Callable[[str], None],
) -> GroupReport | None:
    """Rewrite a group, again from what is left of it where another writer changed it; None if too little is left."""
    began = time.monotonic()
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            report = _attempt(table, snapshot, group, job, watched=watched)
            return replace(report, attempts=attempt, seconds=time.monotonic() - began)
        except UnconfirmedError:
            raise
        except (LostError, OSError, PlannerError) as lost:
            known, partition = {file.path for file in snapshot.files}, group.files[0].partition
            snapshot, had = table.snapshot(), {file.path: file for file in group.files}
            there = [file for file in snapshot.files if file.partition == partition and not file.left]
            kept = [file for file in there if file.path in had]
            is_same = len(kept) == len(had) and all(file.is_same(had[file.path]) for file in kept)
            if is_same and not isinstance(lost, LostError):
                raise
            files = tuple(file for file in there if file.path in had or file.path not in known)
            is_enough = len(files) > 1 or any(file.deletes for file in files)
            if snapshot.refusal or not is_enough:
                return None
            say(f"note: {lost}; the group is sorted again, now {count_text(len(files), 'file')}")
            group = replace(group, id=new_id(), files=files)
    raise IoFailureError(
        f"{snapshot.location}: other writers changed the files of a group {_ATTEMPTS} times while it was sorted",
        ["sort a partition that is quieter with --where, or less at a time with --max-bytes"],
        code="busy-table",
    )


def _attempt(table: TableFormat, snapshot: Snapshot, group: Group, job: RewriteJob, *, watched: Watched) -> GroupReport:
    with _scratch(table, group, job) as folder, _begun(table, group) as placed:
        inputs = _inputs(table, snapshot, group, folder)
        before = Checksums()
        with watched() as progress:
            if job.on_cluster is None:
                _require_room(folder, _ROOM * (group.bytes + _spill_bytes(inputs, job)))
                spilled_bytes = _sort(inputs, folder, job, before, progress)
            else:
                see_rows(inputs, lambda _, rows: before.add(rows), progress, memory_bytes=job.memory_bytes, phase=0)
                spilled_bytes = _sort_on_cluster(table, group, inputs, folder, job.on_cluster)
            after = Checksums()
            made = _read_back(folder, job, after, progress)
        _require_proof(snapshot, group, before, after)
        for number, (path, with_nan) in enumerate(made):
            new = table.place(path, f"part-{number:05}-{group.id}.parquet", group.files[0])
            placed.append(replace(new, with_nan=with_nan))
        filled = [file for file in placed if file.rows]
        if snapshot.kind == "parquet":  # whose schema is in its files alone
            filled = filled or placed[:1]
        version = table.commit(snapshot, group.files, filled, group)
    return GroupReport(
        reason=group.reason,
        partition=group.files[0].place,
        depth=group.depth,
        files_before=len(group.files),
        files_after=len(filled),
        bytes_before=group.bytes,
        bytes_after=sum(file.bytes for file in filled),
        rows=after.rows,
        spilled_bytes=spilled_bytes,
        seconds=0.0,
        attempts=1,
        version=version,
        checksums={name: f"{value:016x}" for name, value in after.columns.items()},
    )


@contextmanager
def _begun(table: TableFormat, group: Group) -> Iterator[list[NewFile]]:
    """Yield a list for placed files; at an error, remove these unless the commit was made nevertheless, or may be."""
    table.begin(group)
    try:
        yield []
    except UnconfirmedError:
        raise
    except BaseException:
        if not table.is_committed(group.id):
            table.discard(group.id)
        else:
            table.end(group)
        raise
    table.end(group)


@contextmanager
def _scratch(table: TableFormat, group: Group, job: RewriteJob) -> Iterator[Path]:
    """Yield a folder for temporary files, with room for a group. Raises IoFailureError if there is none."""
    of_table = table.scratch()
    base = Path(job.temp_dir) if job.temp_dir else of_table or Path(tempfile.gettempdir())
    folder = base / group.id
    folder.mkdir(parents=True, exist_ok=True)
    try:
        _require_room(folder, (1 if of_table else 2) * _ROOM * group.bytes)  # what is fetched, too
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if base == of_table and base.is_dir() and not any(base.iterdir()):
            base.rmdir()


def _require_room(folder: Path, needed_bytes: float) -> None:
    """Raise IoFailureError unless a folder's disk has so much free."""
    if (free := shutil.disk_usage(folder).free) < needed_bytes:
        raise IoFailureError(
            f"{folder.parent}: sorting a group takes {format_bytes(needed_bytes)}, and {format_bytes(free)} is free",
            ["name another disk with --temp-dir, or sort less at a time with --max-bytes"],
            code="no-space",
        )


def _spill_bytes(inputs: Sequence[str], job: RewriteJob) -> int:
    """Return the bytes of rows, from the footers, that are not all in memory at once."""
    footers = [arrow("pyarrow.parquet").read_metadata(path) for path in inputs]
    rows = sum(footer.row_group(i).total_byte_size for footer in footers for i in range(footer.num_row_groups))
    memory_bytes = job.memory_bytes or core.default_memory_bytes(within_address_space=False)
    return rows if rows > free_bytes_of(memory_bytes) // 2 else 0


def _inputs(table: TableFormat, snapshot: Snapshot, group: Group, folder: Path) -> list[str]:
    """Return files of one schema with the rows of a group: the table's own, or copies where rows are deleted, or where
    columns were added, renamed or widened since.
    """
    parquet, has_ids = arrow("pyarrow.parquet"), snapshot.kind == "iceberg"
    fetched = [table.fetch(file, folder / "fetched") for file in group.files]
    schemas = [parquet.read_schema(path) for path in fetched]
    wanted = shape(snapshot.schema, ids=has_ids)
    fits = [
        not file.deletes and shape(schema, ids=has_ids) == wanted and _allows_nulls(schema, snapshot.schema)
        for file, schema in zip(group.files, schemas, strict=True)
    ]
    reference = next((schema for schema, fit in zip(schemas, fits, strict=True) if fit), snapshot.schema)
    inputs = []
    for number, (file, path, schema, fit) in enumerate(zip(group.files, fetched, schemas, fits, strict=True)):
        is_as_it_is = fit and schema.equals(reference)
        inputs.append(str(path if is_as_it_is else _copied(table, file, path, reference, folder / f"rows-{number}")))
    return inputs


def _allows_nulls(schema: Any, wanted: Any) -> bool:
    """Return whether columns may be null wherever those of the table may."""
    required = {field.name for field in schema if not field.nullable}
    return not any(field.nullable and field.name in required for field in wanted)


def _copied(table: TableFormat, file: DataFile, path: Path, schema: Any, copy: Path) -> Path:
    """Write the rows of a file as the table has them, and return the copy."""
    with arrow("pyarrow.parquet").ParquetWriter(copy, schema, compression="lz4") as writer:
        for batch in table.rows(file, path, schema):
            writer.write_batch(batch)
    return copy


def _sort(inputs: Sequence[str], folder: Path, job: RewriteJob, before: Checksums, progress: Progress) -> int:
    """Sort files into a folder of files of the target size, and return the bytes spilled."""
    sorting = SortJob(
        inputs=tuple(inputs),
        format="parquet",
        key=job.keys,
        output=str(folder / "sorted"),
        file_bytes=job.target_bytes,
        memory_bytes=job.memory_bytes,
        threads=job.threads,
        temp_dirs=(str(folder),),
    )
    return sort_tables(sorting, progress, see=before.add, restyle=_style).spilled_bytes


def _sort_on_cluster(table: TableFormat, group: Group, inputs: Sequence[str], folder: Path, sort: ClusterSort) -> int:
    """Have a cluster sort files where it reaches them, and bring the sorted ones here. Raises BadInputError where nodes
    keep them on disks of their own.
    """
    storage, scratch, sorted_here = table.storage, f"{FOLDER}/{group.id}", folder / "sorted"
    if storage.local_root is not None:
        made, spilled_bytes = sort(inputs, str(sorted_here))
        sorted_here.mkdir(exist_ok=True)
        for number, path in enumerate(made):
            if not Path(path).exists():
                raise BadInputError(
                    f"{path} lies on the disk of another node, where PLANNER_NODE_DIRECTORY has it",
                    ["start the nodes without it, or sort a table in a store"],
                    code="other-disk",
                )
            shutil.move(path, sorted_here / f"{number:06}.parquet")
        return spilled_bytes
    addresses = []
    for file, local in zip(group.files, map(Path, inputs), strict=True):
        is_copy = local.parent == folder
        if is_copy:
            storage.put(local, f"{scratch}/{local.name}.parquet")
        addresses.append(f"{storage.uri}/{scratch}/{local.name}.parquet" if is_copy else table.address(file))
    _, spilled_bytes = sort(addresses, f"{storage.uri}/{scratch}/sorted")
    for path, _ in sorted(storage.listed(f"{scratch}/sorted")):
        if path.endswith(".parquet"):
            storage.fetch(path, sorted_here)
    return spilled_bytes


def probe(path: Path, folder: Path, progress: Progress) -> None:
    """Sort a file by its column `key` into a folder and read it back, as a rewrite does, to see how long that takes."""
    job, sums = RewriteJob(keys=("key",), target_bytes=1 << 30), Checksums()
    _sort([str(path)], folder, job, sums, progress)
    _read_back(folder, job, sums, progress)


def _style(style: ParquetStyle) -> ParquetStyle:
    """Return a style with large row groups, statistics and a page index."""
    codec = style.compression if style.compression != "lz4" else "zstd"  # which only copies have
    details = {**style.details, "write_page_index": True, "write_statistics": True}
    if codec != style.compression:
        details["compression"] = dict.fromkeys(details.get("compression", ()), codec)
    return replace(style, compression=codec, group_rows=MOST_GROUP_ROWS, details=details)


def _read_back(folder: Path, job: RewriteJob, sums: Checksums, progress: Progress) -> list[tuple[Path, frozenset[str]]]:
    """Add the rows of sorted files to checksums; return the files in order, with the names of leaves that have NaN."""
    found: dict[str, set[str]] = {str(path): set() for path in sorted(folder.glob("sorted/*"))}

    def see(path: str, batch: Any) -> None:
        sums.add(batch)
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            found[path] |= _with_nan(name, column)

    see_rows(list(found), see, progress, memory_bytes=job.memory_bytes, phase=2)
    return [(Path(path), frozenset(names)) for path, names in found.items()]


def _with_nan(name: str, values: Any) -> set[str]:
    types, value_type = arrow("pyarrow.types"), values.type
    if types.is_struct(value_type):
        fields = [value_type.field(number) for number in range(value_type.num_fields)]
        return set().union(*(_with_nan(f"{name}.{field.name}", values.field(field.name)) for field in fields))
    has = types.is_floating(value_type) and arrow("pyarrow.compute").any(arrow("pyarrow.compute").is_nan(values))
    return {name} if has and has.as_py() else set()


def _require_proof(snapshot: Snapshot, group: Group, before: Checksums, after: Checksums) -> None:
    """Raise ValidationFailedError unless the rows written are those read, and these are the table's."""
    known = all(file.rows is not None for file in group.files)
    has_deletes = any(file.deletes for file in group.files)
    wrong = before.difference(after)
    if known and (before.rows > group.rows or (before.rows < group.rows and not has_deletes)):
        wrong.insert(0, f"the table's metadata has {group.rows} rows, its files {before.rows}")
    if wrong:
        raise ValidationFailedError(
            f"{snapshot.location}: sorted files are not what was read, so nothing was committed", wrong, code="not-same"
        )
