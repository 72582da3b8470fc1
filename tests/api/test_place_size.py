"""What lies at a place is counted, or it is said why not."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from planner.api.place_size import PlaceSize, size_of_place
from planner.errors import BadInputError, IoFailureError


def test_files_of_a_folder_and_a_file_are_counted(tmp_path: Path) -> None:
    for name, size in (("a", 10), ("b", 20), ("empty", 0), ("_SUCCESS", 3)):
        (tmp_path / name).write_bytes(bytes(size))
    assert size_of_place(str(tmp_path)) == PlaceSize(files=2, bytes=30)
    assert size_of_place(str(tmp_path / "b")) == PlaceSize(files=1, bytes=20)


def test_nothing_there_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="no such file"):
        size_of_place(str(tmp_path / "absent"))


def test_a_store_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
        with pytest.raises(IoFailureError, match="no answer within 1 s"):
            size_of_place("s3://bucket/prefix", patience_s=1.0)
