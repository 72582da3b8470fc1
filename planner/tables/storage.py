"""Where the files of a table are: a folder of this machine, or a prefix of a store, through pyarrow's file systems."""

from __future__ import annotations

import json
import os
import posixpath
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from planner.errors import BadInputError, IoFailureError
from planner.sorting.tables.arrow_library import arrow

FOLDER: Final = "_planner_sort"
"""Folder within a table for what is not finished. Readers and vacuum ignore names that begin with an underscore."""
_PIECE_BYTES: Final = 1 << 24
_AT_WORK: Final[set[str]] = set()
"""Groups of this process."""
_STALE_S: Final = 86_400.0
"""After this time a rewrite on another machine counts as gone."""


class Storage:
    """The files below a root. Paths are relative to it; in a store `local_root` is None, and `uri` the root's."""

    def __init__(self, file_system: Any, root: str, *, local_root: Path | None, uri: str = "") -> None:
        self.file_system, self.root, self.local_root = file_system, root.rstrip("/"), local_root
        self.uri = uri.rstrip("/")

    def full(self, path: str) -> str:
        """Return the path as the file system takes it."""
        return f"{self.root}/{path}" if self.root else path

    def local(self, path: str) -> Path | None:
        """Return the path of a file of this machine."""
        return None if self.local_root is None else self.local_root / path

    def fetch(self, path: str, folder: Path) -> Path:
        """Return a local file, or a copy of a file in a folder. Raises IoFailureError."""
        if local := self.local(path):
            return local
        folder.mkdir(parents=True, exist_ok=True)
        copy = folder / f"{len(list(folder.iterdir())):05}-{posixpath.basename(path)}"
        with store_errors(path), self.file_system.open_input_stream(self.full(path)) as source, copy.open("wb") as file:
            shutil.copyfileobj(source, file, _PIECE_BYTES)
        return copy

    def put(self, local: Path, path: str) -> None:
        """Move a local file to a new path."""
        if target := self.local(path):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(local, target)
            return
        with store_errors(path), local.open("rb") as source, self.file_system.open_output_stream(self.full(path)) as to:
            shutil.copyfileobj(source, to, _PIECE_BYTES)
        local.unlink()

    def remove(self, path: str) -> None:
        """Remove a file."""
        with store_errors(path):
            self.file_system.delete_file(self.full(path))

    def listed(self, folder: str = "", *, recursive: bool = False) -> Iterator[Any]:
        """Yield (path, information) of the files in a folder, none if it does not exist."""
        selector = arrow("pyarrow.fs").FileSelector(self.full(folder), allow_not_found=True, recursive=recursive)
        with store_errors(folder or self.root):
            found = self.file_system.get_file_info(selector)
        prefix = f"{self.root}/" if self.root else ""
        for each in found:
            if each.is_file:
                yield each.path.removeprefix(prefix), each

    def write_text(self, path: str, text: str) -> None:
        """Write a small file."""
        with store_errors(path):
            if self.local_root is not None:
                (self.local_root / path).parent.mkdir(parents=True, exist_ok=True)
            with self.file_system.open_output_stream(self.full(path)) as file:
                file.write(text.encode())

    def read_text(self, path: str) -> str:
        """Return a small file."""
        with store_errors(path), self.file_system.open_input_stream(self.full(path)) as file:
            return bytes(file.read()).decode()


class Journal:
    """Rewrites that have begun: a small file for each group, with which a later call finds what was left."""

    def __init__(self, storage: Storage, *, folder: str = FOLDER) -> None:
        self._storage, self._folder = storage, folder

    def _entry(self, group_id: str) -> str:
        return f"{self._folder}/{group_id}.json"

    def begin(self, group_id: str, **facts: Any) -> None:
        """Store that a group begins, or facts about it."""
        _AT_WORK.add(group_id)
        mine = {"id": group_id, "host": socket.gethostname(), "process": os.getpid(), "began_s": time.time(), **facts}
        self._storage.write_text(self._entry(group_id), json.dumps(mine))

    def facts(self, group_id: str) -> dict[str, Any]:
        """Return what was stored."""
        found: dict[str, Any] = json.loads(self._storage.read_text(self._entry(group_id)))
        return found

    def end(self, group_id: str) -> None:
        """Forget a group, and the folder after the last."""
        _AT_WORK.discard(group_id)
        if any(path == self._entry(group_id) for path, _ in self._storage.listed(self._folder)):
            self._storage.remove(self._entry(group_id))
        if folder := self._storage.local(self._folder):
            shutil.rmtree(folder / group_id, ignore_errors=True)
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
            return
        for path, _ in list(self._storage.listed(f"{self._folder}/{group_id}", recursive=True)):  # of a cluster's sort
            self._storage.remove(path)

    def leave(self, group_id: str) -> None:
        """Count a group as one whose process is gone."""
        _AT_WORK.discard(group_id)

    def interrupted(self) -> list[str]:
        """Return the groups whose process is gone."""
        found = []
        for path, _ in self._storage.listed(self._folder):
            name = posixpath.basename(path)
            if name.endswith(".json") and not _is_alive(self.facts(name.removesuffix(".json"))):
                found.append(name.removesuffix(".json"))
        return found


def _is_alive(facts: dict[str, Any]) -> bool:
    if facts["host"] != socket.gethostname():
        return bool(time.time() - facts["began_s"] < _STALE_S)
    if facts["process"] == os.getpid():
        return facts["id"] in _AT_WORK
    try:
        os.kill(facts["process"], 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@contextmanager
def store_errors(path: str) -> Iterator[None]:
    """Turn errors of a file system into errors that name the path: BadInputError where there is nothing or no right,
    and for an address that is none.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise BadInputError(f"{path}: there is no such file", code="no-such-file") from error
    except PermissionError as error:
        raise BadInputError(f"{path}: no right to read or write it ({error})", code="no-permission") from error
    except ValueError as error:  # of an address without bucket, or of an unknown kind
        text = f"{path}: {str(error).splitlines()[0]}; name a folder, or a prefix of a store such as s3://bucket/table"
        raise BadInputError(text, code="not-a-table") from error
    except OSError as error:
        text = str(error)
        if "ACCESS_DENIED" in text or "403" in text:
            raise BadInputError(f"{path}: the store refuses ({text.splitlines()[0]})", code="no-permission") from error
        raise IoFailureError(f"{path}: {text.splitlines()[0]}", code="io") from error
