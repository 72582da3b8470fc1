"""Common schema of Parquet files sorted into one: columns matched by name, regardless of their writers' hints.

Arrow adds hints to a Parquet schema: whether text has long offsets, is a view or has a dictionary. They are not part of
the file's contents, and neither is the order of columns. Numbers of different widths get the type that holds both, as
in DuckDB and pyarrow; times of different units likewise. 96-bit times, as Spark and Impala write them, have no unit:
pyarrow reads them in nanoseconds, which end in 2262, or in microseconds. GeoParquet's description of geometries (`geo`
in a footer) is united.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from planner.errors import BadInputError
from planner.sorting.tables.arrow_library import arrow
from planner.sorting.tables.table_keys import has_categories
from planner.sorting.tables.table_rows import numbers_of

_PER_MICROSECOND: Final = 1000
_MOST_MICROSECONDS: Final = (2**63 - 1) // _PER_MICROSECOND
"""Greatest number of microseconds that nanoseconds can also represent."""
_DIGITS: Final = {8: 3, 16: 5, 32: 10, 64: 20}
"""Digits of the longest integer, by its size in bits."""


def without_row_numbers(schema: Any) -> Any:
    """Return the schema without a RangeIndex of pandas: no column holds it, and it would label sorted rows by place."""
    try:
        of_pandas = {**schema.pandas_metadata}
        columns = [label for label in of_pandas["index_columns"] if not isinstance(label, dict)]
    except (ValueError, TypeError, KeyError):  # nothing that pandas wrote
        return schema
    if columns == of_pandas["index_columns"]:
        return schema
    metadata = json.dumps(of_pandas | {"index_columns": columns}).encode()
    return schema.with_metadata({**schema.metadata, b"pandas": metadata})


def united_schema(schemas: Sequence[Any], names: Sequence[str], *, fills: bool = False) -> Any:
    """Return the schema for reading files of these names: the first one's, if all are alike.

    Raises BadInputError for columns whose types do not match, and, unless it `fills` them with nulls, for columns
    missing in another file.
    """
    united = first = schemas[0]
    for schema, path in zip(schemas[1:], names[1:], strict=True):
        if schema.equals(united):
            continue
        is_unclear = any(len(set(one.names)) < len(one.names) for one in (schema, first))
        if is_unclear or (sorted(schema.names) != sorted(united.names) and not fills):
            advice = ["--union-by-name puts nulls in their places"]
            raise BadInputError(
                _differ(path, names[0]), _names_that_differ(schema, first) + advice, code="schema-mismatch"
            )
        fields = [_united(field, schema.field(field.name)) if field.name in schema.names else field.with_nullable(True)
                  for field in united]  # fmt: skip
        if wrong := [field.name for field, both in zip(united, fields, strict=True) if both is None]:
            lines = [
                f"column {column}: {schema.field(column).type}, not {united.field(column).type}" for column in wrong
            ]
            raise BadInputError(_differ(path, names[0]), lines, code="schema-mismatch")
        more = [field.with_nullable(True) for field in schema if field.name not in united.names]
        united = arrow().schema([*fields, *more], metadata=first.metadata)
    geo = united_geo([(schema.metadata or {}).get(b"geo") for schema in schemas], names)
    return united if geo is None else united.with_metadata({**united.metadata, b"geo": geo})


def _differ(name: str, first: str) -> str:
    return f"{name}: its columns are not those of {first}; schemas must be equal"


def _names_that_differ(schema: Any, first: Any) -> list[str]:
    lines = [f"column {name} is missing" for name in first.names if name not in schema.names]
    return lines + [f"column {name} is one more" for name in schema.names if name not in first.names]


def _united(one: Any, other: Any) -> Any:
    """Return a field that holds the values of both; None if they differ by more than hints."""
    nullable = one.nullable or other.nullable
    if one.type == other.type:
        return one.with_nullable(nullable)
    common = _wider_type(_plain_type(one.type), _plain_type(other.type))
    return common and one.with_type(common).with_nullable(nullable)


def _wider_type(one: Any, other: Any) -> Any:
    """Return the type that holds the values of both; None if there is none.

    A column without values may have the null type, as pandas writes it. Times get the finer unit.
    """
    library, types = arrow(), arrow("pyarrow.types")
    both = (one, other)
    if one == other:
        return one
    if any(map(types.is_null, both)):
        value_type = other if types.is_null(one) else one
        return None if has_categories(value_type) else value_type
    if all(map(types.is_list, both)):
        item = _wider_type(one.value_type, other.value_type)
        return item and library.list_(item)
    if all(map(types.is_struct, both)) and [field.name for field in one] == [field.name for field in other]:
        fields = [(mine.name, _wider_type(mine.type, its.type)) for mine, its in zip(one, other, strict=True)]
        return None if any(value_type is None for _, value_type in fields) else library.struct(fields)
    kinds = (types.is_timestamp, types.is_time, types.is_duration)
    if any(all(map(kind, both)) for kind in kinds):
        return _unified(one, other)
    return _wider_number(one, other)


def _wider_number(one: Any, other: Any) -> Any:
    """Return the type that holds the numbers of both; None for other types, and for decimals with floats.

    A value that the type cannot hold, such as an integer beyond 2**53 with doubles, is refused when it is read.
    """
    types = arrow("pyarrow.types")
    both = (one, other)
    floats, decimals = (any(map(kind, both)) for kind in (types.is_floating, types.is_decimal))
    are_numbers = all(types.is_integer(each) or types.is_floating(each) or types.is_decimal(each) for each in both)
    if not are_numbers or (floats and decimals):
        return None
    if decimals and any(map(types.is_integer, both)):  # pyarrow requires room for all integers of a type
        both = tuple(each if types.is_decimal(each) else arrow().decimal128(_DIGITS[each.bit_width]) for each in both)
    return _unified(*both)


def _unified(one: Any, other: Any) -> Any:
    library = arrow()
    schemas = [library.schema([("value", each)]) for each in (one, other)]
    try:
        return library.unify_schemas(schemas, promote_options="permissive").field("value").type
    except (library.ArrowInvalid, library.ArrowTypeError):  # too many digits for a decimal, or only one has a zone
        return None


def _plain_type(value_type: Any) -> Any:
    """Return the type without hints."""
    library, types = arrow(), arrow("pyarrow.types")
    if types.is_dictionary(value_type) and not has_categories(value_type):
        return _plain_type(value_type.value_type)
    if types.is_large_string(value_type) or types.is_string_view(value_type):
        return library.string()
    if types.is_large_binary(value_type) or types.is_binary_view(value_type):
        return library.binary()
    if types.is_timestamp(value_type) and value_type.tz is not None:
        return library.timestamp(value_type.unit, "UTC")  # Parquet stores instants without a zone
    if types.is_list(value_type) or types.is_large_list(value_type):
        return library.list_(_plain_type(value_type.value_type))
    if types.is_struct(value_type):
        return library.struct([(field.name, _plain_type(field.type)) for field in value_type])
    return value_type


def with_folders(schema: Any, columns: Mapping[str, Any]) -> Any:
    """Return a schema with the columns from folders that the file lacks."""
    for name, value in columns.items():
        if name not in schema.names:
            schema = schema.append(arrow().field(name, value.type))
    return schema


def conforming(
    schema: Any, wanted: Any, columns: Mapping[str, Any] | None = None, *, path: str
) -> Callable[[Any], Any]:
    """Return a function that converts record batches of one file's schema to the united schema.

    Columns missing in a batch come from the `columns` that folders add, else they are null. The function raises
    BadInputError for a number that the other type does not hold.
    """
    if schema.equals(wanted):
        return lambda batch: batch
    library, constants = arrow(), columns or {}

    def column(batch: Any, field: Any) -> Any:
        if field.name in schema.names:
            return _converted(batch.column(field.name), field, path)
        if field.name in constants:
            return library.repeat(constants[field.name], batch.num_rows)
        return library.nulls(batch.num_rows, field.type)

    def conform(batch: Any) -> Any:
        return library.RecordBatch.from_arrays([column(batch, field) for field in wanted], schema=wanted)

    return conform


def _converted(column: Any, field: Any, path: str) -> Any:
    if column.type == field.type:
        return column
    try:
        return column.cast(field.type)
    except arrow().ArrowInvalid as error:
        raise BadInputError(
            f"{path}: column {field.name} has a number that {field.type} does not hold, as which other files have it",
            [str(error), "write the column with one type in all files"],
            code="number-does-not-fit",
        ) from error


def require_no_interval(column: str, intervals: Sequence[str]) -> None:
    """Raise BadInputError for a key that is or contains an interval: pyarrow reads intervals as bytes, which do not
    sort in the order of the intervals.
    """
    for leaf in intervals:
        if f"{leaf}.".startswith(f"{column}."):
            raise BadInputError(
                f"key {column}: column {leaf!r} is of type interval, which has no order", code="no-order"
            )


def interval_leaves(metadata: Any) -> list[str]:
    """Return the leaves that hold intervals."""
    leaves = [metadata.schema.column(number) for number in range(metadata.num_columns)]
    return [leaf.path for leaf in leaves if leaf.converted_type == "INTERVAL"]


def int96_leaves(metadata: Any) -> list[str]:
    """Return the leaves that hold 96-bit times."""
    leaves = [metadata.schema.column(number) for number in range(metadata.num_columns)]
    return [leaf.path for leaf in leaves if leaf.physical_type == "INT96"]


def int96_unit(files: Mapping[str, Callable[[str], Iterable[Any]]]) -> str:
    """Return `ns` if it holds all 96-bit times, else `us`; each file is read in either unit, in batches.

    Raises BadInputError that names the file at which neither unit holds all.
    """
    is_far = is_fine = False
    for path, batches in files.items():
        far, fine = int96_needs(batches)
        is_far, is_fine = is_far or far, is_fine or fine
        if is_far and is_fine:
            raise BadInputError(
                f"{path}: Arrow has no type for times beyond 2262 and others finer than a microsecond",
                ["write times as timestamps of 64 bits, in microseconds"],
                code="unsupported-type",
            )
    return "us" if is_far else "ns"


def int96_needs(batches: Callable[[str], Iterable[Any]]) -> tuple[bool, bool]:
    """Return whether times are outside the range of nanoseconds, and whether they are finer than microseconds."""
    is_far = is_fine = False
    for in_ns, in_us in zip(batches("ns"), batches("us"), strict=True):
        for nanoseconds, microseconds in zip(_times(in_ns), _times(in_us), strict=True):
            is_far |= bool((np.abs(microseconds) > _MOST_MICROSECONDS).any())
            is_fine |= bool((microseconds * _PER_MICROSECOND != nanoseconds).any())  # both overflow alike
    return is_far, is_fine


def _times(batch: Any) -> Iterator[Any]:
    """Yield the times of all leaves as numbers."""
    waiting = list(batch.columns)
    while waiting:
        column = waiting.pop()
        if arrow("pyarrow.types").is_nested(column.type):
            waiting += column.flatten() if arrow("pyarrow.types").is_struct(column.type) else [_items(column)]
        elif arrow("pyarrow.types").is_timestamp(column.type):
            yield numbers_of(column.drop_null().cast("int64"))


def _items(column: Any) -> Any:
    """Return the values of lists, or the keys and values of maps in structs."""
    if arrow("pyarrow.types").is_map(column.type):
        return column.cast(arrow().list_(arrow().struct([column.type.key_field, column.type.item_field]))).flatten()
    return column.flatten()


_USUAL: Final[dict[str, Any]] = {"crs": {"authority": "OGC", "code": "CRS84"}, "edges": "planar"}
"""Meaning of fields that are missing."""
_SYSTEM: Final = ("encoding", "crs", "edges", "epoch")
"""Fields without which coordinates mean something else."""
_TYPES: Final = "geometry_types"


def united_geo(values: Sequence[bytes | None], names: Sequence[str]) -> bytes | None:
    """Return the first file's description, true of the rows of all files: the box of one would hide the others' rows.

    Fields that differ are left out, and types are those of all files, or unknown. Raises BadInputError for coordinates
    of unlike systems.
    """
    first = _columns(values[0])
    if first is None or all(value == values[0] for value in values):
        return values[0]
    others = [_columns(value) or {} for value in values[1:]]
    columns = {}
    for column, about in first.items():
        same = [other.get(column, {}) for other in others]
        for name, other in zip(names[1:], same, strict=True):
            _require_one_system(column, about, other, name=name, first=names[0])
        columns[column] = _common(about, same)
    return json.dumps(json.loads(values[0] or b"") | {"columns": columns}).encode()


def _columns(value: bytes | None) -> dict[str, dict[str, Any]] | None:
    """Return what is said about each column; None if this is no GeoParquet."""
    try:
        columns = json.loads(value or b"")["columns"]
    except (ValueError, TypeError, KeyError):
        return None
    is_geo = isinstance(columns, dict) and all(isinstance(about, dict) for about in columns.values())
    return columns if is_geo else None


def _require_one_system(
    column: str, one: Mapping[str, Any], other: Mapping[str, Any], *, name: str, first: str
) -> None:
    for field in _SYSTEM if other else ():
        if _meaning(one, field) != _meaning(other, field):
            raise BadInputError(
                f"{name}: its geometries in {column} have another {field} than those of {first}",
                ["bring the coordinates of all files to one system first"],
                code="mixed-coordinates",
            )


def _meaning(about: Mapping[str, Any], field: str) -> Any:
    value = about.get(field, _USUAL.get(field))
    return value.get("id", value) if isinstance(value, dict) else value


def _common(about: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    every = [about, *others]
    kept = {
        field: value
        for field, value in about.items()
        if field in _SYSTEM or all(other.get(field) == value for other in others)
    }
    types = [each.get(_TYPES) for each in every]
    known = sorted({kind for each in types for kind in each or ()}) if all(types) else []
    return kept | {_TYPES: known}
