"""Output at 60, 80 and 120 columns: no line is longer, and no name is cut."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from approvals import Approve
from spark_events import CODECS, lines, small_job
from typer.testing import CliRunner

from planner.cli.app import build
from planner.cli.shell.console import exit_code_of, show, table, talk
from tests.marks import QUICK_SOAK

SHOWN = (
    "plan --data 100TB --show wide",
    "plan --data 100TB --show table",
    "plan --data 10TB --explain --instance i8g.8xlarge --nodes 20",
    "plan --data 10TB --model all --instance i8g.8xlarge,i4i.*",
    "plan --data 10TB --cloud oci --show table",
    "plan --data 1TB --cloud azure --instance *_v1,*_v2 --rejected",
    "catalog rank --by usd_per_MBps --catalog aws,oci --top 5",
    "models",
    "scale i3 --data 1TB --max-nodes 50",
    "screen nodes.csv --metric network --spares-for 178",
    "cluster status",
    "doctor",
    "storage --iops 16k --throughput 1.5GB/s --data 10TB",
    "catalog show i8g.8xlarge",
    "explain-log app.zstd",
    "explain-log app.zstd --show stages",
)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("desk")
    rows = [f"r20261121-1430-x7k2mq-node-{n:03}.us-east-1.compute.internal,{1000 + n}e6,{900 + n}e6" for n in range(20)]
    (folder / "nodes.csv").write_text("\n".join(["node,local_read,network", *rows, "slow,3e8,9e8\n"]))
    (folder / "app.zstd").write_bytes(CODECS["zstd"](lines(small_job())))
    return folder


@pytest.mark.parametrize("columns", [60, pytest.param(80, marks=QUICK_SOAK), pytest.param(120, marks=QUICK_SOAK)])
@pytest.mark.parametrize("command", SHOWN)
def test_nothing_is_wider_than_the_screen_or_cut(
    command: str, columns: int, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(desk)
    monkeypatch.setenv("COLUMNS", str(columns))
    done = CliRunner().invoke(build(), command.split())
    assert done.exit_code == 0 and done.stdout.strip()
    assert [line for line in done.stdout.splitlines() if len(line) > columns] == []
    assert "…" not in done.stdout
    if "i8g" in done.stdout:
        assert re.search(r"i8g\.8xlarge\b", done.stdout)


WIDE = ("name", "size", "sentence", "last")
ROWS = [
    ("Standard_L32aos_v4", "1234567890123", "words that can be broken anywhere", "12345678"),
    ("i8g.8xlarge", "1", "few words", "9"),
]


def shown(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, drop_first: bool = True
) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(columns))
    show(table(WIDE, ROWS), drop_first=("size", "sentence") if drop_first else ())
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_a_table_loses_columns_before_it_becomes_blocks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], approve: Approve
) -> None:
    """Least widths: 18 + 13 + 14 + 8 and three gaps of 2 are 59; without size 44; without the sentence as well, 28."""
    assert shown(80, monkeypatch, capsys)[1].split() == " ".join(ROWS[0]).split()
    assert shown(59, monkeypatch, capsys)[0].split() == list(WIDE)
    fewer = shown(58, monkeypatch, capsys)
    assert fewer[0].split() == ["name", "sentence", "last"]
    approve(" ".join(fewer[-2:]))
    assert shown(43, monkeypatch, capsys)[:2] == ["name                last", "Standard_L32aos_v4  12345678"]
    assert shown(58, monkeypatch, capsys, drop_first=False)[0].split() == ["name", "Standard_L32aos_v4"]


@pytest.mark.parametrize("columns", range(40, 100, 3))
def test_a_table_has_the_width_of_the_screen_at_most(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown(columns, monkeypatch, capsys)
    assert max(map(len, lines)) <= columns
    assert sum("Standard_L32aos_v4" in line for line in lines) == 1
    assert any(line.endswith("12345678") for line in lines)


def test_what_the_system_says_of_a_file_is_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    name = "x" * 256
    assert exit_code_of(lambda: Path(name).stat() and None) == 6
    message = f"error: {name}: File name too long; name another file, or change what forbids this\n"
    assert capsys.readouterr().err == message


def test_messages_have_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    talk("in\x1b[31m\r\x9b.txt:\n\tno such file")
    assert capsys.readouterr().err == "in\\x1b[31m\\x0d\\x9b.txt:\n\tno such file\n"
