"""Places that hold many event logs: a folder, a prefix of an object store or a history server. Each log is listed
separately, with a version that changes when it does, and fetched when its turn comes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from planner.distributed_sort.dataset import object_store
from planner.errors import BadInputError, IoFailureError
from planner.spark.fleet import history_server
from planner.spark.log.parts import Part, holds_no_events, parts_of
from planner.spark.log.reading import EventLogs, read, read_files
from planner.spark.log.rollover import is_rolling_name, logs


@dataclass(frozen=True, kw_only=True)
class LogUnit:
    """Files read together: one file, or the files of one folder that belong together. `key` is its name below the
    place; `version` changes when a file does; `files` are paths, URIs or one URL.
    """

    key: str
    version: str
    files: tuple[str, ...]
    size_bytes: int


@dataclass(frozen=True, kw_only=True)
class Listing:
    """The logs at a place, and how many applications were not listed because they still run."""

    place: str
    units: tuple[LogUnit, ...]
    running: int = 0


def is_remote(place: str) -> bool:
    """Return whether a place is not a path but a prefix of an object store or the address of a history server."""
    return object_store.is_object(object_store.planner_uri(place)) or history_server.is_server(place)


def list_logs(place: str) -> Listing:
    """Return the logs at a place without opening any. Raises BadInputError if there is no such place or no file in it,
    IoFailureError if it cannot be read.
    """
    if history_server.is_server(place):
        listed = history_server.list_applications(place)
        units = [LogUnit(key=a.app_id, version=a.version, files=(a.logs_url,), size_bytes=0) for a in listed.ended]
        return Listing(place=place.rstrip("/"), units=tuple(units), running=listed.running)
    place = object_store.planner_uri(place)
    if object_store.is_object(place):
        found = object_store.list_versions(place)
        if not found and object_store.size_if_there(place) is not None:
            version = object_store.version_of(place)
            found = {place: (version.size_bytes, version.modified)}
        prefix = place.rstrip("/") + "/"
    else:
        root = Path(place).expanduser()
        place, prefix, found = str(root.resolve()), "", dict(_files_below(root))
    units = list(_units(found, prefix=prefix or f"{place}/"))
    if not units:
        raise BadInputError(
            f"{place} holds no file; Spark writes event logs where spark.eventLog.dir says", code="no-files"
        )
    return Listing(place=place, units=tuple(units))


def holds_several(place: str) -> bool:
    """Return whether a place may hold more than one log: true of remote places, else judged by the names and heads of
    files.

    Raises as `list_logs` does.
    """
    if is_remote(place):
        return True
    path = Path(place).expanduser()
    if path.is_file():
        return len(logs(parts_of(path)[0])[0]) > 1
    if not path.is_dir():
        return False
    parts: list[Part] = []
    for unit in list_logs(place).units:
        for file in unit.files:
            with suppress(BadInputError):
                parts += parts_of(Path(file))[0]
        if len(logs(parts)[0]) > 1:
            return True
    return False


def read_place(place: str, app: str | None = None) -> EventLogs:
    """Read the event logs at a place. With `app`, read from a remote place only those whose names have that application
    id.

    Raises BadInputError if there are none, IoFailureError if the place cannot be read.
    """
    if not is_remote(place):
        return read(place)
    units = [unit for unit in list_logs(place).units if app and app.partition("/")[0] in unit.key]
    if not units:
        raise BadInputError(
            f"{place} has no log of an application {app}; `planner explain-log {place}` lists them",
            code="no-such-application",
        )
    with TemporaryDirectory(prefix="planner-log-") as folder:
        return read_files([path for unit in units for path in fetch(unit, Path(folder))])


def fetch(unit: LogUnit, folder: Path) -> list[Path]:
    """Return local files of a log, copying remote ones into a folder. Raises IoFailureError."""
    if not is_remote(unit.files[0]):
        return [Path(file) for file in unit.files]
    paths = [folder / (file.rpartition("/")[2] or "log") for file in unit.files]
    for file, path in zip(unit.files, paths, strict=True):
        if history_server.is_server(file):
            history_server.download(file, path)
        else:
            object_store.read_file(file, path)
    return paths


def _files_below(root: Path) -> Iterator[tuple[str, tuple[int, str]]]:
    if not root.exists():
        raise BadInputError(
            f"{root}: no such file or directory; give the folder of the event logs", code="no-such-file"
        )
    try:
        for folder, folders, files in os.walk(root.resolve()):
            folders.sort()
            for file in sorted(files):
                path = Path(folder, file)
                if path.is_file():
                    status = path.stat()
                    yield str(path), (status.st_size, f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}")
    except OSError as error:
        raise IoFailureError(f"{root} cannot be listed: {error}", code="io") from error


def _units(found: Mapping[str, tuple[int, str]], *, prefix: str) -> Iterator[LogUnit]:
    """Yield a unit for each file, and one for each folder's files that are numbered parts of one log."""
    together: dict[str, list[str]] = {}
    for file in found:
        folder, _, base = file.rpartition("/")
        if holds_no_events(base):
            continue
        if is_rolling_name(base):
            together.setdefault(folder, []).append(file)
        else:
            yield _unit([file], found, key=file.removeprefix(prefix))
    for folder, files in together.items():
        yield _unit(files, found, key=f"{folder.removeprefix(prefix.rstrip('/')).strip('/')}/")


def _unit(files: Iterable[str], found: Mapping[str, tuple[int, str]], *, key: str) -> LogUnit:
    names = tuple(files)
    version = "; ".join(f"{name.rpartition('/')[2]} {found[name][1]}" for name in names)
    return LogUnit(key=key, version=version, files=names, size_bytes=sum(found[name][0] for name in names))
