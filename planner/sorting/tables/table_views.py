"""Text views, as Polars has them, made into texts: pyarrow takes no values of views, alone or within other types."""

from __future__ import annotations

from typing import Any

from planner.sorting.tables.arrow_library import arrow


def without_views(value_type: Any) -> Any:
    """Return the type with texts in place of text views, also within dictionaries, lists, maps and structs."""
    library, types = arrow(), arrow("pyarrow.types")
    if types.is_string_view(value_type):
        return library.large_string()
    if types.is_binary_view(value_type):
        return library.large_binary()
    if types.is_dictionary(value_type):
        return library.dictionary(value_type.index_type, without_views(value_type.value_type), value_type.ordered)
    if types.is_struct(value_type):
        return library.struct([_of_field(field) for field in value_type])
    if types.is_map(value_type):
        return library.map_(_of_field(value_type.key_field), _of_field(value_type.item_field), value_type.keys_sorted)
    if types.is_fixed_size_list(value_type):
        return library.list_(_of_field(value_type.value_field), value_type.list_size)
    for is_list, new in ((types.is_list, library.list_), (types.is_large_list, library.large_list)):
        if is_list(value_type):
            return new(_of_field(value_type.value_field))
    return value_type


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


def _of_field(field: Any) -> Any:
    return field.with_type(without_views(field.type))
