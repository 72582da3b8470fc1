"""`planner run --cloud emulated` from files of this machine to a directory on it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from refusals import require
from typer.testing import CliRunner

from planner.api.input_dataset import input_dataset
from planner.cli.app import build
from planner.errors import BadInputError
from planner.native import core
from planner.sorting.sort_job import InputFormat
from tests.clusters.emulated.test_store_to_store_journey import kinds

pytestmark = pytest.mark.xdist_group("root")  # namespaces and Ray, like the tests that need root


def run(directory: Path, *options: str) -> tuple[dict[str, Any], str]:
    words = [sys.executable, "-m", "planner", "run", "--cloud", "emulated", "--nodes", "2", "--model", "indy", "--json"]
    environment = os.environ | {"PLANNER_STATE": str(directory / "state")}
    environment |= {"AWS_ENDPOINT_URL": "https://nobody.invalid", "AWS_ENDPOINT_URL_S3": ""}
    done = subprocess.run(
        [*words, *options], cwd=directory, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.mark.soak
@pytest.mark.quick
@pytest.mark.needs_root(why="makes network namespaces")
def test_a_directory_of_csv_is_sorted_into_another(tmp_path: Path) -> None:
    """Both paths are relative, and no object store is used."""
    options, files, read, expected = kinds()["csv"]
    (tmp_path / "in").mkdir()
    for number, content in enumerate(files):
        (tmp_path / "in" / f"{number} ü.csv").write_bytes(content)
    (tmp_path / "in" / "_SUCCESS").touch()
    report, told = run(tmp_path, "--input", "in", "--output", "out", *options)
    assert report["passed"]
    assert [(check["records"], check["unit"]) for check in report["checks"]] == [(20_000, "rows")]
    assert "of rows in 2 files" in told
    assert [part["name"] for part in report["staging"]] == ["stage out"], "input is read where it lies"
    assert report["staging"][0]["place"] == str(tmp_path / "out")
    assert report["manifest"] == str(tmp_path / "out" / "manifest.json")
    parts = sorted((tmp_path / "out").glob("part-*.csv"))
    assert read([part.read_bytes() for part in parts]) == expected
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert [part["copies"][0]["uri"] for part in manifest["partitions"]] == [str(part) for part in parts]
    assert {path.name for path in tmp_path.iterdir()} == {"in", "out", "state"}, "nothing of the cluster is left"
    words = ["run", "--cloud", "emulated", "--input", str(tmp_path / "in"), "--output", str(tmp_path / "out")]
    again = CliRunner().invoke(build(), [*words, *options])
    assert isinstance(again.exception, BadInputError) and "not empty" in str(again.exception)


@pytest.mark.soak
@pytest.mark.needs_root(why="makes network namespaces")
@pytest.mark.parametrize("form", ["records", "lines", "parquet"])
def test_a_file_of_each_kind_is_sorted_into_a_directory(tmp_path: Path, form: str) -> None:
    output, name = tmp_path / "out", tmp_path / "input"
    if form == "records":
        records = np.empty(3_000_000, np.uint8)
        core.generate_records(records.data, start=0, skewed=False, threads=1)
        name.write_bytes(records.tobytes())
        report, _ = run(tmp_path, "--input", str(name), "--output", str(output))
        held = np.concatenate([np.fromfile(part, np.uint8) for part in sorted(output.glob("part-*"))])
        keys = held.reshape(-1, 100)[:, :10].tobytes()
        ordered = [keys[at : at + 10] for at in range(0, len(keys), 10)]
        assert ordered == sorted(ordered) and len(held) == len(records)
        assert report["checks"][0]["unit"] == "records"
        return
    options, files, read, _ = kinds()[form]
    name.write_bytes(files[0])
    report, _ = run(tmp_path, "--input", str(name), "--output", str(output), *options)
    assert report["checks"][0]["unit"] == {"lines": "lines", "parquet": "rows"}[form]
    held = read([part.read_bytes() for part in sorted(output.glob("part-*"))])
    assert held == sorted(read([files[0]]), reverse=True)
    if form == "parquet":
        assert ds.dataset(sorted(output.glob("*.parquet"))).count_rows() == pq.read_table(name).num_rows


def test_what_lies_nowhere_is_refused_before_anything_is_begun(tmp_path: Path) -> None:
    for options, message in {
        "--input nowhere": "nowhere: there is no such file or directory",
        "--input nowhere --format csv --key k": "nowhere: there is no such file or directory",
        f"--input '{tmp_path}'": "there are no files in it, or only empty ones",
        f"--input '{__file__}' --output '{__file__}' --format records": "not all files hold whole records",
        f"--input '{__file__}' --output '{__file__}' --format lines": "is a file: name a directory",
        f"--input '{__file__}' --output '{Path(__file__).parent}' --format lines": "not empty; name another place",
    }.items():
        done = CliRunner().invoke(build(), ["run", "--cloud", "emulated", "--model", "indy", *shlex.split(options)])
        assert isinstance(done.exception, BadInputError) and message in str(done.exception)


def test_rented_machines_do_not_reach_paths_of_this_one(tmp_path: Path) -> None:
    words = ["run", "--cloud", "aws", "--model", "indy", "--input", str(tmp_path), "--node-identity", "x", "--dry-run"]
    done = CliRunner().invoke(build(), words)
    require(done.exception, "other-cloud", str(tmp_path), "aws")


def test_what_is_planned_for_is_told_of_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_bytes(b"b\na\n")
    assert input_dataset(InputFormat(format="lines"), str(tmp_path / "a.txt"), say=print).records == 4
    assert "holds 4 B of lines in 1 file\n" in capsys.readouterr().out
