"""YAML from our writer has the same content for a YAML reader."""

from __future__ import annotations

import yaml
from hypothesis import given
from hypothesis import strategies as st

from planner.exports.block_yaml import block_yaml

LINES = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z"), include_characters=" #:-'\"{}[]!&*|>%@`,?"))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(1e-3, 1e15) | LINES
SCRIPTS = st.lists(LINES.map(lambda line: "x" + line.rstrip()), min_size=2).map(lambda lines: "\n".join(lines) + "\n")
VALUES = st.recursive(
    SCALARS | SCRIPTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(LINES.filter(bool), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(LINES.filter(bool), VALUES, min_size=1, max_size=4))
def test_a_reader_of_yaml_gets_what_was_written(value: dict[str, object]) -> None:
    assert yaml.safe_load(block_yaml(value)) == value


def test_words_that_readers_guess_at_are_quoted() -> None:
    assert block_yaml({"a": "no", "b": "10m", "c": "spark.executor.cores", "d": "1e3", "e": ""}) == (
        'a: "no"\nb: "10m"\nc: spark.executor.cores\nd: "1e3"\ne: ""\n'
    )
