"""A newcomer's commands for files to sort, measurements and logs, and the answers they need."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from approvals import Approve
from refusals import refused
from spark_events import lines, small_job

import planner

Typed = Callable[..., str]
FIO = Path(__file__).resolve().parents[2] / "measurement/ingest/data/fio_mixed.json"


def test_sort_a_file_and_be_sure_that_nothing_is_lost(typed: Typed, tmp_path: Path) -> None:
    assert "missing.dat: no such file" in typed("planner sort missing.dat out.dat", code=2)
    typed("planner generate --records 10000 in.dat")
    typed("planner sort in.dat out.dat")
    checked = typed("planner validate out.dat")
    assert "Records: 10000" in checked and "Unordered: 0" in checked
    assert "--force" in typed("planner sort in.dat out.dat", code=2)
    broken = bytearray((tmp_path / "out.dat").read_bytes())
    broken[:10] = b"\xff" * 10
    (tmp_path / "out.dat").write_bytes(broken)
    assert "Unordered: 1" in typed("planner validate out.dat", code=5)


def test_a_table_by_two_columns(typed: Typed, tmp_path: Path, approve: Approve) -> None:
    (tmp_path / "sales.csv").write_text('city,amount\nRome,3\n"Berlin, Mitte",12\nBerlin,9\nRome,21\n')
    approve(typed("planner sort sales.csv sorted.csv", code=2))
    answer = typed("planner sort sales.csv sorted.csv --key city --key amount:int:desc")
    assert "taken for CSV" in answer and "4 rows" in answer
    rows = (tmp_path / "sorted.csv").read_text().splitlines()
    assert rows == ["city,amount", "Berlin,9", '"Berlin, Mitte",12', "Rome,21", "Rome,3"]
    assert "in order" in typed("planner validate sorted.csv --key city --key amount:int:desc")


def test_a_compressed_log_once_each_line(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "access.log.gz").write_bytes(gzip.compress(b"b\na\nb\n"))
    typed("planner sort --lines --unique access.log.gz sorted.log")
    assert (tmp_path / "sorted.log").read_bytes() == b"a\nb\n"


@pytest.mark.needs_root(why="mounts a small file system")
def test_a_disk_that_is_nearly_full(typed: Typed, tmp_path: Path) -> None:
    typed("planner generate --records 100000 in.dat")
    (tmp_path / "small").mkdir()
    script = 'mount -t tmpfs -o size=4m tmpfs small && "$0" -m planner sort in.dat small/out.dat; ended=$?; ls small'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", f"{script}; exit $ended", sys.executable],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 6 and done.stdout == ""
    assert re.search(r"error: .*(space|free)", done.stderr) and "Traceback" not in done.stderr


def test_what_fio_measured_of_a_machine(typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANNER_MEASUREMENTS", str(tmp_path / "measured"))
    shutil.copy(FIO, tmp_path / "fio.json")
    refused = typed("planner ingest fio.json", code=2)
    assert "give --type" in refused and "give --where" in refused
    typed("planner ingest fio.json --type i4i.4xlarge --where us-east-1a")
    assert "i4i.4xlarge" in typed("planner catalog measurements")


def test_how_fast_this_disk_is(typed: Typed) -> None:
    answer = typed("planner bench disk --dir . --size 8MB --seconds 0.2s --repeats 1")
    assert re.search(r"[\d.]+ [MG]B/s", answer)


def test_a_cheaper_cluster_for_a_spark_job(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "app.log").write_bytes(lines(small_job()))
    asked = "planner plan-log app.log --instance 'm5.*,m7g.*'"
    assert "--ran-on 'm5.4xlarge x 4'" in typed(asked, code=2)
    answer = typed(f"{asked} --ran-on 'm5.4xlarge x 4'")
    assert "Move to" in answer and "as it was 4 x m5.4xlarge" in answer
    assert "saw 8 cores at most; --ran-on says 4 x m5.4xlarge, 64 virtual CPUs" in answer


def test_where_the_time_of_a_spark_job_went(typed: Typed, tmp_path: Path, approve: Approve) -> None:
    (tmp_path / "app.log").write_bytes(lines(small_job()))
    answer = typed("planner explain-log app.log")
    assert "Task time 2 min 0 s: processors 67%" in answer
    approve(answer)


def test_a_log_that_is_none(typed: Typed, tmp_path: Path, approve: Approve) -> None:
    (tmp_path / "sales.csv").write_text("city,amount\nRome,3\n")
    for command in ("planner plan-log sales.csv", "planner explain-log sales.csv"):
        approve(typed(command, code=2))


def test_plan_bill_and_frontier_in_python() -> None:
    answer = planner.recommend("8TB")
    assert answer.best is not None and answer.bill is not None
    assert answer.bill.total_usd == pytest.approx(answer.best.cost_usd.total, abs=0.01)  # in cents
    assert len(str(answer.best).splitlines()) <= 5
    assert len(answer.frontier) >= 2
    changed = answer.what_if(network=2).best
    assert changed is not None and changed.cost_usd.total < answer.best.cost_usd.total


def test_a_wrong_word_in_python_names_the_right_one() -> None:
    with refused("unknown-argument", "pricing='spot'", field="spot"):
        planner.recommend("5TB", spot=True)
