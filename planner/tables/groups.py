"""Which files a rewrite takes: those whose key ranges overlap, small neighbours, and files with deletes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from planner.errors import BadInputError, some_of
from planner.tables.layout import DataFile, Group, Partition, new_id
from planner.tables.overlap import Key, Range, clusters, depths_at, ranges_of


def in_partition(files: Iterable[DataFile], where: str | None, *, partitioned_by: Sequence[str]) -> list[DataFile]:
    """Return the files of the partitions that `where` names, as `day=2026-01-01` or `day=2026-01-01,region=eu`.

    Raises BadInputError for a field by which the table is not partitioned, and where there is no such partition.
    """
    files = list(files)
    if where is None:
        return files
    wanted = dict(part.strip().partition("=")[::2] for part in where.split(","))
    if unknown := [name for name in wanted if name not in partitioned_by]:
        fields = some_of(partitioned_by) if partitioned_by else "nothing"
        raise BadInputError(
            f"--where {where}: the table is partitioned by {fields}, not by {unknown[0]!r}", code="unknown-column"
        )
    found = [file for file in files if wanted.items() <= dict(file.partition).items()]
    if not found:
        known = list(dict.fromkeys(file.place for file in files))
        raise BadInputError(f"--where {where}: no such partition; there are {some_of(known)}", code="no-such-partition")
    return found


def groups_of(
    files: Iterable[DataFile],
    keys: Sequence[Key],
    *,
    target_bytes: int,
    most_bytes: int | None = None,
    by_rows: Mapping[str, Range] | None = None,
) -> list[Group]:
    """Return what to rewrite, the deepest overlap first, in all at most `most_bytes`: by the ranges of metadata, or
    by those of the rows, by path, where these were read.

    A group that is larger than what is left is cut at a key: its first files are sorted now, the rest in a later call.
    """
    by_partition: dict[Partition, list[DataFile]] = defaultdict(list)
    for file in files:
        if not file.left:
            by_partition[file.partition].append(file)

    def ranged(files: Iterable[DataFile]) -> list[Range]:
        if by_rows is None:
            return ranges_of(files, keys)
        return sorted((by_rows[file.path] for file in files if file.path in by_rows), key=lambda each: each[:2])

    texts = tuple(key.text for key in keys)
    parts = by_partition.values()
    found = [group for part in parts for group in _groups_in(part, texts, ranged, target_bytes=target_bytes)]
    found.sort(key=lambda group: (-group.depth, group.bytes))
    return list(_within(found, ranged, most_bytes=most_bytes))


Ranged = Callable[[Iterable[DataFile]], list[Range]]
"""Returns the ranges of files with rows in the order of their keys."""


def _groups_in(
    files: Sequence[DataFile], texts: tuple[str, ...], ranged: Ranged, *, target_bytes: int
) -> Iterator[Group]:
    """Yield the groups of a partition: overlapping files with small files beside them, and small files alone."""
    empty = [file for file in files if file.rows == 0]
    small: list[DataFile] = empty
    for cluster in clusters(ranged(files)):
        members = [each.file for each in cluster]
        if len(members) == 1 and not members[0].deletes:
            if members[0].bytes * 2 < target_bytes:
                small.append(members[0])
                continue
        elif len(members) > 1 or members[0].deletes:
            depth = max(depths_at(cluster))
            reason = "overlap" if len(members) > 1 else "deletes"
            yield Group(id=new_id(), files=tuple(members), depth=depth, reason=reason, keys=texts)
        yield from _of_small(small, texts, target_bytes=target_bytes)
        small = []
    yield from _of_small(small, texts, target_bytes=target_bytes)


def _of_small(small: Sequence[DataFile], texts: tuple[str, ...], *, target_bytes: int) -> Iterator[Group]:
    """Yield a group of neighbouring small files if their rewrite leaves fewer."""
    expected = -(-sum(file.bytes for file in small) // target_bytes)
    if len(small) > max(expected, 1):
        yield Group(id=new_id(), files=tuple(small), depth=1, reason="small", keys=texts)


def within(groups: Iterable[Group], most_bytes: int | None, *, taken: Iterable[Group]) -> list[Group]:
    """Return the groups that fit beside those taken."""
    left, kept = most_bytes, []
    if left is not None:
        left -= sum(group.bytes for group in taken)
    for group in groups:
        if left is None or group.bytes <= left:
            kept.append(group)
            left = None if left is None else left - group.bytes
    return kept


def _within(groups: Iterable[Group], ranged: Ranged, *, most_bytes: int | None) -> Iterator[Group]:
    left = most_bytes
    for group in groups:
        if left is not None and group.bytes > left:
            group = _first_files(group, ranged, most_bytes=left)  # noqa: PLW2901  # the part that fits
        if len(group.files) > 1 or (group.files and group.reason == "deletes"):
            yield group
            left = None if left is None else left - group.bytes


def _first_files(group: Group, ranged: Ranged, *, most_bytes: int) -> Group:
    """Return the part of a group with the least keys that fits."""
    taken: list[Range] = []
    size = 0
    for each in ranged(group.files):
        size += each.file.bytes
        if size > most_bytes:
            break
        taken.append(each)
    depth = max(depths_at(taken), default=0)
    files = tuple(each.file for each in taken)
    return Group(id=group.id, files=files, depth=depth, reason=group.reason, keys=group.keys)
