"""Columns of Arrow tables as keys, with one order for all table sorts.

NaN is greater than all numbers, -0.0 equals 0.0, strings compare as bytes. Nulls come last unless a key specifies
first, in either direction. pyarrow puts NaN next to nulls and has one place for the nulls of all keys, so each key
becomes up to three columns that pyarrow sorts correctly: whether it is null, whether it is NaN, and the value. pyarrow
cannot take values of text views, which Polars has, so these become texts. Ordered categories become their ranks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cmp_to_key
from graphlib import CycleError, TopologicalSorter
from itertools import chain, pairwise
from typing import Any, NamedTuple

from planner.errors import BadInputError
from planner.sorting.column_keys import NamedColumn, parse_columns
from planner.sorting.tables.arrow_library import arrow

_ORDERED_EXTENSIONS = ("arrow.uuid", "arrow.json")
"""Extension types ordered like the bytes and texts that store them."""
_POLARS_CATEGORIES = b"_PL_ENUM_VALUES"
_MOST_SHORT_BYTES = 2**31 - 1


class ColumnKey(NamedTuple):
    """A column by its index, and its order; `categories` in their order, for a column that has them.

    In natural order the numbers within texts compare by value: chr2 comes before chr10. With `fold` small letters
    compare as large ones.
    """

    column: int
    descending: bool = False
    nulls_first: bool = False
    categories: Any = None
    natural: bool = False
    fold: bool = False
    path: tuple[int, ...] = ()
    """Of a field within a struct, its place there, from the outermost struct on."""


class KeyColumn(NamedTuple):
    """A column that sorts as part of a key; its nulls are equal."""

    values: Any
    descending: bool


def parse_table_keys(texts: Sequence[str], schema: Any) -> list[ColumnKey]:
    """Return the keys of a schema, as of CSV; a field of a struct is `STRUCT.FIELD`. Raises BadInputError."""
    if not texts:
        raise BadInputError("say which columns to sort by: --key NAME", code="missing-key")
    if not schema.names:
        raise BadInputError(f"there is no column {texts[0]}: the table has no columns at all", code="no-columns")
    fields = list(enumerate(schema))
    found: list[tuple[str, tuple[int, ...]]] = [(field.name, (number,)) for number, field in fields]
    within = [each for number, field in fields for each in _fields_within(field, field.name, (number,))]
    found += [(name, place) for name, place in within if name not in schema.names]
    keys = []
    for key in parse_columns(texts, [name for name, _ in found], columns=len(schema.names)):
        column, *path = found[key.column][1]
        field = _field_at(schema.field(column), path)
        if path and has_categories(field.type):
            raise BadInputError(f"--key {key.text}: ordered categories within a struct are no key", code="no-order")
        _require_kind(field, key)
        made = ColumnKey(column, key.descending, key.empties_first, path=tuple(path))
        keys.append(made._replace(natural=key.kind == "natural", fold=key.kind == "fold"))
    return keys


def _fields_within(field: Any, name: str, place: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the fields of a struct, and theirs, by their names and places."""
    for number, inner in enumerate(field.type if arrow("pyarrow.types").is_struct(field.type) else ()):
        yield f"{name}.{inner.name}", (*place, number)
        yield from _fields_within(inner, f"{name}.{inner.name}", (*place, number))


def _field_at(field: Any, path: Sequence[int]) -> Any:
    for number in path:
        field = field.type.field(number)
    return field


def _require_kind(field: Any, key: NamedColumn) -> None:
    """Raise BadInputError for a column without an order, or without values of the kind that its key says."""
    _require_order(field, key.text)
    types = arrow("pyarrow.types")
    if key.kind == "bytes":
        return
    sorted_as = arrow().null() if types.is_struct(field.type) else _comparable_type(field, key.text)
    if key.kind in ("natural", "fold"):
        if sorted_as in _text_types():
            return
        raise BadInputError(
            f"--key {key.text}: column {field.name!r} is no text; leave out :{key.kind}", code="not-text"
        )
    value_type = field.type.value_type if types.is_dictionary(field.type) else field.type
    if key.kind == "date" and types.is_temporal(value_type):
        return
    if key.kind == "date" and sorted_as in _text_types():
        hint = "2026-12-31 sorts as text, without :date; for other formats keep CSV: OUTPUT.csv"
        raise BadInputError(f"--key {key.text}: dates in text are keys of CSV alone", [hint], code="wrong-kind")
    is_whole = types.is_integer(value_type)
    is_number = is_whole or types.is_floating(value_type) or types.is_decimal(value_type)
    if not (is_whole if key.kind == "int" else is_number):
        raise BadInputError(
            f"--key {key.text}: column {field.name!r} is of type {field.type}, which has its own order; leave out"
            f" :{key.kind}",
            code="wrong-kind",
        )


def key_columns(table: Any, keys: Sequence[ColumnKey], *, all_parts: bool = False) -> list[KeyColumn]:
    """Return the columns by which a table is sorted; columns without effect are included only with `all_parts`."""
    parts: list[KeyColumn] = []
    for key in keys:
        values, field = table.column(key.column), table.schema.field(key.column)
        for number in key.path:
            values, field = _field_of(values, number), field.type.field(number)
        parts += _parts_of(values, field, key, all_parts=all_parts)
    return parts


def _parts_of(values: Any, field: Any, key: ColumnKey, *, all_parts: bool) -> list[KeyColumn]:
    """Return the sort columns of a column; a struct sorts by its fields in order."""
    compute, types = arrow("pyarrow.compute"), arrow("pyarrow.types")
    if types.is_struct(values.type):
        fields = [
            _parts_of(_field_of(values, number), field.type.field(number), key, all_parts=all_parts)
            for number in range(field.type.num_fields)
        ]
        return [*_null_part(values, key, all_parts=all_parts), *chain.from_iterable(fields)]
    if types.is_run_end_encoded(values.type):
        values = compute.run_end_decode(values)
    if types.is_dictionary(values.type):
        values = dictionary_without_views(values)
    if key.categories is not None:
        values = _category_codes(values, key.categories, name=field.name)
    else:
        values = compute.ascii_upper(values.cast(arrow().large_string())) if key.fold else values
        values = values.cast(_type_for(values, field))
        values = _natural(values) if key.natural else values
    parts = _null_part(values, key, all_parts=all_parts)
    if types.is_floating(values.type):
        is_nan = compute.is_nan(values).fill_null(False)
        if all_parts or compute.any(is_nan).as_py():
            parts.append(KeyColumn(is_nan.cast("uint8"), key.descending))
            values = compute.if_else(is_nan, arrow().scalar(None, values.type), values)
        values = compute.add(values, arrow().scalar(0, values.type))  # -0.0 becomes 0.0
    return [*parts, KeyColumn(values, key.descending)]


def _text_types() -> tuple[Any, Any]:
    return arrow().binary(), arrow().large_binary()


def _natural(values: Any) -> Any:
    """Return keys that compare as the texts do in natural order."""
    from planner.native import core

    library = arrow()
    chunks = []
    for chunk in values.cast(library.large_binary()).chunks if hasattr(values, "chunks") else [values]:
        validity, offsets, texts = chunk.buffers()
        of_chunk = offsets.slice(chunk.offset * 8, (len(chunk) + 1) * 8)
        made = map(library.py_buffer, core.natural_keys(of_chunk, texts or b""))
        keys = library.LargeBinaryArray.from_buffers(library.large_binary(), len(chunk), [None, *made])
        compute = arrow("pyarrow.compute")
        chunks.append(compute.if_else(chunk.is_valid(), keys, None) if validity else keys)
    return library.chunked_array(chunks, library.large_binary())


def _null_part(values: Any, key: ColumnKey, *, all_parts: bool) -> list[KeyColumn]:
    return [KeyColumn(values.is_null().cast("uint8"), key.nulls_first)] if all_parts or values.null_count else []


def _field_of(structs: Any, number: int) -> Any:
    """Return the values of a field, null where the struct is null."""
    return arrow().chunked_array([chunk.flatten()[number] for chunk in structs.chunks], structs.type.field(number).type)


def has_categories(value_type: Any) -> bool:
    """Return whether values sort by their categories, as ordered categoricals of pandas and Enum of Polars do."""
    return bool(arrow("pyarrow.types").is_dictionary(value_type) and value_type.ordered)


def with_categories(keys: Sequence[ColumnKey], table: Any) -> list[ColumnKey]:
    """Return the keys with the ordered categories of the columns of a table."""
    return [
        key._replace(categories=_categories(table.schema.field(key.column), table.column(key.column)))
        if has_categories(table.schema.field(key.column).type)
        else key
        for key in keys
    ]


def common_categories(name: str, dictionaries: Iterable[Any]) -> Any:
    """Return all categories in the one order that agrees with every dictionary. Raises BadInputError if there is none,
    or several: a sort invents no order.
    """
    orders = {tuple(value for value in dictionary.to_pylist() if value is not None) for dictionary in dictionaries}
    before = TopologicalSorter[Any]({value: () for order in orders for value in order})
    for one, other in chain.from_iterable(map(pairwise, orders)):
        before.add(other, one)
    categories: list[Any] = []
    try:
        before.prepare()
        while before.is_active() and len(ready := before.get_ready()) == 1:
            before.done(*ready)
            categories += ready
    except CycleError:
        categories = []
    if len(categories) < len(set(chain.from_iterable(orders))):
        shown = sorted(" < ".join(map(str, order[:9])) for order in orders)[:9]
        raise BadInputError(
            f"column {name!r}: its ordered categories have no common order; cast it to text first",
            shown,
            code="mixed-categories",
        )
    return categories


def hold_categories(value_type: Any) -> bool:
    """Return whether values hold ordered categories in lists, structs or maps."""
    within = [value_type.field(number).type for number in range(value_type.num_fields)]
    return any(has_categories(inner) or hold_categories(inner) for inner in within)


def require_one_order_within(name: str, columns: Iterable[Any]) -> None:
    """Raise BadInputError if the ordered categories in a column's lists, structs or maps are in several orders: pyarrow
    would join them into one that no file has.
    """
    orders: dict[str, set[tuple[Any, ...]]] = defaultdict(set)
    for column in columns:
        for where, dictionary in _dictionaries_within(column, name):
            orders[where].add(tuple(dictionary.to_pylist()))
    for where, several in orders.items():
        if len(several) > 1:
            shown = sorted(" < ".join(map(str, order[:9])) for order in several)[:9]
            raise BadInputError(
                f"column {where!r}: its ordered categories differ; cast them to text first",
                shown,
                code="mixed-categories",
            )


def _dictionaries_within(column: Any, name: str) -> Iterator[tuple[str, Any]]:
    if has_categories(column.type):
        yield name, column.dictionary
    elif arrow("pyarrow.types").is_struct(column.type):
        for number, field in enumerate(column.type):
            yield from _dictionaries_within(column.field(number), f"{name}.{field.name}")
    elif arrow("pyarrow.types").is_map(column.type):
        yield from _dictionaries_within(column.keys, f"{name}.key")
        yield from _dictionaries_within(column.items, f"{name}.value")
    elif hasattr(column, "values"):
        yield from _dictionaries_within(column.values, f"{name}.element")


def with_one_order(table: Any, orders: Mapping[str, Any] | None = None) -> Any:
    """Return a table or record batch whose ordered categories are in one order: as given by column, or a common one.
    Raises BadInputError as `common_categories`.
    """
    for number, field in enumerate(table.schema):
        if orders is None and hold_categories(field.type):
            require_one_order_within(field.name, table.column(number).chunks)
        if not has_categories(field.type) or (orders is not None and field.name not in orders):
            continue
        column = table.column(number)
        chunks = column.chunks if hasattr(column, "chunks") else [column]
        listed = [chunk.dictionary for chunk in chunks]
        categories = common_categories(field.name, listed) if orders is None else orders[field.name]
        plain = without_views(field.type)
        wanted = arrow().array(categories, plain.value_type)
        if all(dictionary.cast(plain.value_type).equals(wanted) for dictionary in listed):
            continue
        codes = _category_codes(arrow().chunked_array(chunks, type=field.type), wanted, name=field.name)
        made = [
            arrow().DictionaryArray.from_arrays(chunk.cast(plain.index_type), wanted, ordered=True).cast(field.type)
            for chunk in codes.chunks
        ]
        new = made[0] if column is chunks[0] else arrow().chunked_array(made, type=field.type)
        table = table.set_column(number, field, new)
    return table


def stored_categories(field: Any) -> Any:
    """Return the categories that Polars stores with a column; None if there are none."""
    texts = (text for name, text in (field.metadata or {}).items() if name.startswith(_POLARS_CATEGORIES))
    return next((arrow().array(_parse_polars(text)) for text in texts), None)


def _categories(field: Any, column: Any) -> Any:
    """Return the categories that Polars stores with a column, or the longest dictionary."""
    if (stored := stored_categories(field)) is not None:
        return stored
    plain = without_views(field.type.value_type)
    none = arrow().array([], field.type.value_type)
    return max((chunk.dictionary for chunk in column.chunks), key=len, default=none).cast(plain)


def _parse_polars(text: bytes) -> list[str]:
    """Return texts stored as `3;low4;high`: each after its length in bytes."""
    values = []
    while text:
        size, _, rest = text.partition(b";")
        values.append(rest[: int(size)].decode())
        text = rest[int(size) :]
    return values


def _category_codes(column: Any, categories: Any, *, name: str) -> Any:
    """Return the rank of each value among the categories. Raises BadInputError for a value that is not among them."""
    compute, library = arrow("pyarrow.compute"), arrow()
    chunks = []
    for chunk in column.chunks:
        places = compute.index_in(chunk.dictionary.cast(categories.type), categories)
        if named := [value for value, place in zip(chunk.dictionary, places, strict=True) if not place.is_valid]:
            raise BadInputError(
                f"column {name!r}: {named[0]} is not among its first categories; cast it to text first",
                code="unknown-category",
            )
        chunks.append(places.take(chunk.indices))
    return library.chunked_array(chunks, type=library.int32())


def _type_for(values: Any, field: Any) -> Any:
    """Return the type to sort a column as: with long offsets where short ones cannot count its bytes."""
    value_type = _comparable_type(field, "")
    is_long = arrow("pyarrow.types").is_binary(value_type) and values.nbytes > _MOST_SHORT_BYTES
    return arrow().large_binary() if is_long else value_type


def row_key(parts: Sequence[KeyColumn], row: int) -> Any:
    """Return a row's key as a value that compares in sort order."""
    descending = [part.descending for part in parts]

    def compare(a: tuple[Any, ...], b: tuple[Any, ...]) -> int:
        for x, y, falls in zip(a, b, descending, strict=True):
            if x != y:
                return -1 if (x < y) != falls else 1
        return 0

    return cmp_to_key(compare)(tuple(part.values[row].as_py() for part in parts))


def first_of_equals(parts: Sequence[KeyColumn], rows: int) -> Any:
    """Return for each row of a sorted table whether its key differs from the previous row's; true for the first."""
    compute, library = arrow("pyarrow.compute"), arrow()
    differs = library.array([False] * max(rows - 1, 0), library.bool_())
    for part in parts:
        values = part.values
        values = values.combine_chunks() if hasattr(values, "combine_chunks") else values
        equal = compute.equal(values.slice(1), values.slice(0, max(rows - 1, 0))).fill_null(True)
        differs = compute.or_(differs, compute.invert(equal))
    return library.concat_arrays([library.array([True] * min(rows, 1), library.bool_()), differs])


def _require_order(field: Any, text: str) -> None:
    """Raise BadInputError for a column that has no order, or a struct with such a field."""
    if not arrow("pyarrow.types").is_struct(field.type):
        _comparable_type(field, text)
        return
    for inner in field.type:
        if has_categories(inner.type):
            raise BadInputError(
                f"key {text}: its field {inner.name!r} has ordered categories, which structs do not sort by",
                code="no-order",
            )
        _require_order(inner, text)


def _comparable_type(column: Any, text: str) -> Any:
    """Return a type of the same order that pyarrow sorts. Raises BadInputError for a type without an order."""
    library, types = arrow(), arrow("pyarrow.types")
    column_type = column.type
    if types.is_dictionary(column_type) or types.is_run_end_encoded(column_type):
        column_type = column_type.value_type
    if getattr(column_type, "extension_name", "") in _ORDERED_EXTENSIONS:
        column_type = column_type.storage_type
    if types.is_boolean(column_type) or types.is_null(column_type):
        return library.uint8()
    if types.is_float16(column_type):
        return library.float32()
    if types.is_date32(column_type) or types.is_time32(column_type):
        return library.int32()
    if types.is_temporal(column_type) and not types.is_interval(column_type):
        return library.int64()
    if types.is_large_string(column_type) or types.is_string_view(column_type) or types.is_binary_view(column_type):
        return library.large_binary()
    if types.is_string(column_type):
        return library.binary()
    if types.is_decimal(column_type) and column_type.bit_width < 128:
        return library.decimal128(column_type.precision, column_type.scale)
    ordered = (
        types.is_integer, types.is_floating, types.is_decimal, types.is_binary, types.is_large_binary,
        types.is_fixed_size_binary,
    )  # fmt: skip
    if any(is_ordered(column_type) for is_ordered in ordered):
        return column_type
    raise BadInputError(
        f"key {text}: column {column.name!r} is of type {column.type}, which has no order", code="no-order"
    )


def without_views(value_type: Any) -> Any:
    """Return the type with texts in place of text views, also within dictionaries, lists, maps and structs."""
    library, types = arrow(), arrow("pyarrow.types")

    def text_for(leaf: Any) -> Any:
        if types.is_string_view(leaf):
            return library.large_string()
        return library.large_binary() if types.is_binary_view(leaf) else leaf

    return with_leaves(value_type, text_for)


def with_leaves(value_type: Any, change: Callable[[Any], Any]) -> Any:
    """Return the type after a change of it, or of what it holds: in dictionaries, lists, maps and structs."""
    library, types = arrow(), arrow("pyarrow.types")

    def of(field: Any) -> Any:
        return field.with_type(with_leaves(field.type, change))

    if types.is_dictionary(value_type):
        return library.dictionary(value_type.index_type, with_leaves(value_type.value_type, change), value_type.ordered)
    if types.is_struct(value_type):
        return library.struct(list(map(of, value_type)))
    if types.is_map(value_type):
        return library.map_(of(value_type.key_field), of(value_type.item_field), value_type.keys_sorted)
    if types.is_fixed_size_list(value_type):
        return library.list_(of(value_type.value_field), value_type.list_size)
    for is_list, new in ((types.is_list, library.list_), (types.is_large_list, library.large_list)):
        if is_list(value_type):
            return new(of(value_type.value_field))
    return change(value_type)


def dictionary_without_views(column: Any) -> Any:
    """Return a column of dictionaries with texts in place of text views; pyarrow cannot cast these."""
    library, plain = arrow(), without_views(column.type)
    if plain == column.type:
        return column
    chunks = [
        library.DictionaryArray.from_arrays(
            chunk.indices, chunk.dictionary.cast(plain.value_type), ordered=plain.ordered
        )
        for chunk in column.chunks
    ]
    return library.chunked_array(chunks, type=plain)
