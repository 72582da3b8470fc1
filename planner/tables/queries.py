"""Known queries of a table, and the bytes that they read before and after a sorted rewrite."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import InvalidOperation
from pathlib import Path
from typing import Any

from planner.errors import BadInputError, reading
from planner.tables.layout import DataFile, Group
from planner.tables.overlap import number_of


@dataclass(frozen=True, kw_only=True)
class Query:
    """A predicate `low <= column <= high`, None for no limit, and how often a day it is asked."""

    column: str
    low: str | None
    high: str | None
    per_day: float


@dataclass(frozen=True, kw_only=True)
class Scanned:
    """Bytes that the queries of a day read, as the table is and after the rewrite. `unknown` counts queries of columns
    without bounds, which read everything before and after.
    """

    queries: int
    unknown: int
    before_bytes: float
    after_bytes: float

    @property
    def saved_bytes(self) -> float:
        """Bytes that are no longer read."""
        return max(self.before_bytes - self.after_bytes, 0.0)


def read_queries(path: Path) -> list[Query]:
    """Return the queries of a CSV file with the heading column,low,high,count, or of JSON lines with these names.

    Raises BadInputError with all lines that are wrong.
    """
    with reading(path):
        text = path.read_text(encoding="utf-8")
    found, wrong = [], []
    for number, row in _rows(text, path):
        try:
            count = float(row.get("count") or 1)
            if not row.get("column") or not count > 0:
                raise ValueError
        except (TypeError, ValueError):
            wrong.append(f"line {number}: needs a column, and a count above 0")
            continue
        ends = (None if row.get(end) in (None, "") else str(row[end]) for end in ("low", "high"))
        found.append(Query(column=str(row["column"]), low=next(ends), high=next(ends), per_day=count))
    if wrong or not found:
        raise BadInputError(
            f"--queries {path}: no log of queries: CSV with the heading column,low,high,count, or JSON lines",
            wrong[:20],
            code="malformed",
        )
    return found


def _rows(text: str, path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if not text.lstrip().startswith("{"):
        yield from enumerate(csv.DictReader(text.splitlines()), start=2)
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError as error:
                raise BadInputError(f"--queries {path}: line {number} is no JSON", code="malformed") from error
            yield number, row if isinstance(row, dict) else {}


def scanned(
    files: Sequence[DataFile],
    groups: Iterable[Group],
    keys: Sequence[str],
    queries: Sequence[Query],
    *,
    target_bytes: int,
) -> Scanned:
    """Return what the queries read. After the rewrite of a group, a query by its first key reads the share of the
    group's bytes within its limits, and a file more: keys are taken to be evenly spread within each file.
    """
    first_key, in_groups = keys[0].split(":")[0], list(groups)
    rewritten = {file.path for group in in_groups for file in group.files}
    unknown = 0
    before = after = 0.0
    for query in queries:
        like = next((file.bounds[query.column][0] for file in files if query.column in file.bounds), None)
        if like is None:
            unknown += 1
            continue
        limits = _value(query.low, like), _value(query.high, like)
        read = {file.path: _share(file, query.column, limits) for file in files}
        whole = {file.path: file.bytes * (read[file.path] > 0) for file in files}
        now = float(sum(whole.values()))
        then = float(sum(size for path, size in whole.items() if path not in rewritten or query.column != first_key))
        if query.column == first_key:
            then += sum(_after(group, read, target_bytes=target_bytes) for group in in_groups)
        before += query.per_day * now
        after += query.per_day * min(then, now)
    return Scanned(queries=len(queries), unknown=unknown, before_bytes=before, after_bytes=after)


def _after(group: Group, read: Mapping[str, float], *, target_bytes: int) -> float:
    """Return the bytes of a sorted group that a query reads."""
    within = sum(file.bytes * read[file.path] for file in group.files)
    return min(within + min(target_bytes, group.bytes), group.bytes) if within else 0.0


def _share(file: DataFile, column: str, limits: tuple[Any, Any]) -> float:
    """Return the share of a file's rows that a query wants; 1 where unknown, 0 where the bounds exclude them."""
    if column not in file.bounds:
        return 1.0
    least, most = file.bounds[column]
    low, high = limits
    if (low is not None and most is not None and most < low) or (high is not None and least > high):
        return 0.0
    ends = [number_of(value) for value in (least, most, least if low is None else low, most if high is None else high)]
    if None in ends or ends[0] == ends[1]:
        return 1.0
    begin, end, first, last = (float(value) for value in ends if value is not None)
    return max((min(end, last) - max(begin, first)) / (end - begin), 1e-9)


def _value(text: str | None, like: Any) -> Any:
    """Return a limit as a value like a bound of the column, in UTC if it has no zone. Raises BadInputError."""
    if text is None:
        return None
    kind: Any = type(like)
    try:
        if kind is bool:
            return text.lower() in ("true", "1")
        if kind is bytes:
            return text.encode()
        if issubclass(kind, datetime):
            value = datetime.fromisoformat(text)
            return value.replace(tzinfo=value.tzinfo or UTC) if like.tzinfo else value.replace(tzinfo=None)
        return date.fromisoformat(text) if issubclass(kind, date) else kind(text)
    except (ValueError, TypeError, InvalidOperation) as error:
        raise BadInputError(
            f"--queries: {text!r} is no {kind.__name__}, as the column has", code="malformed"
        ) from error
