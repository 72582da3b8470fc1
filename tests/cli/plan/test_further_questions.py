"""`plan --why-not` and `--own`: their answers replace the plan's, or come with it where another form is requested."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from planner.cli.app import build
from planner.errors import BadInputError
from planner.schemas.plan import Plan

DATA = ("--data", "3TB", "--instance", "i8g.8xlarge,i7i.8xlarge")


def plan(*options: str) -> tuple[str, BaseException | None]:
    made = CliRunner().invoke(build(only="plan"), ["plan", *DATA, *options])
    return made.stdout, made.exception


def test_each_type_asked_about_has_its_answer_and_the_plan_is_not_repeated() -> None:
    text, error = plan("--why-not", "i7i.8xlarge", "--why-not", "i8g.8xlarge", "--own", "8 x i7i.8xlarge")
    assert error is None
    assert [part.partition("?")[0] for part in text.split("\n\n") if part.startswith("Why")] == [
        "Why not i7i.8xlarge",
        "Why not i8g.8xlarge",
    ]
    assert "Your 8 x i7i.8xlarge take" in text and "Rent " not in text


def test_a_form_that_is_asked_for_follows_the_answer() -> None:
    text, _ = plan("--why-not", "i7i.8xlarge", "--show", "csv")
    assert text.index("Why not i7i.8xlarge?") < text.index("model,cloud,region")


def test_json_has_the_answers_beside_the_plan_and_can_be_read_again() -> None:
    text, _ = plan("--why-not", "i7i.8xlarge", "--own", "8 x i7i.8xlarge", "--json")
    document = json.loads(text)
    (why_not,) = document["why_not"]
    assert why_not["cluster"]["instance_type"] == "i7i.8xlarge"
    assert why_not["needed"]["price_usd_per_hour"] < why_not["cluster"]["price_usd_per_hour"]
    assert document["own"]["cluster"]["nodes"] == 8
    assert Plan.from_json(text).best is not None


def test_a_plan_without_a_cluster_still_answers_and_then_fails() -> None:
    text, error = plan("--why-not", "i7i.8xlarge", "--deadline", "1s")
    assert "misses the deadline" in text and getattr(error, "exit_code", None) == 3


@pytest.mark.parametrize("option", [("--why-not", "i7i.8xlarge"), ("--own", "8 x i7i.8xlarge")])
def test_neither_is_of_several_sizes(option: tuple[str, str]) -> None:
    error = CliRunner().invoke(build(), ["plan", "--data", "1TB,2TB", *option]).exception
    assert isinstance(error, BadInputError) and option[0] in str(error)
