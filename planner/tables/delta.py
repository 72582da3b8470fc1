"""Delta tables, read and committed by the library `deltalake`.

Its transactions do not detect that another writer compacted a file which they remove. So each commit here is for one
version: it fails if that exists by then, and is only repeated once the files of the group are seen unchanged.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from planner.errors import BadInputError, IoFailureError
from planner.extras import optional
from planner.sorting.tables.arrow_library import arrow
from planner.tables.layout import DataFile, Group, LostError, NewFile, Snapshot, shown_value
from planner.tables.overlap import keys_of
from planner.tables.parquet_files import leaf_statistics
from planner.tables.storage import Storage
from planner.tables.table_format import TableFormat

_READS: Final = {"timestampNtz", "deletionVectors", "v2Checkpoint", "vacuumProtocolCheck"}
_WRITES: Final = _READS | {"appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns"}
"""Features under which a replaced file needs nothing but its rows."""
_PLAIN_WRITER: Final = 4
"""Up to this version of the protocol all features are among `_WRITES`; from 7 on they are listed."""
_LISTED_WRITER: Final = 7
_GROUP: Final = "plannerGroup"
_ORDER: Final = "plannerSortedBy"
_VERSIONS_SEEN: Final = 200
"""Versions in which a commit of ours is looked for."""
_ATTEMPTS: Final = 30
_MOST_TEXT: Final = 64


class DeltaFormat(TableFormat):
    """A Delta table at a path or an address; `options` are those of its store."""

    def __init__(self, location: str, options: Mapping[str, str]) -> None:
        self.location, self._options = location, dict(options)
        super().__init__(_storage(location, self._options))

    def _open(self) -> Any:
        library = optional("deltalake", extra="tables", purpose="reading Delta tables")
        try:
            return library.DeltaTable(self.location, storage_options=self._options or None)
        except library.exceptions.DeltaError as error:
            raise _refused(self.location, error) from error
        except OSError as error:
            raise _refused(self.location, error) from error

    def snapshot(self) -> Snapshot:
        """Return the newest version. Raises BadInputError for features that the library cannot read."""
        return self._seen(self._open())

    def _seen(self, opened: Any) -> Snapshot:
        actions = _read(opened.get_add_actions(flatten=False)).to_pylist()
        details, protocol = opened.metadata(), opened.protocol()
        whole = arrow().schema(opened.schema().to_arrow())
        partitioned_by = tuple(details.partition_columns)
        schema = arrow().schema([field for field in whole if field.name not in partitioned_by])
        vectors = self._vectors(opened, protocol)
        files = [self._file(action, partitioned_by, vectors) for action in actions]
        order = next((tuple(each[_ORDER]) for each in opened.history(_VERSIONS_SEEN) if each.get(_ORDER)), ())
        try:
            order = order if order and keys_of(order, schema) else ()
        except BadInputError:  # its column is gone
            order = ()
        self._is_mapped = details.configuration.get("delta.columnMapping.mode", "none") != "none"
        return Snapshot(
            kind="delta",
            location=self.location,
            version=str(opened.version()),
            files=tuple(files),
            schema=schema,
            order=order,
            partitioned_by=partitioned_by,
            refusal=_refusal(protocol, details.configuration),
            metadata=repr((details.id, opened.schema().to_json(), details.configuration, protocol)),
        )

    def _vectors(self, opened: Any, protocol: Any) -> set[str]:
        """Return the paths of files with deletion vectors."""
        if "deletionVectors" not in (protocol.reader_features or ()):
            return set()
        paths = _read(opened.deletion_vectors()).column("filepath")
        return {self._relative(path) for path in paths.to_pylist()}

    def _relative(self, uri: str) -> str:
        path = unquote(urlsplit(uri).path) if "://" in uri else uri
        root = f"{self.storage.local_root}/" if self.storage.local_root else f"/{self.storage_prefix}/"
        return path.removeprefix(root).lstrip("/")

    @property
    def storage_prefix(self) -> str:
        """The path of the table within its bucket."""
        return urlsplit(self.location).path.strip("/")

    def _file(self, action: Mapping[str, Any], partitioned_by: Sequence[str], vectors: set[str]) -> DataFile:
        path = unquote(action["path"])
        values = action.get("partition") or {}
        least, most = _flat(action.get("min") or {}), _flat(action.get("max") or {})
        has_vector = path in vectors or unquote(path) in vectors
        is_elsewhere = "://" in path or path.startswith("/")
        left = "it has a deletion vector, which only the writer of that can replace" if has_vector else ""
        return DataFile(
            path=path,
            bytes=action["size_bytes"],
            rows=action["num_records"],
            partition=tuple((name, shown_value(_partition_text(values.get(name)))) for name in partitioned_by),
            bounds={name: (low, most.get(name)) for name, low in least.items() if low is not None},
            nulls={name: count for name, count in _flat(action.get("null_count") or {}).items() if count is not None},
            deletes=int(has_vector),
            left=left or ("it lies outside the table" if is_elsewhere else ""),
            token=action["modification_time"],
            handle={name: _partition_text(values.get(name)) for name in partitioned_by},
        )

    def rows(self, file: DataFile, path: Path, schema: Any) -> Iterator[Any]:
        """Yield the rows in a schema, columns by name, which mapping has otherwise. Raises BadInputError."""
        if self._is_mapped:
            raise BadInputError(f"{self.location}: its columns are mapped, and not read here", code="unsupported-table")
        return super().rows(file, path, schema)

    def commit(self, snapshot: Snapshot, removed: Sequence[DataFile], added: Sequence[NewFile], group: Group) -> str:
        """Commit as a change of the layout alone, `dataChange: false`. Raises LostError."""
        errors = optional("deltalake.exceptions", extra="tables", purpose="writing Delta tables")
        for attempt in range(_ATTEMPTS):
            opened = self._open()
            require_same(snapshot, self._seen(opened), removed)
            whole = {key.name for key in keys_of(group.keys, snapshot.schema)}
            try:
                self._commit_to(opened, removed, added, group, whole)
            except errors.CommitFailedError:
                time.sleep(min(0.05 * 2**attempt, 2.0))
                continue
            except errors.DeltaError as error:
                raise _refused(self.location, error) from error
            return str(opened.version() + 1)  # as opened: the commit is of the next one, or fails
        raise IoFailureError(f"{self.location}: other writers committed first, {_ATTEMPTS} times", code="busy-table")

    def _commit_to(
        self, opened: Any, removed: Sequence[DataFile], added: Sequence[NewFile], group: Group, whole: set[str]
    ) -> None:
        library = optional("deltalake.transaction", extra="tables", purpose="writing Delta tables")
        now_ms, values = int(time.time() * 1000), removed[0].handle
        actions = [
            library.AddAction(file.path, file.bytes, values, now_ms, False, _statistics(file, whole)) for file in added
        ]
        actions += [library.RemoveAction(file.path, False, now_ms, file.bytes, values) for file in removed]
        about = {_GROUP: group.id, _ORDER: list(group.keys)}
        opened.create_write_transaction(
            actions,
            "append",
            opened.schema(),
            opened.metadata().partition_columns,
            commit_properties=library.CommitProperties(custom_metadata=about, max_commit_retries=0),
            post_commithook_properties=library.PostCommitHookProperties(cleanup_expired_logs=False),
        )

    def is_committed(self, group_id: str) -> bool:
        """Return whether one of the last versions is that of a group."""
        return any(each.get(_GROUP) == group_id for each in self._open().history(_VERSIONS_SEEN))


def require_same(snapshot: Snapshot, newest: Snapshot, removed: Sequence[DataFile]) -> None:
    """Raise LostError unless the newest version has the removed files and the metadata of a snapshot."""
    live = {file.path: file for file in newest.files}
    if snapshot.metadata != newest.metadata:
        raise LostError("the table's schema, properties or protocol changed")
    if lost := [file.path for file in removed if file.path not in live or not file.is_same(live[file.path])]:
        raise LostError(f"another writer removed or changed {len(lost)} of its files")


def _storage(location: str, options: Mapping[str, str]) -> Storage:
    if "://" not in location or location.startswith("file://"):
        root = Path(unquote(urlsplit(location).path) if "://" in location else location).absolute()
        return Storage(arrow("pyarrow.fs").LocalFileSystem(), str(root), local_root=root)
    base = optional("deltalake.fs", extra="tables", purpose="reading Delta tables").DeltaStorageHandler

    class Handler(base):  # type: ignore[misc, valid-type]
        """The library's, whose streams take bytes alone, and get buffers from pyarrow."""

        def open_output_stream(self, path: str, metadata: dict[str, str] | None = None) -> Any:
            return arrow().PythonFile(_Bytes(self._handler.open_output_stream(path, metadata)), "w")

    errors = optional("deltalake.exceptions", extra="tables", purpose="reading Delta tables")
    try:
        handler = Handler(location, dict(options))
    except (errors.DeltaError, OSError) as error:
        raise _refused(location, error) from error
    return Storage(arrow("pyarrow.fs").PyFileSystem(handler), "", local_root=None, uri=location)


class _Bytes:
    """A stream that is written bytes."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, content: Any) -> int:
        """Write a buffer."""
        self._stream.write(bytes(content))
        return len(content)


def _read(stream: Any) -> Any:
    """Return the table of a stream of the library; `pyarrow.table` would load pandas, which takes a while."""
    return arrow().RecordBatchReader.from_stream(stream).read_all()


def _refused(location: str, error: Exception) -> BadInputError:
    return BadInputError(f"{location}: the library deltalake refuses: {str(error).splitlines()[0]}", code="not-a-table")


def _refusal(protocol: Any, configuration: Mapping[str, str]) -> str:
    mode = configuration.get("delta.columnMapping.mode", "none")
    if mode != "none":
        return f"its columns are mapped by {mode}, which is not kept in new files"
    if (version := protocol.min_writer_version) > _PLAIN_WRITER and version != _LISTED_WRITER:
        return f"it asks for writers of version {version}"
    further = {*(protocol.writer_features or ()), *(protocol.reader_features or ())} - _WRITES
    return f"it has the features {', '.join(sorted(further))}, which are not kept" if further else ""


def _flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return nested values by the dotted names of leaves."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= _flat(value, f"{before}{name}.") if isinstance(value, dict) else {f"{before}{name}": value}
    return found


def _partition_text(value: Any) -> str | None:
    """Return the value of a partition as the log spells it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(sep=" ")
    return None if value is None else str(value)


def _statistics(file: NewFile, whole: set[str]) -> str:
    """Return the statistics of a file in the form of the log, texts cut but for the `whole` columns. Columns with NaN,
    the greatest number for some readers and not in the footer, have no greatest value.
    """
    least: dict[str, Any] = {}
    most: dict[str, Any] = {}
    nulls: dict[str, Any] = {}
    for names, count, bounds in leaf_statistics(file.footer):
        length = None if ".".join(names) in whole else _MOST_TEXT
        _put(nulls, names, count)
        _put(least, names, bounds and _bound(bounds[0], length, is_most=False))
        has_most = bounds and ".".join(names) not in file.with_nan
        _put(most, names, _bound(bounds[1], length, is_most=True) if bounds and has_most else None)
    found = {"numRecords": file.rows, "minValues": least, "maxValues": most, "nullCount": nulls}
    return json.dumps(found, ensure_ascii=False)  # deltalake reads pairs of escapes for U+20000 on as other characters


def _put(tree: dict[str, Any], names: Sequence[str], value: Any) -> None:
    for name in names[:-1]:
        tree = tree.setdefault(name, {})
    if value is not None:
        tree[names[-1]] = value


def _bound(value: Any, length: int | None, *, is_most: bool) -> Any:
    """Return a bound in JSON; None for one that the log does not have."""
    if isinstance(value, datetime):
        text = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        return text.isoformat(timespec="microseconds") + ("Z" if value.tzinfo else "")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str):
        return value[:length] + "\U0010ffff" * (is_most and len(value) > len(value[:length]))
    if isinstance(value, Decimal) and value.is_finite():
        number = int(value) if value == value.to_integral_value() else float(value)
        return number if Decimal(repr(number)) == value else None  # a rounded bound would hide rows
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if is_number else None
