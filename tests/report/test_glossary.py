"""The glossary has every word that the first screen uses in a special sense."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import planner
from planner.config.paths import model_names
from planner.cost_model.model_reader import load_model
from planner.report.clusters import bill_of
from planner.report.terminal.decision import DECIDING
from planner.report.terminal.short_answer import short_answer
from planner.report.words import RESOURCE_WORDS

GLOSSARY = Path(__file__).resolve().parents[2] / "docs" / "glossary.md"


@pytest.fixture(scope="module")
def meanings() -> dict[str, str]:
    """Each term and its meaning."""
    return dict(re.findall(r"^\| ([^|]+?) \| ([^|]+?) \|", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE))


def test_resources_models_and_grades_of_evidence_are_terms(meanings: dict[str, str]) -> None:
    assert {*RESOURCE_WORDS.values(), *model_names(), *DECIDING} <= meanings.keys()
    assert meanings["daytona"] == load_model("daytona").durability


@pytest.mark.parametrize(
    "asked",
    [
        {"data": "100TB"},
        {"data": "1TB", "cloud": "oci", "model": "indy", "zones": 2},
        {"data": "3TB", "cloud": "aws", "input": "s3://b/in", "output": "s3://b/out", "deadline": "2h"},
        {"data": "100TB", "model": "cloudsort"},
    ],
    ids=lambda asked: ",".join(map(str, asked.values())),
)
def test_labels_choices_and_items_of_the_bill_are_terms(meanings: dict[str, str], asked: dict[str, str]) -> None:
    plan = planner.recommend(**asked).plan
    assert plan.best is not None
    lines = short_answer(plan, width=80)
    labels = {match[1] for line in lines if (match := re.match(r"([A-Za-z-][a-z -]+): ", line))}
    choices = {match[0] for line in lines if (match := re.match(r"cheapest|next \w+|recommended", line.strip()))}
    items = {part for item in bill_of(plan.best) if item.name not in meanings for part in item.name.split(", ")}
    charges = {name for name in items if name.split(": ")[-1].split(" ")[0] in ("requests", "traffic")}
    assert labels | choices | (items - charges) <= meanings.keys()
    assert "Bottleneck" in labels and "Confidence" in labels


def test_no_term_of_earlier_versions_is_left(meanings: dict[str, str]) -> None:
    """Neither the first screen nor the help uses words that readers had to guess."""
    text = "\n".join(short_answer(planner.recommend("1TB", deadline="1h").plan, width=80))
    assert not re.search(r"Sureness|binds|min saved|\b95%:", text)
