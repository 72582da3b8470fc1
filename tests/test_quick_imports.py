"""Commands load heavy packages only where they need them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
PLAN = ["plan", "--data", "100TB", "--model", "indy", "--catalog", "aws-2014"]
CALL = """
sys.argv = {words}
from planner.cli.app import {entry}
try:
    {entry}()
except SystemExit as exit:
    assert not exit.code, exit.code
"""
RUN_PLAN = CALL.format(words=PLAN, entry="plan_main")
NOT_FOR_A_PLAN = {
    "pandas",
    "pydantic",
    "rich",
    "altair",
    "planner.clouds",
    "planner.clusters.runs",
    "planner._sortcore",
}
NOT_FOR_A_RUN = {"psutil", "planner.clusters.emulated"}
NOT_FOR_HELP = NOT_FOR_A_PLAN | {"numpy", "planner.planning", "planner.catalog"}
NOT_FOR_A_SORT = {"pandas", "numpy", "pydantic", "rich"}
OF_RECORDS = ["--format", "records"]
TO_PARQUET = ["--format", "csv", "--key", "b", "--output-format", "parquet"]
OF_CSV = ["--format", "csv", "--key", "b:num", "--threads", "2", "--memory", "1GB", "--force"]
RUN_SORT = """
import os, tempfile
os.chdir(tempfile.mkdtemp())
open("in", "wb").write({content})
sys.argv = ["planner", "sort", "in", "out", "--json", *{options}]
from planner.cli.app import main
try:
    main()
except SystemExit as exit:
    assert not exit.code, exit.code
"""


def loaded_by(statements: str) -> set[str]:
    """Return the modules in memory after a new interpreter ran `statements`."""
    code = f"import sys\n{statements}\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=CHECKOUT)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


@pytest.mark.parametrize(
    ("statements", "absent"),
    [
        pytest.param("import planner", {"pandas", "numpy", "typer", "rich"}, id="import planner"),
        pytest.param("import planner.cli.app", {"pandas", "numpy"}, id="import planner.cli.app"),
        pytest.param("import planner.clusters.runs.local, planner.report.run", NOT_FOR_A_RUN, id="run"),
        pytest.param("import planner.report.page, planner.spark.log", {"planner._sortcore"}, id="pages without a core"),
        pytest.param(RUN_PLAN, NOT_FOR_A_PLAN, id="plan"),
        pytest.param(CALL.format(words=["plan", "--help"], entry="plan_main"), NOT_FOR_HELP, id="plan --help"),
        pytest.param(CALL.format(words=["planner", "--help"], entry="main"), NOT_FOR_HELP, id="planner --help"),
        pytest.param(RUN_SORT.format(content="bytes(1000)", options=OF_RECORDS), NOT_FOR_A_SORT, id="planner sort"),
        pytest.param(RUN_SORT.format(content="b'a,b\\n2,1\\n'", options=OF_CSV), NOT_FOR_A_SORT, id="sort of CSV"),
        pytest.param(
            RUN_SORT.format(content="b'a,b\\n' + b'2,1\\n' * 40_000", options=TO_PARQUET),
            NOT_FOR_A_SORT - {"numpy"},
            id="sort of CSV into Parquet",
        ),
    ],
)
def test_heavy_packages_are_loaded_when_needed_and_not_before(statements: str, absent: set[str]) -> None:
    assert not loaded_by(statements) & (absent | {"ray", "boto3"})


@pytest.mark.parametrize("options", [OF_RECORDS, OF_CSV], ids=["records", "csv"])
def test_a_python_built_without_bzip2_xz_and_sqlite_sorts(options: list[str]) -> None:
    lacking = "sys.modules.update(dict.fromkeys(('_bz2', '_lzma', '_sqlite3')))\n"
    content = "b'a,b\\n2,1\\n'" if options == OF_CSV else "bytes(1000)"
    assert "planner._sortcore" in loaded_by(lacking + RUN_SORT.format(content=content, options=options))
