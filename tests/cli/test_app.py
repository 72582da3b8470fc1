"""`planner` and its smaller commands, called in-process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import call
from refusals import refused
from typer.testing import CliRunner

from planner.cli.app import build
from planner.errors import BadInputError, ValidationFailedError
from planner.sorting.records.validate import validate_files


def test_models_lists_the_papers_three() -> None:
    assert {m["name"] for m in json.loads(call("models", "--json"))["models"]} >= {"cloudsort", "daytona", "indy"}
    assert "equations 1, 8 and 9" in " ".join(call("models").split())


def test_catalog_show_lists_the_catalogs() -> None:
    listed = {row["name"]: row for row in json.loads(call("catalog", "show", "--json"))["catalogs"]}
    assert listed["aws-2014"]["types"] == 37
    assert "us-east-1" in call("catalog", "show")


def test_catalog_show_prints_every_fact_on_a_type() -> None:
    facts = json.loads(call("catalog", "show", "i2.8xlarge", "--catalog", "aws-2014", "--json"))["facts"]
    by_kind = {(fact["kind"], fact["field"]): fact for fact in facts}
    assert ("prices", "price_usd_per_hour [us-east-1, on-demand]") in by_kind
    assert all(fact["source"] and fact["evidence"] for fact in facts)


def test_catalog_show_offers_the_nearest_type() -> None:
    with refused("unknown-type", "i2.8xlarge"):
        call("catalog", "show", "i2.8xlarg", "--catalog", "aws-2014")


def test_catalog_check_finds_the_shipped_ones_sound() -> None:
    findings = json.loads(call("catalog", "check", "--json"))["catalogs"]
    assert "aws" in findings
    assert not [f for of_catalog in findings.values() for f in of_catalog if f["severity"] == "error"]


def test_catalog_check_ends_with_2_on_errors(make_catalog: Callable[..., str]) -> None:
    broken = make_catalog({"a": {"vcpu": "many"}})
    with pytest.raises(BadInputError, match="errors in"):
        call("catalog", "check", broken)


def test_generate_and_validate(tmp_path: Path) -> None:
    data, summary = str(tmp_path / "data"), str(tmp_path / "summary")
    report = json.loads(call("generate", data, "--records", "1000", "--start", "123456789012", "--json"))
    assert report["bytes_written"] == 100_000
    with pytest.raises(ValidationFailedError, match="out of order"):
        call("validate", data, "--summary", summary)
    with pytest.raises(ValidationFailedError):
        call("validate", "--summaries", summary)


def test_a_wrong_checksum_fails_validation(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    call("generate", data, "--records", "1")
    assert "Unordered: 0" in call("validate", data)
    with refused("not-sorted", kind=ValidationFailedError):
        call("validate", data, "--checksum", "beef")


@pytest.mark.parametrize(
    "arguments", [(), ("--records", "1", "--size", "1GB"), ("--size", "150B"), ("--records", "-1")]
)
def test_generate_refuses_unclear_amounts(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    with pytest.raises(BadInputError):
        call("generate", str(tmp_path / "data"), *arguments)
    assert not list(tmp_path.iterdir())


def test_an_amount_in_place_of_the_file_is_told_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    with refused("size-as-file", "--size 1GB"):
        call("generate", "1GB")
    assert list(tmp_path.iterdir()) == []


def test_version() -> None:
    assert call("--version").startswith("planner ")


def test_sort_reports_what_it_did(tmp_path: Path) -> None:
    data, out = str(tmp_path / "data"), str(tmp_path / "out")
    call("generate", data, "--records", "5000")
    report = json.loads(call("sort", data, out, "--json"))
    assert report["records"] == 5000
    assert json.loads(call("validate", out, "--json"))["sorted"] is True
    explained = call("sort", data, out, "--explain", "--force")
    for word in ("threads:", "kept in memory", "waiting", "the bottleneck: ", "if it never waited", "hand-overs, "):
        assert word in explained


def test_sort_tells_rates_and_bottlenecks(tmp_path: Path) -> None:
    data, out = str(tmp_path / "data"), str(tmp_path / "out")
    call("generate", data, "--records", "50000")
    phases = json.loads(call("sort", data, out, "--json"))["phases"]
    assert any(phase["bottleneck"] for phase in phases)
    for phase in phases:
        busy = {stage["name"]: stage for stage in phase["stages"] if stage["bytes"]}
        assert phase["bottleneck"] in busy or not busy
        for stage in busy.values():
            assert stage["bytes_per_s"] == pytest.approx(stage["bytes"] * stage["threads"] / stage["working_s"])


def test_sort_takes_several_inputs_and_outputs(tmp_path: Path) -> None:
    parts = [str(tmp_path / name) for name in ("a", "b")]
    outs = [str(tmp_path / name) for name in ("x", "y", "z")]
    for number, part in enumerate(parts):
        call("generate", part, "--records", "2000", "--start", str(2000 * number))
    call("sort", *parts, outs[0], "--more-output", outs[1], "--more-output", outs[2])
    after = json.loads(call("validate", *outs, "--json", "--checksum", validate_files(parts).checksum))
    assert (after["sorted"], after["records"]) == (True, 4000)
    assert all(Path(out).stat().st_size > 0 for out in outs)
    with refused("output-exists", field="--force"):
        call("sort", *parts, outs[0])


def test_lines_are_generated_sorted_and_validated(tmp_path: Path) -> None:
    data, out = str(tmp_path / "data"), str(tmp_path / "out")
    made = json.loads(call("generate", data, "--lines", "--size", "300KB", "--json"))
    assert made["lines"] == Path(data).read_bytes().count(b"\n") > 1000
    report = json.loads(call("sort", "--lines", "--key-offset", "28", "--key-size", "8", data, out, "--json"))
    assert report["lines"] == made["lines"]
    by_key = json.loads(call("validate", "--lines", "--key-offset", "28", "--key-size", "8", out, "--json"))
    assert (by_key["sorted"], by_key["records"], by_key["bytes"]) == (True, made["lines"], 300_000)
    assert by_key["duplicates"] > 0
    with pytest.raises(ValidationFailedError, match="out of order"):
        call("validate", "--lines", out)
    call("sort", "--lines", "--force", data, out)
    assert json.loads(call("validate", "--lines", out, "--json"))["checksum"] == by_key["checksum"]


def test_generated_lines_have_a_size_and_no_record_options(tmp_path: Path) -> None:
    for options in (("--records", "5"), ("--size", "1KB", "--ascii"), ()):
        with pytest.raises(BadInputError, match="--lines "):
            call("generate", str(tmp_path / "data"), "--lines", *options)


def test_one_record_and_one_line_are_no_plurals(tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_text("a\n")
    said = CliRunner().invoke(build(only="sort"), ["sort", str(lines), f"{lines}.again"]).stderr
    assert said.splitlines()[-1].startswith("1 line in ")
    assert "1 record, 100 B" in CliRunner().invoke(build(), ["generate", str(tmp_path / "x"), "--records", "1"]).stderr


@pytest.mark.parametrize("name", ["data", "same"])
def test_sort_never_overwrites_its_input(tmp_path: Path, name: str) -> None:
    data = tmp_path / "data"
    call("generate", str(data), "--records", "10")
    before = data.read_bytes()
    if name == "same":
        (tmp_path / name).hardlink_to(data)
    with pytest.raises(BadInputError, match="is the input"):
        call("sort", str(data), str(tmp_path / name))
    assert data.read_bytes() == before


def test_sort_refuses_half_a_record_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"x" * 150)
    with refused("looks-like-text", field="--lines"):
        call("sort", "--format", "records", str(tmp_path / "data"), str(tmp_path / "out"))
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_an_output_that_is_a_device_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="not a regular file"):
        call("generate", "/dev/null", "--records", "1")


def test_run_prints_predicted_against_measured(tmp_path: Path) -> None:
    shown = call(
        "run", "--data", "1MB", "--model", "daytona", "--dir", str(tmp_path), "--out", str(tmp_path / "r.json")
    )
    for word in ("Sorted and validated 1 MB", "predicted", "measured", "replica: ok"):
        assert word in shown
    assert json.loads((tmp_path / "r.json").read_text())["passed"] is True
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


def test_runs_feed_the_profile_they_are_told_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANNER_PROFILES", str(tmp_path / "profiles"))
    for _ in range(2):
        call("run", "--data", "1MB", "--model", "indy", "--dir", str(tmp_path), "--profile", "mine", "--json")
    stored = json.loads((tmp_path / "profiles" / "mine.json").read_text())
    assert [run["data_gb"] for run in stored["runs"]] == [0.001, 0.001]


def test_catalog_check_says_what_to_measure_next() -> None:
    texts = [f["text"] for f in json.loads(call("catalog", "check", "aws", "aws-2014", "--json"))["catalogs"]["aws"]]
    proposed = [text for text in texts if text.startswith("measure next")]
    assert proposed and all("planner bench" in text and "$" in text for text in proposed)


def test_catalog_show_scores_what_was_measured_and_nothing_else() -> None:
    facts = json.loads(call("catalog", "show", "i2.8xlarge", "--catalog", "aws-2014", "--json"))["facts"]
    scored = {fact["kind"] for fact in facts if fact["cloud_truth"] is not None}
    assert scored == {"disks", "networks"}
    assert all(0 <= fact["cloud_truth"] <= 6 for fact in facts if fact["cloud_truth"] is not None)
