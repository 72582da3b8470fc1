"""Parquet files of tables: footers, statistics, and rows by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from planner.errors import BadInputError
from planner.sorting.tables.arrow_library import arrow

_FIELD_ID: Final = b"PARQUET:field_id"


def leaf_statistics(footer: Any) -> Iterator[tuple[tuple[str, ...], int | None, tuple[Any, Any] | None]]:
    """Yield the names, nulls and bounds of each leaf outside lists and maps, over all row groups of a footer; unknown
    nulls and bounds are None.
    """
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    for place in range(footer.num_columns):
        leaf = footer.schema.column(place)
        if leaf.max_repetition_level:
            continue
        found = [statistics for group in groups if (statistics := group.column(place).statistics) is not None]
        is_whole = len(found) == len(groups) and all(each.has_null_count for each in found)
        nulls = sum(each.null_count for each in found) if is_whole else None
        above = leaf.path.removesuffix(leaf.name).removesuffix(".")  # the name itself may have dots
        yield (*(above.split(".") if above else ()), leaf.name), nulls, _bounds(groups, found, place)


def _bounds(groups: Sequence[Any], found: Sequence[Any], place: int) -> tuple[Any, Any] | None:
    if len(found) < len(groups):
        return None
    filled = [
        each
        for group, each in zip(groups, found, strict=True)
        if not (each.has_null_count and each.null_count == group.column(place).num_values)
    ]
    if not filled or not all(each.has_min_max for each in filled):
        return None
    try:
        return min(each.min for each in filled), max(each.max for each in filled)
    except (TypeError, ValueError, OverflowError, NotImplementedError, arrow().ArrowException):
        return None  # such as a date that Python does not have


def shape(of: Any, *, ids: bool) -> Any:
    """Return what two types or schemas must share for the same values to be in both: names and kinds, and with `ids`
    those of the fields; not the sizes of offsets, nor whether nulls may be.
    """
    types = arrow("pyarrow.types")
    if isinstance(of, arrow().Schema):
        return {field.name: _field_shape(field, ids=ids) for field in of}
    if types.is_map(of):
        return ("map", _field_shape(of.key_field, ids=ids)[1:], _field_shape(of.item_field, ids=ids)[1:])
    if types.is_list(of) or types.is_large_list(of) or types.is_list_view(of):
        return ("list", _field_shape(of.value_field, ids=ids)[1:])
    if types.is_struct(of):
        return ("struct", *(_field_shape(of.field(number), ids=ids) for number in range(of.num_fields)))
    return str(of).removeprefix("large_").removesuffix("_view")


def _field_shape(field: Any, *, ids: bool) -> tuple[str, Any, Any]:
    number = (field.metadata or {}).get(_FIELD_ID) if ids else None
    return field.name, number, shape(field.type, ids=ids)


def rows_by_name(path: Path, schema: Any, *, shown: str) -> Iterator[Any]:
    """Yield the rows of a file in a schema: columns by name, absent ones null, others widened. Raises BadInputError for
    values that the schema does not hold.
    """
    library = arrow()
    with arrow("pyarrow.parquet").ParquetFile(path, pre_buffer=False) as file:
        present = [name for name in file.schema_arrow.names if name in schema.names]
        for batch in file.iter_batches(1 << 16, columns=present):
            columns = [
                cast_values(batch.column(field.name), field.type, shown=f"{shown}, column {field.name!r}")
                if field.name in batch.schema.names
                else library.nulls(batch.num_rows, field.type)
                for field in schema
            ]
            yield library.RecordBatch.from_arrays(columns, schema=schema)


def cast_values(values: Any, value_type: Any, *, shown: str) -> Any:
    """Return values as another type. Raises BadInputError."""
    try:
        return values if values.type == value_type else values.cast(value_type)
    except arrow().ArrowException as error:
        raise BadInputError(f"{shown}: {error}", code="unlike-columns") from error
