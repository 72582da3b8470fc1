"""Folders of Parquet files, whose `name=value` subfolders are partitions. There is no protocol of commits.

New files come by rename, and the old ones go after all new ones are there: in between, for milliseconds, a reader that
lists the folder sees rows twice, never too few. A kill in between is finished by the next call: the list of renames is
stored before the first. Old files are kept beside the folder until the last is gone.
"""

from __future__ import annotations

import json
import posixpath
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from planner.config.atomic_file import sync_to_disk
from planner.config.user_files import require_no_table_log, require_outside_tables
from planner.errors import BadInputError
from planner.sorting.tables.arrow_library import arrow
from planner.tables.layout import DataFile, Group, LostError, NewFile, Partition, Snapshot, shown_value
from planner.tables.parquet_files import leaf_statistics, shape
from planner.tables.storage import FOLDER, Journal, Storage, store_errors
from planner.tables.table_format import TableFormat

_NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"
_READERS: Final = 8
_SWAP: Final = "swap.json"


class FolderFormat(TableFormat):
    """A folder of this machine, or a prefix of a store, which is only looked at."""

    def __init__(self, location: str) -> None:
        self.location = location
        if "://" in location:
            with store_errors(location):
                file_system, root = arrow("pyarrow.fs").FileSystem.from_uri(location)
            super().__init__(Storage(file_system, root, local_root=None))
            return
        root = Path(location).resolve()
        super().__init__(Storage(arrow("pyarrow.fs").LocalFileSystem(), str(root), local_root=root))
        beside = root.parent
        self._beside = Storage(arrow("pyarrow.fs").LocalFileSystem(), str(beside), local_root=beside)
        self.journal = Journal(self._beside, folder=f".{root.name}{FOLDER}")

    def scratch(self) -> Path | None:
        """Return a hidden folder beside the table, where no pattern of names finds files."""
        root = self.storage.local_root
        return root and root.with_name(f".{root.name}{FOLDER}")

    def snapshot(self) -> Snapshot:
        """Return the files as they are now, from their footers. Raises BadInputError for one that is not Parquet."""
        every = list(self.storage.listed(recursive=True))
        self._require_no_tables([path for path, _ in every])
        listed = [(path, info) for path, info in every if _is_data(path)]
        if not listed:
            raise BadInputError(f"{self.location}: no Parquet files are there", code="no-such-file")
        with ThreadPoolExecutor(_READERS) as pool:
            footers = list(pool.map(lambda each: self._footer(each[0]), listed))
        schemas = [footer.schema.to_arrow_schema() for footer in footers]
        files = [
            _file(path, info, footer)
            for (path, info), footer in sorted(zip(listed, footers, strict=True), key=_path_of)
        ]
        names = tuple(dict.fromkeys(name for file in files for name, _ in file.partition))
        return Snapshot(
            kind="parquet",
            location=self.location,
            version="",
            files=tuple(files),
            schema=self._schema(schemas),
            order=_common_order(footers),
            partitioned_by=names,
            refusal=self._refusal(),
        )

    def _require_no_tables(self, paths: Sequence[str]) -> None:
        """Raise BadInputError for a folder around tables with a log, or within one: only that says which rows count."""
        root = self.storage.local_root
        try:
            for path in paths:
                require_no_table_log(posixpath.join(self.location, path))
            if root is not None:
                require_outside_tables(root)
        except BadInputError as error:
            raise BadInputError(error.message, ["name that table"], code=error.code) from None

    def _refusal(self) -> str:
        if self.storage.local_root is None:
            return "a folder in a store cannot be changed in one step: make it a Delta or Iceberg table"
        if self.storage.local_root.stat().st_dev != self.storage.local_root.parent.stat().st_dev:
            return "it is a disk of its own, and new files come by rename from beside it: use a folder within"
        return ""

    def _footer(self, path: str) -> Any:
        with store_errors(path), self.storage.file_system.open_input_file(self.storage.full(path)) as file:
            try:
                return arrow("pyarrow.parquet").read_metadata(file)
            except arrow().ArrowException as error:
                raise BadInputError(f"{path}: {str(error).splitlines()[0]}", code="not-a-table") from error

    def _schema(self, schemas: Sequence[Any]) -> Any:
        """Return the schema of all files, with widened columns. Raises BadInputError."""
        if all(shape(schema, ids=False) == shape(schemas[0], ids=False) for schema in schemas):
            optional = {field.name for schema in schemas for field in schema if field.nullable}
            fields = [field.with_nullable(field.name in optional) for field in schemas[0]]
            return arrow().schema(fields, metadata=schemas[0].metadata)
        try:
            return arrow().unify_schemas([each.remove_metadata() for each in schemas], promote_options="permissive")
        except arrow().ArrowException as error:
            raise BadInputError(f"{self.location}: its files differ: {error}", code="unlike-columns") from error

    def place(self, local: Path, name: str, like: DataFile) -> NewFile:
        """Keep a sorted file beside the folder until the commit renames it."""
        footer = arrow("pyarrow.parquet").read_metadata(local)
        size, waiting = local.stat().st_size, self._waiting(name.rpartition("-")[2].removesuffix(".parquet"))
        waiting.mkdir(parents=True, exist_ok=True)
        shutil.move(local, waiting / name)
        return NewFile(path=self.target(like, name), bytes=size, rows=footer.num_rows, footer=footer)

    def _waiting(self, group_id: str) -> Path:
        scratch = self.scratch()
        assert scratch  # of a local folder, as others are refused
        return scratch / f"{group_id}.new"

    def commit(self, snapshot: Snapshot, removed: Sequence[DataFile], added: Sequence[NewFile], group: Group) -> str:
        """Rename the new files into the folder, then the old ones out of it. Raises LostError."""
        root = self.storage.local_root
        assert root
        del snapshot
        for file in removed:
            try:
                found = (root / file.path).stat()
            except FileNotFoundError:
                raise LostError(f"{file.path} is gone") from None
            if (found.st_size, found.st_mtime_ns) != (file.bytes, file.token):
                raise LostError(f"{file.path} was written again")
        waiting = self._waiting(group.id)
        waiting.mkdir(parents=True, exist_ok=True)
        for path in waiting.iterdir():
            sync_to_disk(path)
        swap = waiting / _SWAP
        swap.with_suffix(".part").write_text(
            json.dumps(
                {"new": [file.path for file in added], "old": [(file.path, file.bytes, file.token) for file in removed]}
            ),
            encoding="utf-8",
        )
        sync_to_disk(swap.with_suffix(".part"))
        swap.with_suffix(".part").rename(swap)
        self._swap(group.id)
        return ""

    def _swap(self, group_id: str) -> None:
        """Do the renames that are stored, or what is left of them."""
        waiting, root = self._waiting(group_id), self.storage.local_root
        assert root
        renames = json.loads((waiting / _SWAP).read_text(encoding="utf-8"))
        for path in renames["new"]:
            if (made := waiting / posixpath.basename(path)).exists():
                made.rename(root / path)
        for folder in {(root / path).parent for path in renames["new"]}:
            sync_to_disk(folder)  # a power cut may not undo this and keep what follows
        kept = waiting / "old"
        kept.mkdir(exist_ok=True)
        for number, (path, size, changed_ns) in enumerate(renames["old"]):
            old = root / path
            # after a kill another writer may have written it again: those rows are not in the new files
            if old.exists() and (old.stat().st_size, old.stat().st_mtime_ns) == (size, changed_ns):
                old.rename(kept / f"{number}")
        shutil.rmtree(waiting)

    def is_committed(self, group_id: str) -> bool:
        """Return whether a group's renames are done; begun ones are finished first."""
        if self.storage.local_root is None:
            return False
        if (self._waiting(group_id) / _SWAP).exists():
            self._swap(group_id)
            return True
        return any(group_id in path for path, _ in self.storage.listed(recursive=True))

    def discard(self, group_id: str) -> int:
        """Remove the files of a group whose renames did not begin."""
        waiting = self._waiting(group_id)
        count = len(list(waiting.iterdir())) if waiting.is_dir() else 0
        shutil.rmtree(waiting, ignore_errors=True)
        self.journal.end(group_id)
        return count


def _path_of(each: Any) -> str:
    return str(each[0][0])


def _is_data(path: str) -> bool:
    return path.endswith((".parquet", ".parq")) and not any(part.startswith(("_", ".")) for part in path.split("/"))


def _file(path: str, info: Any, footer: Any) -> DataFile:
    bounds, nulls = {}, {}
    for names, count, found in leaf_statistics(footer):
        if found is not None:
            bounds[".".join(names)] = found
        if count is not None:
            nulls[".".join(names)] = count
    return DataFile(
        path=path,
        bytes=info.size,
        rows=footer.num_rows,
        partition=_partition(path),
        bounds=bounds,
        nulls=nulls,
        token=info.mtime_ns,
    )


def _partition(path: str) -> Partition:
    """Return the columns in the names of folders; other folders count as one more, since rows stay in theirs."""
    parts = path.split("/")[:-1]
    pairs = [part.partition("=") for part in parts if "=" in part]
    found = [(name, shown_value(None if value == _NO_VALUE else unquote(value))) for name, _, value in pairs]
    plain = "/".join(part for part in parts if "=" not in part)
    return (*found, ("folder", plain)) if plain else tuple(found)


def _common_order(footers: Sequence[Any]) -> tuple[str, ...]:
    """Return the order that the footers of all row groups declare."""
    orders = {
        tuple(_key_text(footer, column) for column in footer.row_group(number).sorting_columns)
        for footer in footers
        for number in range(footer.num_row_groups)
    }
    return orders.pop() if len(orders) == 1 else ()


def _key_text(footer: Any, column: Any) -> str:
    name = footer.schema.column(column.column_index).path
    return f"{name}{':desc' * column.descending}{':first' * column.nulls_first}"
