"""The list of a history server, page by page, and its logs."""

from __future__ import annotations

from pathlib import Path

import pytest
from history_server import HistoryServer, history_server
from refusals import refused
from spark_events import lines, small_job

from planner.errors import IoFailureError
from planner.spark.fleet.history_server import download, list_applications

ENDS = {**{f"app-{number}": 1_700_000_000_000 + number // 2 for number in range(25)}, "app-running": None}


def test_pages_miss_none_and_repeat_none() -> None:
    with history_server(HistoryServer(logs={}, ends_ms=ENDS)) as server:
        found = list_applications(server.address, page=4)
    assert sorted(app.app_id for app in found.ended) == sorted(app for app in ENDS if app != "app-running")
    assert found.running == 1
    assert sum("limit=4" in path for path in server.asked) > 5


def test_more_of_one_end_than_a_page_takes() -> None:
    ends = {f"app-{number}": 1_700_000_000_000 for number in range(9)} | {"app-early": 1_600_000_000_000}
    with history_server(HistoryServer(logs={}, ends_ms=ends)) as server:
        assert len(list_applications(server.address + "/api/v1/", page=2).ended) == 10


def test_an_application_has_ended_where_its_latest_attempt_has() -> None:
    server = HistoryServer(logs={}, ends_ms={"app-1": 5, "app-2": 6, "app-3": None}, lost=frozenset({"app-2"}))
    with history_server(server):
        found = list_applications(server.address)
    assert {app.app_id for app in found.ended} == {"app-1", "app-2"}
    assert found.running == 1


def test_what_fails_in_passing_is_asked_again(tmp_path: Path) -> None:
    logs = {"app-1": {"app-1": lines(small_job())}}
    with history_server(HistoryServer(logs=logs, ends_ms={"app-1": 5})) as server:
        server.failing = {"/api/v1/applications": 1, "/api/v1/applications/app-1/logs": 2}
        (app,) = list_applications(server.address).ended
        download(app.logs_url, tmp_path / "log")
        assert (tmp_path / "log").read_bytes().startswith(b"PK")
        with refused("log-gone", kind=IoFailureError):
            download(app.logs_url.replace("app-1", "app-2"), tmp_path / "other")


def test_another_server_is_named() -> None:
    with history_server(HistoryServer(logs={}, ends_ms={})) as server, refused("not-a-history-server"):
        list_applications(server.address + "/elsewhere")


def test_no_server_is_named() -> None:
    with history_server(HistoryServer(logs={}, ends_ms={})) as server:
        pass
    with pytest.raises(IoFailureError, match="does not answer"):
        list_applications(server.address)
