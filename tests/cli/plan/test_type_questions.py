"""`planner why-not`, `planner own` and `planner most-data`: questions over the same request as a plan's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from planner.cli.app import build
from planner.schemas.plan import Plan

DATA = ("--data", "3TB", "--instance", "i8g.8xlarge,i7i.8xlarge")


def asked(*words: str) -> tuple[str, BaseException | None]:
    made = CliRunner().invoke(build(), [*words, *DATA])
    return made.stdout, made.exception


def test_each_type_asked_about_has_its_answer_and_the_plan_is_not_repeated() -> None:
    text, error = asked("why-not", "i7i.8xlarge", "i8g.8xlarge")
    assert error is None
    assert [part.partition("?")[0] for part in text.split("\n\n") if part.startswith("Why")] == [
        "Why not i7i.8xlarge",
        "Why not i8g.8xlarge",
    ]
    assert "Rent " not in text
    assert "Your 8 x i7i.8xlarge take" in asked("own", "8 x i7i.8xlarge")[0]


def test_json_has_the_answers_beside_the_plan_and_can_be_read_again() -> None:
    text, _ = asked("why-not", "i7i.8xlarge", "--json")
    (why_not,) = json.loads(text)["why_not"]
    assert why_not["cluster"]["instance_type"] == "i7i.8xlarge"
    assert why_not["needed"]["price_usd_per_hour"] < why_not["cluster"]["price_usd_per_hour"]
    assert Plan.from_json(text).best is not None
    text, _ = asked("own", "8 x i7i.8xlarge", "--json")
    assert json.loads(text)["own"]["cluster"]["nodes"] == 8
    assert Plan.from_json(text).best is not None


def test_a_plan_without_a_cluster_still_answers_and_then_fails() -> None:
    text, error = asked("why-not", "i7i.8xlarge", "--deadline", "1s")
    assert "misses the deadline" in text and getattr(error, "exit_code", None) == 3


def test_own_machines_that_do_the_job_are_an_answer_also_if_nothing_to_rent_does() -> None:
    text, error = asked("own", "8 x i7i.8xlarge", "--budget", "1")
    assert error is None and "Your 8 x i7i.8xlarge take" in text
    assert "Nothing to rent does what is asked. No cluster meets --budget 1.00." in " ".join(text.split())
    text, error = asked("own", "8 x i7i.8xlarge", "--deadline", "1s")
    assert "They miss the deadline" in text and getattr(error, "exit_code", None) == 3
    assert "Nothing to rent" not in text


def test_too_few_machines_have_a_next_step(tmp_path: Path) -> None:
    mine = str(tmp_path / "mine")
    facts = "--machines 2 --vcpus 64 --memory 256GiB --network 25Gbit/s --disks 8 --disk-size 2TB --disk-kind nvme"
    rates = "--disk-read 12GB/s --disk-write 8GB/s --type worker"
    CliRunner().invoke(build(), ["catalog", "new", mine, *facts.split(), *rates.split()])
    made = CliRunner().invoke(build(), ["own", "2 x worker", "--data", "20TB", "--catalog", mine])
    assert "of them would; their bottleneck" in made.stdout and "if rented" not in made.stdout
    assert "planner most-data` says, or more machines: --set capacity=worker=NUMBER" in str(made.exception)


def test_a_folder_and_a_missing_file_are_no_lists_of_machines(tmp_path: Path) -> None:
    _, error = asked("own", str(tmp_path))
    assert "a folder" in str(error) and "plan --catalog" in str(error)
    _, error = asked("own", str(tmp_path / "hosts.csv"))
    assert "no such file" in str(error)


@pytest.mark.parametrize("words", [("why-not", "i9z.large"), ("own", "8 x i9z.large"), ("own", "eight")])
def test_what_is_no_type_is_refused_as_the_argument(words: tuple[str, ...]) -> None:
    _, error = asked(*words)
    argument = "TYPE" if words[0] == "why-not" else "MACHINES"
    assert getattr(error, "exit_code", None) == 2 and str(error).startswith(argument)


@pytest.mark.parametrize(
    "option",
    [
        "--why-not x",
        "--own '8 x y'",
        "--export emr",
        "--from-log x",
        "--simulate",
        "--draws 3",
        "--most-data",
        "--wide",
    ],
)
def test_an_option_that_moved_is_refused_with_its_command(option: str) -> None:
    made = CliRunner().invoke(build(only="plan"), ["plan", "--data", "1TB", *option.split()])
    assert made.exit_code == 2 or getattr(made.exception, "exit_code", 0) == 2
    assert "It is now:" in " ".join(f"{made.output}{made.exception}".split())
