"""What a template prints is one value of its language, whatever text it holds."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from planner.exports.filling import fill, quote_terraform, quote_yaml
from planner.exports.platform import PLATFORMS, export_plan, platform_of
from planner.schemas.plan import Plan
from tests.exports.orders import planned

TEXTS = st.text(st.characters(codec="utf-8"))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(1e-3, 1e15) | TEXTS
HOSTILE = (
    "no",
    "1e3",
    "x: y # z",
    "a\nb: c",
    "a\u2028b: c\x85d: e",
    'it\'s $(id) `id` "x"',
    "${var.key}",
    "%{if true}",
    "{{ order.name }}{% raw %}{#",
    "REPLACE_NOTHING",
)


@given(TEXTS, SCALARS)
def test_a_reader_of_yaml_gets_what_was_written(key: str, value: object) -> None:
    assert yaml.safe_load(f"- {quote_yaml(key)}: {quote_yaml(value)}\n") == [{key: value}]


@pytest.mark.parametrize("word", ["no", "10m", "1e3", "", "Off", "a:", "- b"])
def test_words_that_readers_guess_at_are_quoted(word: str) -> None:
    assert quote_yaml(word) == json.dumps(word)


@pytest.mark.parametrize("word", ["spark.executor.cores", "s3://bucket/logs/", "m5.4xlarge"])
def test_names_are_plain(word: str) -> None:
    assert quote_yaml(word) == word


@given(TEXTS)
def test_terraform_finds_no_expression_in_a_value(value: str) -> None:
    read = json.loads(quote_terraform(value))
    assert not re.search(r"(?<!\$)\$\{|(?<!%)%\{", read.replace("$${", "").replace("%%{", ""))
    assert read.replace("$${", "${").replace("%%{", "%{") == value


def test_an_unknown_value_in_a_template_is_an_error() -> None:
    with pytest.raises(Exception, match="'order' is undefined"):
        fill("slurm.sh", heading="")


def with_words(cloud: str, word: str) -> Plan:
    """Return a plan whose region, input, output and engine are a word."""
    plan = planned(cloud)
    assert plan.best is not None
    best = replace(plan.best, region=word)
    request = replace(plan.request, input=word, output=word, engine=word)
    return replace(plan, best=best, candidates=(best,), request=request)


def shape(value: Any) -> Any:
    """Return a document with the types of its values in their place."""
    if isinstance(value, dict):
        return {name: shape(item) for name, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return type(value)


@pytest.mark.parametrize("word", HOSTILE)
@pytest.mark.parametrize("name", [name for name in PLATFORMS if name != "slurm"])
def test_no_value_changes_the_structure_of_a_file(name: str, word: str) -> None:
    cloud = min(platform_of(name).clouds or {"aws"})
    found = list(yaml.safe_load_all(export_plan(with_words(cloud, word), name).text))
    assert shape(found) == shape(list(yaml.safe_load_all(export_plan(with_words(cloud, "word"), name).text)))


@pytest.mark.parametrize("word", [word for word in HOSTILE if "\x85" not in word])  # a line's end in blocks of YAML 1.1
@pytest.mark.parametrize("name", ["slurm", "skypilot", "kuberay"])
def test_the_shell_that_sorts_gets_the_input_and_output_as_they_are(name: str, word: str) -> None:
    text = export_plan(with_words("aws", word), name).text
    document = {} if name == "slurm" else yaml.safe_load(text)
    script = document.get("run") or document.get("spec", {}).get("entrypoint") or text
    words = shlex.split(script[script.rindex("planner sort") :])
    assert words[words.index("--ray") + 2 :][:4] == [word, "sorted.json", "--to", word]


@pytest.mark.parametrize("name", [name for name in PLATFORMS if "{region}" in platform_of(name).apply])
def test_the_command_that_applies_a_file_takes_the_region_as_one_word(name: str) -> None:
    exported = export_plan(with_words(min(platform_of(name).clouds), "x; id"), name)
    assert "x; id" in shlex.split(exported.apply)
