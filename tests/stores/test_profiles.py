"""Profiles on disk: whole or not at all, readable, and refused if damaged."""

from __future__ import annotations

import json
import math
import threading
from pathlib import Path

import numpy as np
import pytest
from refusals import refused

from planner.errors import BadInputError, IoFailureError
from planner.stores import profiles

MACHINES = {"m": {"vcpu": 8, "mem_gib": 32, "ghz": 2.4, "ebs_mbps": 1000, "net_base_gbps": 1}}
RUNS = [{"instance_type": "m", "nodes": n, "data_gb": 20.0, "runtime_s": 2000 / n} for n in (2, 4, 8)]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLANNER_PROFILES", str(tmp_path / "profiles"))
    return tmp_path / "profiles"


def profile(name: str = "mine") -> profiles.Profile:
    return profiles.calibrate(RUNS, instances=MACHINES, model="spark", name=name)


def test_a_stored_profile_predicts_as_before_and_is_listed() -> None:
    path = profiles.save_profile(profile())
    assert profiles.profile_names() == ["mine"]
    for loaded in (profiles.load_profile("mine"), profiles.load_profile(path)):
        np.testing.assert_array_equal(loaded.predict(RUNS), profile().predict(RUNS))


def test_the_file_is_json_that_a_person_can_read(home: Path) -> None:
    profiles.save_profile(profile())
    stored = json.loads((home / "mine.json").read_text())
    assert stored["runs"] == RUNS
    assert stored["model"] == "spark"


def test_saving_again_replaces_and_leaves_no_other_file(home: Path) -> None:
    profiles.save_profile(profile())
    profiles.save_profile(profile())
    assert sorted(path.name for path in home.iterdir()) == [".lock", "mine.json"]


@pytest.mark.parametrize("name", ["", "..", "a/b", ".hidden", "a b"])
def test_a_name_that_is_no_plain_file_name_is_refused(name: str) -> None:
    with pytest.raises(BadInputError, match="profile name"):
        profiles.save_profile(profile(name=name or " "))


def test_an_unknown_profile_names_the_nearest() -> None:
    with pytest.raises(BadInputError, match="planner calibrate"):
        profiles.load_profile("mine")
    profiles.save_profile(profile())
    with refused("no-such-profile", "mean mine"):
        profiles.load_profile("mien")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 7}', '{"format": 1, "name": "x"}', "\xff"])
def test_a_damaged_profile_is_refused_with_its_path(home: Path, text: str) -> None:
    home.mkdir()
    (home / "mine.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(BadInputError, match=r"mine\.json"):
        profiles.load_profile("mine")


def test_runs_from_many_threads_all_arrive() -> None:
    writers = [
        threading.Thread(target=profiles.add_run, args=("fed", run), kwargs={"instances": MACHINES, "model": "spark"})
        for run in RUNS * 3
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(profiles.load_profile("fed").runs) == 9


def test_a_directory_that_cannot_be_made_is_an_io_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PLANNER_PROFILES", str(tmp_path / "file" / "below"))
    with pytest.raises(IoFailureError, match="cannot store"):
        profiles.save_profile(profile())


def test_machines_come_from_the_catalog_when_none_are_handed_in() -> None:
    runs = [{**run, "instance_type": "m4.2xlarge"} for run in RUNS]
    machine = profiles.calibrate(runs, model="spark").machines["m4.2xlarge"]
    assert (machine.cores, machine.memory_gb, machine.disk_gb_per_s) == (8, 32, 0.125)
    assert machine.clock_ghz == pytest.approx(152.2 / 65)  # one core compresses 152.2 MB/s
    assert machine.filled_in == ()


def test_a_type_whose_core_was_never_measured_has_no_clock() -> None:
    specs = profiles.specs_of("oci")
    assert all(math.isnan(spec["ghz"]) for spec in specs.values())


def test_ragged_or_missing_files_are_refused(tmp_path: Path) -> None:
    ragged = tmp_path / "ragged.csv"
    ragged.write_text("instance_type,nodes\nm,2\nm\nm,2,3\n")
    with pytest.raises(BadInputError, match="2 problems") as caught:
        profiles.read_rows(ragged)
    assert [line.rpartition(":")[0].removeprefix(f"{ragged}:") for line in caught.value.details] == ["3", "4"]
    with pytest.raises(BadInputError, match="cannot be read"):
        profiles.read_rows(tmp_path / "absent.csv")
