"""Iceberg tables, read and committed by the library `pyiceberg`: in a catalog, or read-only by a metadata file.

A commit replaces files in a snapshot of the operation `replace`, against the very snapshot in which the files were seen
unchanged; the catalog refuses it if there is a later one.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from planner.errors import BadInputError, IoFailureError, PlannerError
from planner.extras import optional
from planner.sorting.tables.arrow_library import arrow
from planner.tables.delta import require_same
from planner.tables.layout import (
    DataFile,
    Group,
    LostError,
    NewFile,
    Partition,
    Snapshot,
    UnconfirmedError,
    shown_value,
)
from planner.tables.overlap import keys_of
from planner.tables.parquet_files import cast_values
from planner.tables.storage import Storage
from planner.tables.table_format import TableFormat

_GROUP: Final = "planner.group"
_NEWEST_FORMAT: Final = 2
"""Version 3 adds row lineage, which new files would have to repeat row by row."""
_ATTEMPTS: Final = 30
_LOOK_AFTER_S: Final = 0.0, 0.5, 1.0, 2.0, 4.0, 8.0
"""Pauses after which a catalog is asked whether it made a commit that it did not confirm."""


def iceberg(module: str) -> Any:
    """Return a module of pyiceberg. Raises PlannerError that explains how to install it."""
    return optional(f"pyiceberg.{module}", extra="tables", purpose="reading Iceberg tables")


class IcebergFormat(TableFormat):
    """A table by its name in a catalog, or by the address of its metadata file."""

    def __init__(
        self, location: str, properties: Mapping[str, str], *, name: str | None, is_file: bool = False
    ) -> None:
        self.location, self._properties, self._name, self._is_file = location, dict(properties), name, is_file
        self._newest = self._load()
        root = self._newest.location()
        is_local = urlsplit(root).scheme in ("", "file")
        path = _path(root)
        file_system = _file_system(self._newest.io, root)
        super().__init__(Storage(file_system, path, local_root=Path(path) if is_local else None, uri=root))

    def _load(self) -> Any:
        errors = iceberg("exceptions")
        try:
            if self._is_file:
                return iceberg("table").StaticTable.from_metadata(self.location, dict(self._properties))
            opened = iceberg("catalog").load_catalog(self._name or "default", **self._properties)
            return opened.load_table(self.location)
        except (errors.NoSuchTableError, errors.NoSuchNamespaceError) as error:
            raise BadInputError(f"{self.location}: the catalog has no such table", code="no-such-file") from error
        except Exception as error:  # each kind of catalog and store has errors of its own: SQLAlchemy's, Thrift's
            reason = next(iter(str(error).splitlines()), "") or type(error).__name__
            text = f"{self.location}: the library pyiceberg refuses: {reason}"
            raise BadInputError(text, code="not-a-table") from error

    def snapshot(self) -> Snapshot:
        """Return the newest snapshot of the main branch."""
        table = self._newest = self._load()
        metadata, current = table.metadata, table.current_snapshot()
        schema = iceberg("io.pyarrow").schema_to_pyarrow(table.schema(), include_field_ids=True)
        files, refusal = self._files(table)
        return Snapshot(
            kind="iceberg",
            location=self.location,
            version=str(current.snapshot_id) if current else "none",
            files=tuple(files),
            schema=schema,
            order=_order(table),
            partitioned_by=tuple(field.name for field in table.spec().fields),
            refusal=refusal or self._refusal(table),
            metadata=json.dumps(
                [str(metadata.table_uuid), metadata.current_schema_id, metadata.default_spec_id, metadata.properties],
                sort_keys=True,
            ),
        )

    def _refusal(self, table: Any) -> str:
        if self._is_file:
            return "a metadata file alone can only be read: name the table and its --catalog"
        if table.metadata.format_version > _NEWEST_FORMAT:
            return f"its format has version {table.metadata.format_version}, whose row lineage is not kept"
        if not table.location_provider().new_data_location("x").startswith(f"{table.location().rstrip('/')}/"):
            return "its data is outside its own location, by the property write.data.path"
        return ""

    def _files(self, table: Any) -> tuple[list[DataFile], str]:
        """Return the files, and a refusal for deletes that the library cannot apply."""
        if table.current_snapshot() is None:
            return [], ""
        kinds = iceberg("manifest").DataFileContent
        manifests = table.current_snapshot().manifests(table.io)
        entries = [entry.data_file for each in manifests for entry in each.fetch_manifest_entry(table.io)]
        if any(file.content == kinds.EQUALITY_DELETES for file in entries):
            data = [file for file in entries if file.content == kinds.DATA]
            return [self._file(table, file, deletes=0) for file in data], "it has equality deletes, unread by pyiceberg"
        tasks = list(table.scan().plan_files())
        return [self._read_by(table, task) for task in tasks], ""

    def _read_by(self, table: Any, task: Any) -> DataFile:
        """Return the file of a task, which changes with each of its delete files."""
        deletes = tuple(sorted(each.file_path for each in task.delete_files))
        return replace(self._file(table, task.file, deletes=len(deletes)), token=deletes, handle=task)

    def _file(self, table: Any, file: Any, *, deletes: int) -> DataFile:
        spec = table.specs()[file.spec_id]
        is_parquet = file.file_format == iceberg("manifest").FileFormat.PARQUET
        left = "" if is_parquet else f"it is of the format {file.file_format}"
        if file.spec_id != table.spec().spec_id:
            left = "it has an earlier partitioning, which new files cannot have"
        return DataFile(
            path=file.file_path,
            bytes=file.file_size_in_bytes,
            rows=file.record_count,
            partition=_partition(table, spec, file),
            bounds=_bounds(table.schema(), file),
            nulls={
                table.schema().find_column_name(number): count
                for number, count in (file.null_value_counts or {}).items()
                if table.schema().find_column_name(number)
            },
            deletes=deletes,
            left=left,
        )

    def fetch(self, file: DataFile, folder: Path) -> Path:
        """Return a local file; those of a table may lie outside its own folder."""
        if urlsplit(file.path).scheme in ("", "file"):
            return Path(_path(file.path))
        elsewhere = Storage(_file_system(self._newest.io, file.path), "", local_root=None)
        return elsewhere.fetch(_path(file.path), folder)

    def address(self, file: DataFile) -> str:
        """Return the address of a file, which the metadata has whole."""
        return file.path

    def rows(self, file: DataFile, path: Path, schema: Any) -> Iterator[Any]:
        """Yield the rows by field ids, without the deleted ones."""
        del path  # the library reads by itself
        if file.handle is None:
            raise BadInputError(f"{self.location} cannot be read: {self.snapshot().refusal}", code="unsupported-table")
        table, library = self._newest, arrow()
        always = iceberg("expressions").AlwaysTrue()
        projected = table.schema().select(*schema.names)
        scan = iceberg("io.pyarrow").ArrowScan(table.metadata, table.io, projected, always)
        for batch in scan.to_record_batches([file.handle]):
            columns = [
                cast_values(batch.column(field.name), field.type, shown=f"{file.path}, column {field.name!r}")
                for field in schema
            ]
            yield library.RecordBatch.from_arrays(columns, schema=schema)

    def target(self, like: DataFile, name: str) -> str:
        """Return the path within the table of a new file of the same partition."""
        table, file = self._newest, like.handle.file
        folder = table.specs()[file.spec_id].partition_to_path(file.partition, table.schema())
        made = table.location_provider().new_data_location(f"{folder}/{name}" if folder else name)
        return str(made).removeprefix(table.location()).lstrip("/")

    def commit(self, snapshot: Snapshot, removed: Sequence[DataFile], added: Sequence[NewFile], group: Group) -> str:
        """Commit a snapshot of the operation `replace`. Raises LostError."""
        errors = iceberg("exceptions")
        for attempt in range(_ATTEMPTS):
            newest = self.snapshot()
            require_same(snapshot, newest, removed)
            if newest.refusal:
                raise LostError(newest.refusal)
            live = {file.path: file for file in newest.files}
            try:
                whole = {key.name for key in keys_of(group.keys, snapshot.schema)}
                return self._commit_to(self._newest, [live[file.path] for file in removed], added, group, whole)
            except (errors.CommitFailedException, errors.ValidationException):
                time.sleep(min(0.05 * 2**attempt, 2.0))
        raise IoFailureError(f"{self.location}: other writers committed first, {_ATTEMPTS} times", code="busy-table")

    def _commit_to(
        self, table: Any, removed: Sequence[DataFile], added: Sequence[NewFile], group: Group, whole: set[str]
    ) -> str:
        sources = [file.handle.file for file in removed]
        producer = _replacing()(
            operation=iceberg("table.snapshots").Operation.OVERWRITE,
            transaction=table.transaction(),
            io=table.io,
            snapshot_properties={_GROUP: group.id, "planner.sorted-by": ",".join(group.keys)},
        )
        for source in sources:
            producer.delete_data_file(source)
        is_declared = tuple(group.keys) == _order(table) and len(group.keys) == len(table.sort_order().fields)
        for file in added:
            producer.append_data_file(_data_file(table, file, sources[0], whole, is_declared=is_declared))
        updates, requirements = producer._commit()  # a transaction would try again by itself
        errors = iceberg("exceptions")
        try:
            table.catalog.commit_table(table, requirements, updates)
        except (errors.CommitFailedException, errors.ValidationException):
            producer._clean_all_uncommitted()
            raise
        except (errors.BadRequestError, errors.UnauthorizedError, errors.ForbiddenError) as error:
            text = f"{self.location}: the catalog refuses the commit"
            raise IoFailureError(text, [str(error)], code="commit-refused") from error
        except BaseException as error:  # after which the commit may be made nevertheless, also after Ctrl-C
            return self._unconfirmed(group.id, error)
        return str(producer.snapshot_id)

    def _unconfirmed(self, group_id: str, error: BaseException) -> str:
        """Return the snapshot of a group whose commit ended in an error. Raises UnconfirmedError if it is not there, or
        after Ctrl-C: the catalog may still make it.
        """
        with suppress(KeyboardInterrupt):
            for pause_s in () if isinstance(error, KeyboardInterrupt) else _LOOK_AFTER_S:
                time.sleep(pause_s)
                with suppress(PlannerError):  # the catalog does not answer
                    if found := self._snapshots_of(group_id):
                        return str(found[0].snapshot_id)
        self.journal.leave(group_id)
        raise UnconfirmedError(
            f"{self.location}: the catalog does not say whether it made the commit",
            [
                str(error),
                "the new files stay: run the same command again, which finds out and removes what is left over",
            ],
            code="commit-unknown",
        ) from error

    def _snapshots_of(self, group_id: str) -> list[Any]:
        return [each for each in self._load().snapshots() if each.summary and each.summary.get(_GROUP) == group_id]

    def is_committed(self, group_id: str) -> bool:
        """Return whether a snapshot of the table is that of a group."""
        return bool(self._snapshots_of(group_id))


def _replacing() -> Any:
    """Return the library's overwrite of files as one of the operation `replace`, whose summary it does not make."""
    base = iceberg("table.update.snapshot")._OverwriteFiles
    snapshots = iceberg("table.snapshots")

    class Replacing(base):  # type: ignore[misc, valid-type]
        """Files replaced by others with the same rows."""

        def _summary(self, snapshot_properties: Mapping[str, str] = {}) -> Any:  # as the library has it
            made = super()._summary(snapshot_properties)
            return snapshots.Summary(operation=snapshots.Operation.REPLACE, **made.additional_properties)

    return Replacing


def _data_file(table: Any, new: NewFile, like: Any, whole: set[str], *, is_declared: bool) -> Any:
    """Return a new file as a manifest has it; bounds of the `whole` columns are not cut, which would overlap."""
    library, manifest = iceberg("io.pyarrow"), iceberg("manifest")
    plan = library.compute_statistics_plan(table.schema(), table.properties)
    full = library.MetricsMode(library.MetricModeTypes.FULL)
    for number, each in list(plan.items()):
        if each.column_name in whole and each.mode.type == library.MetricModeTypes.TRUNCATE:
            plan[number] = replace(each, mode=full)
    statistics = library.data_file_statistics_from_parquet_metadata(
        parquet_metadata=new.footer,
        stats_columns=plan,
        parquet_column_mapping=library.parquet_path_to_id_mapping(table.schema()),
    )
    return manifest.DataFile.from_args(
        content=manifest.DataFileContent.DATA,
        file_path=f"{table.location().rstrip('/')}/{new.path}",
        file_format=manifest.FileFormat.PARQUET,
        partition=like.partition,
        file_size_in_bytes=new.bytes,
        sort_order_id=table.sort_order().order_id if is_declared else None,
        spec_id=like.spec_id,
        equality_ids=None,
        key_metadata=None,
        **statistics.to_serialized_dict(),
    )


def _order(table: Any) -> tuple[str, ...]:
    """Return the declared order; of transformed columns none."""
    keys = []
    sorting = iceberg("table.sorting")
    for field in table.sort_order().fields:
        if str(field.transform) != "identity":
            break
        descending = field.direction == sorting.SortDirection.DESC
        first = field.null_order == sorting.NullOrder.NULLS_FIRST
        name = table.schema().find_column_name(field.source_id)
        keys.append(f"{name}{':desc' * descending}{':first' * first}")
    return tuple(keys)


def _partition(table: Any, spec: Any, file: Any) -> Partition:
    found = []
    for place, field in enumerate(spec.fields):
        source = table.schema().find_type(field.source_id)
        value, value_type = file.partition[place], field.transform.result_type(source)
        text = None if value is None else str(field.transform.to_human_string(value_type, value))
        found.append((field.name, shown_value(text)))
    return tuple(found)


def _bounds(schema: Any, file: Any) -> dict[str, tuple[Any, Any]]:
    """Return bounds by names, as values that people read."""
    from_bytes, found = iceberg("conversions").from_bytes, {}
    upper = file.upper_bounds or {}
    for number, low in (file.lower_bounds or {}).items():
        name = schema.find_column_name(number)
        if name is None or upper.get(number) is None:
            continue
        value_type = schema.find_type(number)
        found[name] = tuple(_value(value_type, from_bytes(value_type, end)) for end in (low, upper[number]))
    return found


def _value(value_type: Any, value: Any) -> Any:
    times, kind = iceberg("utils.datetime"), str(value_type)
    if kind == "timestamp":
        return times.micros_to_timestamp(value)
    if kind == "timestamptz":
        return times.micros_to_timestamptz(value)
    return times.days_to_date(value) if kind == "date" else value


def _path(address: str) -> str:
    """Return the path in an address, whose % the library takes literally."""
    return address.partition("://")[2] if "://" in address else address.removeprefix("file:")


def _file_system(io: Any, path: str) -> Any:
    """Return the file system of pyarrow for an address."""
    files = iceberg("io.pyarrow").PyArrowFileIO
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scheme, place, _ = files.parse_location(path)
        return (io if isinstance(io, files) else files(io.properties)).fs_by_scheme(scheme, place)
