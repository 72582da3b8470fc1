"""JSON lines as Arrow tables: one object a line, its members the columns.

Texts stay texts, also those that look like times. A whole number that no column of its type holds exactly is refused:
pyarrow itself would round it. Sorted into JSON lines again, each line stays as it is, byte for byte.
"""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

from planner.errors import BadInputError
from planner.sorting.tables.arrow_library import arrow
from planner.sorting.tables.table_keys import with_leaves

_BLOCK_BYTES: Final = 8 << 20
_PARSED_BYTES: Final = 1 << 20
"""What a thread of pyarrow parses at a time."""
_MOST_EXACT: Final = 2.0**53
"""Whole numbers up to here are exact as doubles. Those beyond are read one by one, as pyarrow would round them."""
LINE: Final = "\0line"
"""The column of whole lines: no member is called so."""


class JsonLines(NamedTuple):
    """Some lines: a table of their `members`, an array of the lines without ends, and the `names` of all members."""

    members: Any
    lines: Any
    names: Sequence[str]


def read_json_lines(
    chunks: Iterable[bytes], *, path: str, wanted: Collection[str] | None = None
) -> Iterator[JsonLines]:
    """Yield the lines that are not blank, with all their members or those that are `wanted`. Raises BadInputError that
    names the line.
    """
    number = 1
    for block in _blocks(chunks):
        every = block.removesuffix(b"\n").split(b"\n")
        lines = [line for line in every if line.strip()]
        if lines:
            if (table := _table(lines)) is None:
                table, names = _read_one_by_one(every, path=path, number=number, wanted=wanted)
            else:
                names = table.schema.names
                table = table.select([name for name in names if wanted is None or name in wanted])
            yield JsonLines(table, arrow().array(lines, arrow().binary()), names)
        number += len(every)


def _blocks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield whole lines, some megabytes at a time."""
    waiting: list[bytes] = []
    size = 0
    for chunk in chunks:
        waiting.append(chunk)
        size += len(chunk)
        if size >= _BLOCK_BYTES and b"\n" in chunk:
            whole, end, rest = b"".join(waiting).rpartition(b"\n")
            yield whole + end
            waiting, size = [rest], len(rest)
    if last := b"".join(waiting):
        yield last


def _table(lines: Sequence[bytes]) -> Any:
    """Return the objects as pyarrow reads them; None where it cannot, or would round numbers."""
    library, content = arrow("pyarrow.json"), b"\n".join(lines)
    read = library.ReadOptions(block_size=_PARSED_BYTES)
    try:
        table = library.read_json(io.BytesIO(content), read_options=read)
        if (plain := _with_texts(table.schema)) != table.schema:
            parse = library.ParseOptions(explicit_schema=plain)
            table = library.read_json(io.BytesIO(content), read_options=read, parse_options=parse)
    except (arrow().ArrowException, UnicodeDecodeError):
        return None
    is_exact = table.num_rows == len(lines) and all(_largest(column) < _MOST_EXACT for column in table.columns)
    return table if is_exact else None


def _largest(values: Any) -> float:
    """Return the largest double among values, also in lists and structs."""
    types, compute = arrow("pyarrow.types"), arrow("pyarrow.compute")
    if types.is_struct(values.type):
        fields = (compute.struct_field(values, number) for number in range(values.type.num_fields))
        return max((_largest(field) for field in fields), default=0.0)
    if types.is_list(values.type):
        return _largest(compute.list_flatten(values))
    largest = compute.max(compute.abs(values)).as_py() if types.is_floating(values.type) else None
    return largest or 0.0


def _with_texts(schema: Any) -> Any:
    """Return a schema with texts in place of the times that pyarrow made of them."""
    library, is_time = arrow(), arrow("pyarrow.types").is_timestamp
    types = [with_leaves(of, lambda leaf: library.string() if is_time(leaf) else leaf) for of in schema.types]
    return library.schema(list(zip(schema.names, types, strict=True)))


_AS_LINES: Final = "each line is an object: jq -c '.[]' makes lines of an array, jq -c . of objects over several lines"


def _read_one_by_one(
    every: Sequence[bytes], *, path: str, number: int, wanted: Collection[str] | None
) -> tuple[Any, list[str]]:
    rows = []
    for place, line in enumerate(every, number):
        if not line.strip():
            continue
        hints = [_AS_LINES] if line.strip()[:1] == b"[" or line.strip() == b"{" else []
        try:
            row = json.loads(line.removeprefix(b"\xef\xbb\xbf"), parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            raise BadInputError(f"{path}: line {place} is no JSON: {error}", hints, code="not-json") from error
        if not isinstance(row, dict):
            text = f"{path}: line {place} is no JSON object, whose members are columns"
            raise BadInputError(text, hints, code="not-json")
        rows.append(row)
    names = list(dict.fromkeys(chain(*rows)))
    taken = [name for name in names if wanted is None or name in wanted]
    columns = {name: _column(name, [row.get(name) for row in rows], path=path, number=number) for name in taken}
    return arrow().table({"": arrow().nulls(len(rows)), **columns}).select(taken), names


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _column(name: str, values: list[Any], *, path: str, number: int) -> Any:
    try:
        return arrow().array(values)
    except (arrow().ArrowException, OverflowError) as error:
        raise BadInputError(
            f"{path}: values of {name!r} from line {number} on have no common type: {error}",
            ["write them with one type; a number of more than 64 bits as text"],
            code="mixed-types",
        ) from error
