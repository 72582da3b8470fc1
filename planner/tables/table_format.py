"""What each format of tables offers: snapshots, files in a storage, commits, and the ends of interrupted rewrites."""

from __future__ import annotations

import posixpath
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from planner.sorting.tables.arrow_library import arrow
from planner.tables.layout import DataFile, Group, NewFile, Snapshot
from planner.tables.parquet_files import rows_by_name
from planner.tables.storage import FOLDER, Journal, Storage


class TableFormat(ABC):
    """A table in one format. Paths are those of its snapshots."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.journal = Journal(storage)

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """Return the newest version. Raises BadInputError, IoFailureError."""

    @abstractmethod
    def commit(self, snapshot: Snapshot, removed: Sequence[DataFile], added: Sequence[NewFile], group: Group) -> str:
        """Replace files by others in one step, and return the new version. Raises LostError if a removed file is no
        longer as in the snapshot, or if the table's metadata changed.
        """

    @abstractmethod
    def is_committed(self, group_id: str) -> bool:
        """Return whether a version of the table has the files of a group."""

    def rows(self, file: DataFile, path: Path, schema: Any) -> Iterator[Any]:
        """Yield the rows of a fetched file as the table has them, in a schema: deletes applied, absent columns null.
        Raises BadInputError.
        """
        return rows_by_name(path, schema, shown=file.path)

    def target(self, like: DataFile, name: str) -> str:
        """Return the path of a new file of the partition of another."""
        return posixpath.join(posixpath.dirname(like.path), name)

    def scratch(self) -> Path | None:
        """Return a folder on the disk of the table which readers ignore; None for a table in a store."""
        return self.storage.local(FOLDER)

    def fetch(self, file: DataFile, folder: Path) -> Path:
        """Return a local copy of a file in a folder, or the file itself if it is local."""
        return self.storage.fetch(file.path, folder)

    def address(self, file: DataFile) -> str:
        """Return the address at which a cluster reads a file of a table in a store."""
        return f"{self.storage.uri}/{file.path}"

    def place(self, local: Path, name: str, like: DataFile) -> NewFile:
        """Move a sorted file into the storage, to the partition of another file, unseen by readers."""
        footer = arrow("pyarrow.parquet").read_metadata(local)
        path, size = self.target(like, name), local.stat().st_size
        self.storage.put(local, path)
        return NewFile(path=path, bytes=size, rows=footer.num_rows, footer=footer)

    def begin(self, group: Group) -> None:
        """Store where the files of a group will be, which a later call needs to clean up."""
        folder = self.target(group.files[0], "").rstrip("/")
        self.journal.begin(group.id, folder=folder)

    def end(self, group: Group) -> None:
        """Forget a group that is committed or cleaned up."""
        self.journal.end(group.id)

    def discard(self, group_id: str) -> int:
        """Remove what an interrupted rewrite of a group left, and return how many files that were."""
        folder = self.journal.facts(group_id)["folder"]
        left = [path for path, _ in self.storage.listed(folder) if group_id in path]
        for path in left:
            self.storage.remove(path)
        self.journal.end(group_id)
        return len(left)

    def interrupted(self) -> list[str]:
        """Return the ids of groups that began and whose process is gone."""
        return self.journal.interrupted()
