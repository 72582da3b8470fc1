"""Reading cost models from TOML; all errors in a file are reported at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from approvals import Approve
from refusals import refused

from planner.config.paths import models_directory
from planner.cost_model.model_reader import load_model, parse_model
from planner.errors import BadInputError

GOOD = {
    "title": "t",
    "source": "s",
    "durability": "d",
    "storage": {"data": "local", "intermediate": "local"},
    "capacity": {"data": {"map_in": 1}},
    "phase": [{"name": "only", "read": {"data": {"map_in": 1}}, "network": {"map_out": 0.5}}],
}


def test_a_model_may_be_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'title="t"\nsource="s"\ndurability="d"\n[storage]\ndata="local"\nintermediate="local"\n'
        '[[phase]]\nname="p"\nnetwork={map_out=1}\n'
    )
    model = load_model(str(path))
    assert (model.name, model.phases[0].network) == ("mine", {"map_out": 1.0})


def test_an_unknown_model_offers_the_nearest() -> None:
    with refused("unknown-name", "mean daytona", field="model"):
        load_model("datona")


def test_a_missing_file_names_what_is_shipped(tmp_path: Path) -> None:
    with refused("no-such-file", "cloudsort"):
        load_model(str(tmp_path / "gone.toml"))


def test_a_file_that_is_not_toml_says_where(tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_text("title = ")
    with refused("not-toml", "broken.toml"):
        load_model(str(path))


def test_a_file_may_begin_with_the_mark_of_windows(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text((models_directory() / "indy.toml").read_text("utf-8"), "utf-8-sig")
    assert load_model(str(path)).phases == load_model("indy").phases


def test_a_good_document_is_accepted() -> None:
    assert parse_model("m", GOOD, where="m.toml").phases[0].network == {"map_out": 0.5}


def test_all_findings_are_reported_together(approve: Approve) -> None:
    bad = {
        "titel": "t",
        "source": "",
        "durability": "d",
        "storage": {"data": "tape", "intermediate": "local", "swap": "local"},
        "capacity": {"dat": {"map_in": 1}},
        "phase": [{"name": "p", "read": {"data": {"map_inn": 1}}, "network": {"map_out": -1}, "cpu": {"sort": 3}}],
    }
    with pytest.raises(BadInputError) as caught:
        parse_model("m", bad, where="m.toml")
    findings = "\n".join(caught.value.details)
    for expected in ("'titel'", "title", "source", "'tape'", "'swap'", "'dat'", "'map_inn'", "-1", "cpu.sort"):
        assert expected in findings
    approve(findings)
    assert (caught.value.field, caught.value.code) == ("titel", "unknown-argument")


@pytest.mark.parametrize(
    ("change", "field", "code"),
    [
        ({"in_memory": True}, "in_memory", "unknown-argument"),
        ({"storage": {"data": "local"}}, "storage.intermediate", "missing-argument"),
        ({"storage": {"data": "memory", "intermediate": "local"}}, "storage.data", "unknown-word"),
        ({"storage": {"data": "object-store", "intermediate": "local"}}, "requests", "missing-argument"),
        ({"requests": {"read_bytes": 0, "write_bytes": 1}}, "requests.read_bytes", "out-of-range"),
        ({"recovery": "redu"}, "recovery", "unknown-word"),
        ({"capacity": {"data": {"map_in": True}}}, "capacity.data.map_in", "wrong-type"),
        ({"capacity": 3}, "capacity", "wrong-type"),
        ({"phase": {}}, "phase", "wrong-type"),
        ({"phase": [{"name": "p", "startup_s": float("inf")}]}, "phase[0].startup_s", "out-of-range"),
        ({"phase": [{"network": {}}]}, "phase[0].name", "missing-argument"),
        ({"software": {"shared_sigma": 3, "source": "s"}}, "software.shared_sigma", "out-of-range"),
        ({"software": {"shared_sigma": 1, "source": " "}}, "software.source", "missing-argument"),
    ],
)
def test_an_error_names_its_field_and_kind(change: dict[str, object], field: str, code: str) -> None:
    with pytest.raises(BadInputError) as caught:
        parse_model("m", {**GOOD, **change}, where="m.toml")
    assert (caught.value.field, caught.value.code) == (field, code)
    assert "m.toml" in caught.value.message and caught.value.details[0].startswith(field)


def test_a_model_without_phases_is_refused(approve: Approve) -> None:
    with pytest.raises(BadInputError) as caught:
        parse_model("m", {**GOOD, "phase": []}, where="m.toml")
    approve(caught.value.details[0])
