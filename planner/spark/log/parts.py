"""The files of a log: one, those of a directory, or the members of a zip or tar archive. Other files are reported."""

from __future__ import annotations

import os
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final

from planner.compression.block_formats import BrokenDataError
from planner.compression.decoding import ZIP_MAGIC, decode_stream, is_tar, peek
from planner.errors import BadInputError, IoFailureError
from planner.spark.log.fields import shorten

_SAMPLE_BYTES: Final = 1 << 20
_EVENT: Final = re.compile(
    rb'"Event"\s*:\s*"(?:SparkListener|org\.apache\.spark|DBCEventLogging|[\w.]*\.SparkListener)'
)
ROLLING: Final = re.compile(r"events_(\d+)_(.+?)((?:\.\w+)?)")
"""Name of one of Spark's rolling files, without COMPACT: its number, the application, its compression."""
COMPACT: Final = ".compact"
_METADATA: Final = re.compile(rb'\{"Event":"DBCEventLoggingListenerMetadata"[^}]*\}')


@dataclass(frozen=True, kw_only=True)
class Part:
    """A file that holds events. `name` is its name in messages, `folder` its folder, `base` its own name; `head` is its
    first line if Databricks' listener wrote it. `damage` is the reason why a file has no events though its name marks
    it as one of Spark's rolling files, so that it counts as a part.
    """

    name: str
    folder: str
    base: str
    head: bytes = b""
    damage: str = ""
    open: Callable[[], BinaryIO] = field(repr=False, compare=False)


_WHERE_LOGS_ARE: Final = "Spark writes event logs to spark.eventLog.dir where spark.eventLog.enabled is true"


@dataclass(frozen=True, kw_only=True)
class PassedOver:
    """A file that was not read, and why."""

    name: str
    reason: str


def parts_of(path: Path) -> tuple[list[Part], list[PassedOver]]:
    """Return the files with events at a path, and all other files there, each with its reason.

    Raises BadInputError if the path does not exist or is a single file without events, IoFailureError if it cannot be
    read.
    """
    if not path.exists():
        address = re.match("[a-z0-9+]+:/", str(path))
        fetch = [
            f"planner reads files of this machine, s3://, gs:// and https://; fetch it first: hdfs dfs -get {path}"
        ]
        raise BadInputError(
            f"{path}: no such file or directory; give an event log, or the directory it lies in",
            fetch if address else [_WHERE_LOGS_ARE],
            code="no-such-file",
        )
    if not path.is_file() and not path.is_dir():
        raise BadInputError(
            f"{path} is a device or a pipe; an event log is a file, or the directory it lies in", code="no-end"
        )
    try:
        if path.is_dir():
            return _split_passed_over(_in_directory(path))
        parts, others = _split_passed_over(_candidates(path, name=str(path), folder=str(path.parent)))
    except OSError as error:
        raise IoFailureError(f"{path} cannot be read: {error}", code="io") from error
    if not parts and len(others) == 1:
        where = [_WHERE_LOGS_ARE] if others[0].reason.startswith("no event") else []
        raise BadInputError(f"{others[0].name} is no Spark event log: {others[0].reason}", where, code="not-a-log")
    return parts, others


def _split_passed_over(candidates: Iterator[Part | PassedOver]) -> tuple[list[Part], list[PassedOver]]:
    parts, others = [], []
    for candidate in candidates:
        if isinstance(candidate, Part):
            parts.append(candidate)
        else:
            others.append(candidate)
    return parts, others


def holds_no_events(base: str) -> bool:
    """Return whether a file of this name among event logs is something else: a marker, a checksum or a hidden file."""
    return base.startswith(("appstatus_", ".")) or base.endswith(".crc")


def _in_directory(directory: Path) -> Iterator[Part | PassedOver]:
    for folder, folders, files in os.walk(directory):
        folders.sort()
        for file in sorted(files):
            path = Path(folder, file)
            name = str(path.relative_to(directory))
            if holds_no_events(file):
                yield PassedOver(name=name, reason="holds no events by its name")
            elif not path.is_file():
                yield PassedOver(name=name, reason="not a file")
            else:
                yield from _candidates(path, name=name, folder=folder)


def _candidates(path: Path, *, name: str, folder: str) -> Iterator[Part | PassedOver]:
    """Yield a file, or the members of an archive."""
    try:
        if not path.stat().st_size:  # not opened: files of /proc may never answer
            yield _part(BytesIO, name=name, folder=folder, base=path.name)
            return
        with path.open("rb") as stream:
            head = stream.read(4)
            if head != ZIP_MAGIC:
                stream.seek(0)
                head = _decode_head(stream)
        if head.startswith(ZIP_MAGIC):
            yield from _zip_members(path, name=name)
        elif is_tar(head):
            yield from _tar_members(path, name=name)
        else:
            yield _part(lambda: path.open("rb"), name=name, folder=folder, base=path.name)
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, NotImplementedError) as error:
        yield PassedOver(name=name, reason=f"a damaged archive ({error})")
    except OSError as error:
        yield PassedOver(name=name, reason=f"cannot be read ({error})")


def _decode_head(stream: BinaryIO) -> bytes:
    try:
        return peek(decode_stream(stream))[0]
    except BrokenDataError:
        return b""


def _zip_members(path: Path, *, name: str) -> Iterator[Part | PassedOver]:
    with zipfile.ZipFile(path) as archive:
        members = sorted((m for m in archive.infolist() if not m.is_dir()), key=lambda m: m.filename)
    for member in members:
        if member.flag_bits & 1:
            yield PassedOver(name=f"{name}!{member.filename}", reason="encrypted")
            continue
        yield _member(name, member.filename, lambda member=member: _zip_stream(path, member))  # type: ignore[misc]


def _zip_stream(path: Path, member: zipfile.ZipInfo) -> BinaryIO:
    archive = zipfile.ZipFile(path)
    return _Archived(archive.open(member), archive)  # type: ignore[return-value,arg-type]


def _tar_members(path: Path, *, name: str) -> Iterator[Part | PassedOver]:
    with tarfile.open(path) as archive:
        members = sorted((m.name for m in archive if m.isfile()), key=str)
    for member in members:
        yield _member(name, member, lambda member=member: _tar_stream(path, member))  # type: ignore[misc]


def _tar_stream(path: Path, member: str) -> BinaryIO:
    archive = tarfile.open(path)  # noqa: SIM115  # closed with the stream
    return _Archived(archive.extractfile(member), archive)  # type: ignore[return-value,arg-type]


class _Archived:
    """A member's stream, closed with its archive; reports the archive's damage as for all compressed data."""

    def __init__(self, stream: BinaryIO, archive: zipfile.ZipFile | tarfile.TarFile) -> None:
        self._stream, self._archive = stream, archive

    def read(self, size: int) -> bytes:
        try:
            return self._stream.read(size)
        except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError, ValueError) as error:
            raise BrokenDataError(f"the archive is damaged ({error})") from error

    def __enter__(self) -> _Archived:
        return self

    def __exit__(self, *raised: object) -> None:
        self._stream.close()
        self._archive.close()


def _member(archive: str, member: str, opener: Callable[[], BinaryIO]) -> Part | PassedOver:
    inner = PurePosixPath(member)
    name = f"{archive}!{member}"
    if holds_no_events(inner.name) or "__MACOSX" in inner.parts:
        return PassedOver(name=name, reason="holds no events by its name")
    return _part(opener, name=name, folder=f"{archive}!{inner.parent}", base=inner.name)


def _part(opener: Callable[[], BinaryIO], *, name: str, folder: str, base: str) -> Part | PassedOver:
    """Return the file as a part of a log if it starts with an event or its name marks it as one."""
    try:
        with opener() as stream:
            sample, chunks = peek(decode_stream(stream), _SAMPLE_BYTES)
            if not sample:
                next(filter(None, chunks), None)  # raises if it is damaged
        reason = _why_no_events(sample)
    except BrokenDataError as error:
        reason = str(error)
    if reason and not ROLLING.fullmatch(base.removesuffix(COMPACT)):
        return PassedOver(name=name, reason=reason)
    metadata = _METADATA.match(sample) if not reason else None
    return Part(name=name, folder=folder, base=base, head=metadata[0] if metadata else b"", damage=reason, open=opener)


def _why_no_events(sample: bytes) -> str:
    """Return why a file with this beginning is not an event log; '' if it is one."""
    if not sample:
        return "empty"
    if _EVENT.search(sample):
        return ""
    if sample.startswith(ZIP_MAGIC) or is_tar(sample):
        return "an archive within an archive; unpack it first"
    return f"no event of Spark in it; it begins with {shorten(sample[:60])!r}"
