"""The shipped schemas match the dataclasses, and the commands' output keeps to them."""

from __future__ import annotations

import copy
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest
from refusals import refused
from typer.testing import CliRunner

import planner
from planner.cli.app import build
from planner.cli.plan.schema import KINDS
from planner.schemas.json_values import VERSION
from planner.schemas.run_report import RunReport

CHECKOUT = Path(__file__).resolve().parents[3]
STORED = CHECKOUT / "tests" / "data" / "stored"
SMALL = ("--catalog", "aws-2014", "--data", "1TB")
ASKED: dict[str, tuple[str, ...]] = {
    "papers": (*SMALL, "--paper", "--model", "indy"),
    "copies": SMALL,
    "simulated": ("simulate", *SMALL, "--draws", "1"),
    "spot": ("--data", "500GB", "--instance", "i4i.*", "--pricing", "spot"),
    "store to store": ("--data", "1TB", "--instance", "i4i.*", "--input", "s3://b/in", "--output", "s3://b/out"),
    "volumes": ("--data", "1TB", "--model", "cloudsort", "--instance", "r5.*", "--set", "zones=2"),
    "deadline": ("--data", "10TB", "--instance", "i4i.*", "--deadline", "2h", "--confidence", "95%", "--model", "all"),
    "own prices": ("--data", "1TB", "--instance", "i3.*", "--own-price", "i3.*=0.08/vcpu", "--set", "capacity=i3.*=40"),
    "what-if": ("--data", "1TB", "--instance", "i4i.*", "--assume", "network=800MB/s", "--what-if", "price=0.7"),
    "most data": ("most-data", "--catalog", "aws-2014", "--deadline", "1h", "--nodes", "20"),
}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("write_json_schemas", CHECKOUT / "scripts" / "write_json_schemas.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def printed(*words: str) -> Any:
    outcome = CliRunner().invoke(build(only=words[0]), words, catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    return json.loads(outcome.stdout)


def closed(schema: Any) -> Any:
    """Return a schema that allows only the fields it names."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: closed(part) for name, part in schema.items()}
    return {"additionalProperties": False, **inner} if isinstance(schema.get("properties"), dict) else inner


def validator(kind: str) -> Any:
    schema = printed("schema", kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(closed(schema))


@pytest.mark.parametrize("kind", KINDS)
def test_the_shipped_file_is_what_the_script_writes(kind: str, script: ModuleType) -> None:
    assert set(script.KINDS) == set(KINDS)
    shipped = (script.FOLDER / f"{kind}.json").read_text(encoding="utf-8")
    assert shipped == script.text_of(kind), "run: python scripts/write_json_schemas.py"


@pytest.mark.parametrize("asked", ASKED)
def test_plans_keep_to_the_schema(asked: str) -> None:
    first, *words = ASKED[asked]
    plan = printed(*(["plan", first] if first.startswith("-") else [first]), *words, "--json")
    validator("plan").validate(plan)
    assert next(iter(plan)) == "version"


def test_run_reports_keep_to_the_schema() -> None:
    report = RunReport.from_json((STORED / "run-report.json").read_text(encoding="utf-8"))
    validator("run-report").validate(json.loads(report.to_json()))


@pytest.mark.parametrize(
    "words",
    [
        ("models",),
        ("catalog", "show"),
        ("catalog", "show", "i2.8xlarge", "--catalog", "aws-2014"),
        ("catalog", "check", "aws-2014"),
        ("catalog", "measurements"),
        ("catalog", "usable", "aws-2014"),
        ("scale", "i2", "--catalog", "aws-2014", "--data", "1TB", "--model", "indy"),
        ("where",),
    ],
)
def test_other_json_says_its_version_first(words: tuple[str, ...]) -> None:
    document = printed(*words, "--json")
    assert next(iter(document)) == "version"
    assert document["version"] == VERSION and len(document) > 1


def test_the_schema_refuses_what_is_wrong() -> None:
    plan = printed("plan", *ASKED["papers"], "--json")
    check = validator("plan")
    for wrong in ({"version": 4}, {"best": {}}, {"candidates": None}, {"rejected": [{"reason": "none"}]}):
        assert list(check.iter_errors(copy.deepcopy(plan) | wrong)), wrong


REQUESTS: list[dict[str, Any]] = [
    {"data": "100TB", "model": "daytona"},
    {"data": 10**12, "cloud": ["aws", "gcp"], "nodes": 8, "deadline": 3600, "max_nodes": "20"},
    {"data": "1TB", "pricing": "on-demand,spot", "objective": "time", "what_if": {"network": 2}, "paper": False},
    {"data": "1TB", "assume": {"network": "800MB/s"}, "discount": 0.15, "own_price": {"i4i.*": "0.08/vcpu"}},
    {"data": None, "most_data": True, "deadline": "1h", "nodes": 20, "capacity": {"i4i.*": 40}},
]


@pytest.mark.parametrize("asked", REQUESTS, ids=str)
def test_requests_keep_to_their_schema(asked: dict[str, Any]) -> None:
    validator("request").validate(asked)
    assert planner.recommend(**asked).plan.request


@pytest.mark.parametrize("wrong", [{"dedline": "1h"}, {"nodes": 1.5}, {"objective": "speed"}, {"paper": "yes"}])
def test_what_a_request_does_not_take_breaks_its_schema(wrong: dict[str, Any]) -> None:
    assert list(validator("request").iter_errors({"data": "1TB"} | wrong))
    with pytest.raises(planner.BadInputError) as error:
        planner.recommend(**{"data": "1TB"} | wrong)
    assert error.value.field == next(iter(wrong))


def test_a_kind_that_there_is_not_is_refused() -> None:
    with refused("unknown-word", "'plans'", "plan, run-report", "mean plan"):
        CliRunner().invoke(build(only="schema"), ["schema", "plans"], catch_exceptions=False)
