"""Locations of many logs."""

from __future__ import annotations

from pathlib import Path

import pytest
from history_server import HistoryServer, history_server
from refusals import refused
from spark_events import lines, small_job

from planner.distributed_sort.dataset import object_store
from planner.errors import BadInputError
from planner.spark.fleet.places import fetch, holds_several, list_logs, read_place
from planner.spark.log.reading import read_files


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Two logs, one of them of two rolling files, a marker and a file that is no log."""
    folder = tmp_path / "logs"
    rolling = folder / "eventlog_v2_app-2"
    rolling.mkdir(parents=True)
    (folder / "app-1").write_bytes(lines(small_job()))
    events = small_job("app-2")
    (rolling / "events_1_app-2").write_bytes(lines(events[:20]))
    (rolling / "events_2_app-2").write_bytes(lines(events[20:]))
    (rolling / "appstatus_app-2").write_bytes(b"")
    (folder / "notes.txt").write_text("no log")
    return folder


def test_files_that_follow_each_other_are_one(logs: Path) -> None:
    units = {unit.key: unit for unit in list_logs(str(logs)).units}
    assert sorted(units) == ["app-1", "eventlog_v2_app-2/", "notes.txt"]
    (application,) = read_files([Path(file) for file in units["eventlog_v2_app-2/"].files]).applications
    assert (application.app_id, application.tasks, application.ended) == ("app-2", 16, True)


def test_a_change_is_another_version(logs: Path) -> None:
    before = {unit.key: unit.version for unit in list_logs(str(logs)).units}
    with (logs / "app-1").open("ab") as log:
        log.write(b"{}\n")
    after = {unit.key: unit.version for unit in list_logs(str(logs)).units}
    assert [key for key in before if before[key] != after[key]] == ["app-1"]


def test_one_log_beside_other_files_is_no_fleet(logs: Path) -> None:
    assert holds_several(str(logs))
    (logs / "app-1").unlink()
    assert not holds_several(str(logs))
    assert not holds_several(str(logs / "notes.txt").replace("notes", "absent"))


def test_no_place_and_no_file_are_named(tmp_path: Path) -> None:
    with refused("no-such-file"):
        list_logs(str(tmp_path / "absent"))
    with pytest.raises(BadInputError, match="holds no file"):
        list_logs(str(tmp_path))


def test_logs_of_a_bucket(bucket: str, logs: Path, tmp_path: Path) -> None:
    for path in logs.rglob("*app-*"):
        if path.is_file():
            object_store.write_file(f"{bucket}/prod/{path.relative_to(logs)}", path)
    units = {unit.key: unit for unit in list_logs(f"{bucket}/prod").units}
    assert sorted(units) == ["app-1", "eventlog_v2_app-2/"]
    copies = fetch(units["eventlog_v2_app-2/"], tmp_path)
    assert [path.name for path in copies] == ["events_1_app-2", "events_2_app-2"]
    assert read_place(f"{bucket}/prod", "app-2").only("app-2").tasks == 16
    assert [unit.size_bytes for unit in list_logs(f"{bucket}/prod/app-1").units] == [(logs / "app-1").stat().st_size]


def test_one_application_of_a_history_server() -> None:
    logs = {app: {app: lines(small_job(app))} for app in ("app-1", "app-2")}
    with history_server(HistoryServer(logs=logs, ends_ms={"app-1": 1, "app-2": 2})) as server:
        assert read_place(server.address, "app-2").only().app_id == "app-2"
        with refused("no-such-application", "app-3"):
            read_place(server.address, "app-3")
