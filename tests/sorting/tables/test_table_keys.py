"""Text views within other types, as Polars has them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from planner.sorting.tables.table import sort_table
from planner.sorting.tables.table_keys import dictionary_without_views, without_views

NESTED = {
    "list": (pa.list_(pa.string_view()), [["b", None], None, []]),
    "large list": (pa.large_list(pa.struct([("x", pa.binary_view())])), [[{"x": b"b"}], None, [None]]),
    "pair": (pa.list_(pa.string_view(), 2), [["a", "b"], None, [None, "c"]]),
    "map": (pa.map_(pa.string_view(), pa.string_view()), [[("a", "b" * 20)], None, []]),
    "struct": (pa.struct([("x", pa.string_view()), ("y", pa.int8())]), [{"x": "a", "y": 1}, None, {"x": None, "y": 2}]),
    "dictionary": (pa.dictionary(pa.int8(), pa.string_view()), ["b", None, "a"]),
}


def column(name: str) -> pa.Array:
    """Return the values, through texts: pyarrow makes no views of Python's."""
    view, values = NESTED[name]
    if name != "dictionary":
        return pa.array(values, without_views(view)).cast(view)
    words = pa.array(["a", "b"], pa.string_view())
    return pa.DictionaryArray.from_arrays(pa.array([1, None, 0], pa.int8()), words)


@pytest.mark.parametrize("name", NESTED)
def test_they_are_moved_with_their_rows(name: str) -> None:
    view, values = NESTED[name]
    ours = sort_table(pa.table({"row": [1, 2, 0], "of": column(name)}), keys="row")
    assert ours.schema.field("of").type == view
    assert ours.column("of").to_pylist() == [values[2], values[0], values[1]]


def test_dictionaries_of_views_are_keys() -> None:
    table = pa.table({"of": pa.chunked_array([column("dictionary"), column("dictionary").slice(1)]), "row": range(5)})
    assert sort_table(table, keys="of").column("row").to_pylist() == [2, 4, 0, 1, 3]
    assert sort_table(table, keys="of:desc:first").column("row").to_pylist() == [1, 3, 0, 2, 4]


def test_what_has_no_views_stays_as_it_is() -> None:
    plain = pa.chunked_array([pa.array(["a", "b"]).dictionary_encode()])
    assert dictionary_without_views(plain) is plain
    for value_type in (pa.list_(pa.field("item", pa.int8(), nullable=False)), pa.map_(pa.string(), pa.int8())):
        assert without_views(value_type) == value_type
