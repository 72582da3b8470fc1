"""Reading many logs: in processes, cached, and never stopped by a broken one."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest
from approvals import Approve
from history_server import HistoryServer, history_server
from spark_events import lines, small_job

from planner.schemas.plan import Request
from planner.spark.fleet.places import list_logs
from planner.spark.fleet.reading import Fleet, read_fleet, read_unit

REQUEST = Request(data_bytes=1)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs-of-anna"
    folder.mkdir()
    for number in range(5):
        (folder / f"app-{number}").write_bytes(lines(small_job(f"app-{number}")))
    (folder / "broken.zstd").write_bytes(b"\x28\xb5\x2f\xfd and then nothing of it")
    (folder / "notes.txt").write_text("no log")
    return folder


def read_all(place: Path | str, **more: object) -> Fleet:
    return read_fleet(str(place), request=REQUEST, processes=2, **more)  # type: ignore[arg-type]


def test_each_log_is_a_row_and_a_broken_one_its_reason(logs: Path) -> None:
    fleet = read_all(logs)
    assert [row.app_id for row in fleet.applications] == [f"app-{number}" for number in range(5)]
    assert {row.log for row in fleet.failures} == {"broken.zstd", "notes.txt"}
    assert all(row.failure and "anna" not in row.failure for row in fleet.failures)


@pytest.mark.parametrize("name", ["empty", "log", "s", "Spark"])
def test_a_name_that_is_also_a_word_stays_in_the_reason(tmp_path: Path, name: str, approve: Approve) -> None:
    (tmp_path / "anna").mkdir()
    (tmp_path / "anna" / name).touch()
    (row,) = read_unit(list_logs(str(tmp_path / "anna")).units[0], REQUEST, ())
    approve(row.failure)


def test_a_second_call_opens_only_what_is_new_or_changed(logs: Path) -> None:
    before = read_all(logs)
    (logs / "app-5").write_bytes(lines(small_job("app-5")))
    (logs / "app-1").write_bytes(lines(small_job("app-1", tasks=16)))
    opened: list[tuple[int, int]] = []
    fleet = read_all(logs, on_log=lambda done, of: opened.append((done, of)))
    assert opened == [(1, 2), (2, 2)]
    assert (before.kept, fleet.kept, fleet.logs) == (0, 6, 8)
    assert {row.app_id: row.tasks for row in fleet.applications}["app-1"] == 32
    assert read_all(logs, ran_on=["m5.4xlarge x 4"]).kept == 0  # another question


def test_what_was_read_before_an_interruption_is_kept(logs: Path) -> None:
    def interrupt(done: int, of: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_all(logs, on_log=interrupt)
    assert read_all(logs).kept == 3


def test_processes_that_die_end_no_reading(logs: Path) -> None:
    def kill(done: int, of: int) -> None:
        if done == 1:
            for child in multiprocessing.active_children():
                child.kill()

    assert len(read_all(logs, on_log=kill).rows) == 7


def test_a_history_server(tmp_path: Path, approve: Approve) -> None:
    logs = {f"app-{number}": {"log": lines(small_job(f"app-{number}"))} for number in range(3)}
    ends = {"app-0": 10, "app-1": 20, "app-2": 30, "app-gone": 40, "app-running": None}
    with history_server(HistoryServer(logs=logs, ends_ms=ends)) as server:
        fleet = read_all(server.address)
        assert sorted(row.app_id for row in fleet.applications) == ["app-0", "app-1", "app-2"]
        approve([row.failure for row in fleet.failures])
        assert fleet.running == 1
        server.asked.clear()
        assert read_all(server.address).kept == 3
        assert [path for path in server.asked if path.endswith("/logs")] == ["/api/v1/applications/app-gone/logs"]


def test_several_attempts_in_one_zip_are_rows(tmp_path: Path) -> None:
    from zipfile import ZipFile

    with ZipFile(tmp_path / "logs.zip", "w") as archive:
        for attempt in (1, 2):
            events = small_job()
            events[2]["App Attempt ID"] = str(attempt)
            archive.writestr(f"app-1_{attempt}", lines(events))
    (unit,) = list_logs(str(tmp_path)).units
    assert [row.attempt for row in read_unit(unit, REQUEST, ())] == ["1", "2"]


def test_a_run_that_two_logs_hold_counts_once(tmp_path: Path, approve: Approve) -> None:
    """The file that was being written may remain next to the complete one."""
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "app-1").write_bytes(lines(small_job()))
    (folder / "app-1.inprogress").write_bytes(lines(small_job()[:20]))
    whole, part = sorted(read_all(folder).rows, key=lambda row: row.failure)
    assert (whole.tasks, part.core_s) == (16, None)
    approve(part.failure)
