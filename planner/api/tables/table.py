"""Tables from Python: `planner.table(location)`, its overlap, the price of a rewrite, the rewrite and a check."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Final

from planner.api.progress import OnProgress, reported
from planner.config.paths import StrPath
from planner.errors import BadInputError
from planner.schemas.door import Bytes, Help, Usd, With, Without, checked
from planner.sorting.sort_job import Threads
from planner.units import count_text

if TYPE_CHECKING:
    from planner.native import Progress
    from planner.tables.check import TableCheck
    from planner.tables.layout import DataFile, Group, Snapshot
    from planner.tables.overlap import Overlap
    from planner.tables.price import TablePrice
    from planner.tables.rewrite import GroupReport
    from planner.tables.table_format import TableFormat

SMALL_SHARE: Final = 2
"""A file is small below the target size by this divisor."""
TARGET_BYTES: Final = 512_000_000

Properties = Mapping[str, str] | Sequence[str] | str | None
SortBy = Annotated[
    str | Sequence[str] | None,
    Help("Order of rows: KEY[:desc][:first][,KEY]; the order that the table declares otherwise."),
]
Where = Annotated[str | None, Help("Only this partition: day=2026-01-01, or day=2026-01-01,region=eu.")]
MaxBytes = Annotated[
    Bytes | None, Help("Most bytes of files to rewrite, the deepest overlap first: 200GB.", option="--max-bytes")
]
TargetFileSize = Annotated[
    Bytes, Help("About the size of new files; those below half of it are small.", option="--target-file-size")
]


@dataclass(frozen=True, kw_only=True)
class TableLook:
    """By which order to look at a table."""

    sort_by: SortBy = None


@dataclass(frozen=True, kw_only=True)
class TableSort:
    """A rewrite: the keys, a report for each committed group of files, and whether `max_bytes` left all others."""

    keys: tuple[str, ...]
    groups: tuple[GroupReport, ...]
    all_beyond_limit: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-able values."""
        groups = [asdict(group) for group in self.groups]
        return {"sort_by": list(self.keys), "groups": groups, "all_beyond_limit": self.all_beyond_limit}


class Table:
    """A table as its metadata showed it; `refreshed` looks again.

    >>> import planner, pyarrow, tempfile
    >>> from pyarrow.parquet import write_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for number in range(3):
    ...         write_table(pyarrow.table({"time": [number, 9 - number]}), f"{folder}/{number}.parquet")
    ...     table = planner.table(folder)
    ...     before = table.overlap_by("time").depth
    ...     _ = table.sort(sort_by="time")
    ...     before, table.overlap_by("time").depth, table.check(sort_by="time").is_sorted
    (3, 1, True)
    """

    def __init__(self, format: TableFormat) -> None:
        self._format = format
        self.snapshot: Snapshot = format.snapshot()

    def refreshed(self) -> Table:
        """Return the table as it is now."""
        return Table(self._format)

    def __repr__(self) -> str:
        size = f"{count_text(len(self.files), 'file')}, {self.bytes} bytes"
        return f"Table({self.snapshot.location!r}, {self.snapshot.kind}, {size})"

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The files of the newest version."""
        return self.snapshot.files

    @property
    def bytes(self) -> int:
        """Bytes of all files."""
        return sum(file.bytes for file in self.files)

    @property
    def rows(self) -> int | None:
        """Rows of all files, deleted ones included; None if the metadata does not have them."""
        known = [file.rows for file in self.files if file.rows is not None]
        return sum(known) if len(known) == len(self.files) else None

    @cached_property
    def overlap(self) -> Overlap | None:
        """The overlap by the declared order, else by the column of the least; None without bounds of any column."""
        if self.snapshot.order:
            return self.overlap_by()
        return min(self._overlaps(), key=lambda each: each.mean_depth, default=None)

    def _overlaps(self) -> list[Overlap]:
        names = [name for name in self.snapshot.schema.names if any(name in file.bounds for file in self.files)]
        return [self.overlap_by(name) for name in names if "," not in name and ":" not in name]

    def overlap_by(self, sort_by: str | Sequence[str] | None = None) -> Overlap:
        """Return the overlap by keys. Raises BadInputError for a key that does not exist or has no order."""
        from planner.tables.overlap import keys_of, overlap_of

        return overlap_of(self.files, keys_of(self._keys(sort_by), self.snapshot.schema))

    def _keys(self, sort_by: str | Sequence[str] | None) -> tuple[str, ...]:
        """Return the keys without those that are one value in a partition. Raises BadInputError if there are none, and
        for columns that are not there or have no order.
        """
        from planner.sorting.column_keys import columns_of
        from planner.tables.overlap import keys_of

        given = [sort_by] if isinstance(sort_by, str) else list(sort_by or self.snapshot.order)
        if not given:
            raise BadInputError(
                f"{self.snapshot.location} declares no order: say --sort-by KEY", field="sort_by", code="missing-key"
            )
        within = set(self.snapshot.partitioned_by).difference(self.snapshot.schema.names)
        try:
            keys = columns_of(given, [*self.snapshot.schema.names, *within])
            kept = tuple(key for key in keys if key.split(":")[0] not in within)
            if kept:
                keys_of(kept, self.snapshot.schema)
        except BadInputError as error:
            raise error.reworded(error.message.replace("--key ", "--sort-by ", 1)) from None
        if not kept:
            raise BadInputError(
                f"--sort-by {','.join(keys)}: a partition has one value of it; name another column", code="no-order"
            )
        return kept

    def groups(
        self,
        sort_by: str | Sequence[str] | None = None,
        *,
        where: str | None = None,
        max_bytes: int | None = None,
        target_bytes: int = TARGET_BYTES,
    ) -> list[Group]:
        """Return the groups of files that a rewrite takes. Raises BadInputError."""
        from planner.tables.groups import groups_of, in_partition
        from planner.tables.overlap import keys_of

        keys = keys_of(self._keys(sort_by), self.snapshot.schema)
        files = in_partition(self.files, where, partitioned_by=self.snapshot.partitioned_by)
        return groups_of(files, keys, target_bytes=target_bytes, most_bytes=max_bytes)

    @checked
    def price(
        self,
        *,
        sort_by: SortBy = None,
        where: Where = None,
        max_bytes: MaxBytes = None,
        budget_usd: Annotated[
            Usd | None,
            Help("Most US dollars: as many groups as one rented machine rewrites for it.", option="--budget"),
        ] = None,
        target_file_bytes: TargetFileSize = TARGET_BYTES,
        queries: Annotated[
            StrPath | None, Help("Predicates of a day: a CSV file, or JSON lines, of column,low,high,count.", takes=str)
        ] = None,
        usd_per_tb_scanned: Annotated[Usd, Help("US dollars that a scan of 1 TB costs.", option="--usd-per-tb")] = 5.0,
    ) -> TablePrice:
        """Return what a rewrite reads and writes, on which machine it takes how long and costs how much, and when it
        has paid. Raises BadInputError.
        """
        from planner.api.tables.price import price_of

        groups = self.groups(sort_by, where=where, max_bytes=max_bytes, target_bytes=target_file_bytes)
        return price_of(
            self.snapshot,
            groups,
            self._keys(sort_by),
            budget_usd=budget_usd,
            target_bytes=target_file_bytes,
            queries=queries,
            usd_per_tb=usd_per_tb_scanned,
            is_cut=not groups and bool(self.groups(sort_by, where=where, target_bytes=target_file_bytes)),
        )

    @checked
    def sort(
        self,
        *,
        sort_by: SortBy = None,
        where: Where = None,
        max_bytes: MaxBytes = None,
        target_file_bytes: TargetFileSize = TARGET_BYTES,
        memory_bytes: Annotated[
            Bytes | None, Help("Memory in all, 320MiB or more. Four fifths of what is free otherwise.")
        ] = None,
        threads: Threads = None,
        every_file: Annotated[
            bool, Help("Also sort files that overlap no other, if rows in them are out of order: their keys are read.")
        ] = False,
        temp_dir: Annotated[
            StrPath | None,
            Help("Folder for temporary files; the disk of a local table otherwise.", takes=str),
            Without("ray"),
        ] = None,
        ray: Annotated[
            str | None, Help("Sort on the Ray cluster at this address. Nodes reach the table by the same name.")
        ] = None,
        directory: Annotated[
            StrPath | None,
            Help("With --ray and a table in a store: the folder of each node's disks.", option="--dir", takes=str),
            With("ray"),
        ] = None,
        say: Callable[[str], None] | None = None,
        on_progress: OnProgress | None = None,
        on_event: Callable[[dict[str, Any]], None] | None = None,
    ) -> TableSort:
        """Rewrite files that overlap or are small, sorted, a commit for each group; the table is then looked at again.

        With `ray` a cluster sorts: each node reaches the table, its store or its folder, by the same name, and this
        machine reads the files before and after. `memory_bytes` is then for a task too, and `on_event` gets events.

        Raises BadInputError, before anything is read, for what cannot be rewritten; ValidationFailedError if new files
        do not hold the rows of the old ones, with nothing committed; IoFailureError; InterruptedRunError.
        """
        from planner.tables.rewrite import RewriteJob, clean_up, rewrite
        from planner.tables.rewrite import require_writable as require

        tell = say or (lambda text: None)
        keys = self._keys(sort_by)
        require(self.snapshot)
        clean_up(self._format, say=tell)
        self._look_again()
        if every_file:
            groups = self._groups_by_rows(keys, where, max_bytes=max_bytes, target_bytes=target_file_bytes)
        else:
            groups = self.groups(keys, where=where, max_bytes=max_bytes, target_bytes=target_file_bytes)
        is_limited = not groups and max_bytes is not None
        beyond = is_limited and bool(self.groups(keys, where=where, target_bytes=target_file_bytes))
        job = RewriteJob(
            keys=keys,
            target_bytes=target_file_bytes,
            memory_bytes=memory_bytes,
            threads=threads,
            temp_dir=None if temp_dir is None else str(temp_dir),
        )

        def watched() -> AbstractContextManager[Progress]:
            return reported(["sort", "write", "read back"], on_progress)

        try:
            with ExitStack() as stack:
                if ray is not None and groups:
                    from planner.api.tables.on_ray import sort_on_cluster

                    sort = sort_on_cluster(
                        ray,
                        keys,
                        file_bytes=target_file_bytes,
                        directory=str(directory or ""),
                        memory_bytes=memory_bytes,
                        on_event=on_event,
                    )
                    job = replace(job, on_cluster=stack.enter_context(sort))
                reports = rewrite(self._format, self.snapshot, groups, job, watched=watched, say=tell)
        finally:
            self._look_again()
        return TableSort(keys=keys, groups=tuple(reports), all_beyond_limit=beyond)

    def _groups_by_rows(
        self, keys: Sequence[str], where: str | None, *, max_bytes: int | None, target_bytes: int
    ) -> list[Group]:
        """Return the groups by the keys in rows, which metadata does not tell all of, and one for each file beside them
        whose rows are out of order.
        """
        from planner.tables.check import ranges_by_rows, unsorted_files
        from planner.tables.groups import groups_of, in_partition, within
        from planner.tables.layout import Group, new_id
        from planner.tables.overlap import keys_of

        files = in_partition(self.files, where, partitioned_by=self.snapshot.partitioned_by)
        ends: list[tuple[DataFile, Any]] = []
        with reported(["read"], None) as progress:
            unsorted = [
                file for file, _ in unsorted_files(self._format, self.snapshot, files, keys, progress, ends=ends)
            ]
        by_rows = {each.file.path: each for part in ranges_by_rows(ends, keys) for each in part}
        of_schema = keys_of(keys, self.snapshot.schema)
        groups = groups_of(files, of_schema, target_bytes=target_bytes, most_bytes=max_bytes, by_rows=by_rows)
        taken = {file.path for group in groups for file in group.files}
        lone = [file for file in unsorted if file.path not in taken and not file.left]
        alone = [Group(id=new_id(), files=(file,), depth=1, reason="unsorted", keys=tuple(keys)) for file in lone]
        return groups + within(alone, max_bytes, taken=groups)

    def _look_again(self) -> None:
        self.snapshot = self._format.snapshot()
        self.__dict__.pop("overlap", None)

    @checked
    def check(
        self, *, sort_by: SortBy = None, where: Where = None, on_progress: OnProgress | None = None
    ) -> TableCheck:
        """Return whether the table is sorted: key ranges from the metadata, and the rows of every file by its key
        columns. Raises BadInputError.
        """
        from planner.tables.check import check_table
        from planner.tables.groups import in_partition

        files = in_partition(self.files, where, partitioned_by=self.snapshot.partitioned_by)
        with reported(["read"], on_progress) as progress:
            return check_table(self._format, self.snapshot, files, self._keys(sort_by), progress)

    def to_dict(self, sort_by: str | Sequence[str] | None = None) -> dict[str, Any]:
        """Return the look at the table as JSON-able values."""
        from planner.report.tables import table_values

        overlap = self.overlap_by(sort_by) if sort_by else self.overlap
        return table_values(self.snapshot, overlap, small_bytes=TARGET_BYTES // SMALL_SHARE)


@checked
def table(
    location: StrPath,
    *,
    catalog: Annotated[
        Properties, Help("The Iceberg catalog: its NAME, and KEY=VALUE of its properties, as pyiceberg has them.")
    ] = None,
    storage: Annotated[
        Properties, Help("KEY=VALUE of the store, as deltalake and pyiceberg have them: AWS_REGION=eu-west-1.")
    ] = None,
) -> Table:
    """Look at a table: Delta, Iceberg by its name in a catalog or its metadata file, or a folder of Parquet files.

    Only metadata is read. Raises BadInputError where there is no table, and for one that the libraries cannot read.
    """
    from planner.tables.formats import open_table

    name, properties = _properties(catalog, "catalog")
    stored_name, stored = _properties(storage, "storage")
    if stored_name:
        raise BadInputError(f"`storage`: {stored_name!r} is no KEY=VALUE", field="storage", code="wrong-type")
    of_catalog = {**stored, **properties} if name or properties else {}
    return Table(open_table(str(location), catalog=of_catalog, catalog_name=name, storage=stored))


def _properties(given: Properties, field: str) -> tuple[str | None, dict[str, str]]:
    """Return the name and the properties in what was given: a mapping, or texts."""
    if given is None or isinstance(given, Mapping):
        found = dict(given or {})
        return found.pop("name", None), found
    texts = [given] if isinstance(given, str) else list(given)
    names = [text for text in texts if "=" not in text]
    if len(names) > 1:
        raise BadInputError(f"`{field}`: {names[0]} and {names[1]} are two names", field=field, code="contradiction")
    return next(iter(names), None), dict(text.partition("=")[::2] for text in texts if "=" in text)
