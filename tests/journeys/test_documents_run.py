"""The commands of the start page, the how-tos and the README are run here as printed, on less data."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from planner.cli.app import build
from tests.marks import QUICK_SOAK, quick_soak

CHECKOUT = Path(__file__).resolve().parents[2]
SMALLER = {"1e6": "10000", "1GB": "1MB"}
NOT_HERE = {
    "make": "sets a checkout up, which has been done",
    "pip": "brings what the tests have",
    "SORTPLANNER_NO_NATIVE": "installs: tests/test_installed_wheel.py",
    ".": "activates an environment",
    "planner bench": "takes long: tests/cli/measure/test_bench.py",
    "planner ingest": "takes the bench's output: tests/measurement/ingest/test_ingest.py",
    "planner calibrate": "takes the user's runs: tests/cli/test_help.py",
    "planner predict": "takes the user's profile: tests/cli/test_help.py",
    "planner run --cloud": "rents, or needs root: tests/provisioning, tests/emulation",
    "planner cluster": "rents machines: tests/provisioning",
    "planner catalog refresh": "needs a cloud: tests/refresh",
    "planner doctor --cloud": "needs an account: tests/cli/measure/test_doctor.py",
    "planner validate sorted": "takes the user's files: tests/cli/sort/test_validate.py",
    "plan --data 1TB --model indy --profile": "takes the user's profile: tests/cli/test_help.py",
    "planner plan-log": "takes the user's event log: tests/cli/logs/test_plan_log.py",
    "plan --input": "takes the user's files: tests/api/test_listed_input.py",
    "alias sort=": "changes the reader's shell",
    "planner sort --record-size": "takes the user's records: tests/cli/sort/test_sort.py",
    "planner sort --separator": "takes the user's text: tests/cli/sort/test_gnusort.py",
    "planner sort --key": "takes the user's text: tests/cli/sort/test_gnusort.py",
    "planner sort --check": "takes the user's text: tests/cli/sort/test_sort.py",
    "planner sort --format": "takes the user's table: tests/cli/sort/test_sort.py",
    "zcat": "takes the user's text: tests/cli/sort/test_gnusort.py",
    "sort -": "what the alias then does: tests/cli/sort/test_gnusort.py",
    "planner sort --consume-input": "takes the user's text: tests/sorting/consuming/test_consuming_sort.py",
    "planner sort --resume": "takes a sort that was interrupted: tests/sorting/consuming/test_consuming_sort.py",
    "planner sort --lines": "takes the user's text: tests/cli/test_help.py",
}
"""Commands that are not run, by their beginning, with the reason and the tests that do."""

TYPED = ["README.md", "docs/index.md", "docs/how-to.md", "docs/reports.md"]
LONG = {"docs/how-to.md": QUICK_SOAK, "docs/reports.md": QUICK_SOAK, "docs/index.md": QUICK_SOAK}
PYTHON = [
    pytest.param(document, number, marks=QUICK_SOAK if document == "docs/reports.md" else ())
    for document in TYPED
    for number, _ in enumerate(re.findall("```python", (CHECKOUT / document).read_text()))
]


def lines_of(document: str) -> list[str]:
    """Return the commands in a document's indented blocks, in order, without comments."""
    text = (CHECKOUT / document).read_text(encoding="utf-8")
    indented = re.findall(
        r"^    (\S.*)$", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE
    )
    return [re.sub(r"\s+#.*", "", line) for line in indented]


def excused(line: str) -> bool:
    return any(line.startswith(beginning) for beginning in NOT_HERE)


def type_line(line: str) -> None:
    """Run a line's commands, which must all succeed; before `|| true` a failed validation is accepted too."""
    for part in line.split("&&"):
        command, _, otherwise = part.partition("||")
        program, *words = shlex.split(command)
        assert program in {"planner", "plan"}, f"not known how to type {line!r}"
        words = [SMALLER.get(word, word) for word in words]
        done = CliRunner().invoke(build(), words if program == "planner" else ["plan", *words])
        assert done.exit_code == 0 or otherwise, f"{part}: {done.output}{done.exception!r}"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A reader's desk: an empty folder, with copies of the catalog and the model that the how-tos start from."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(CHECKOUT / "catalogs" / "aws", tmp_path / "my-catalog")
    shutil.copy(CHECKOUT / "models" / "indy.toml", tmp_path / "my-model.toml")
    return tmp_path


@pytest.mark.parametrize("document", [pytest.param(name, marks=LONG.get(name, ())) for name in TYPED])
def test_document_can_be_typed_from_top_to_bottom(document: str, desk: Path) -> None:
    if document == "docs/reports.md":  # its reader has a plan and a run
        for line in (
            "plan --data 1TB --model indy --out plan.json",
            "planner run --data 1MB --model indy --out run.json",
        ):
            type_line(line)
    lines = [line for line in lines_of(document) if not excused(line)]
    assert len(lines) >= 3
    for line in lines:
        type_line(line)


@pytest.mark.parametrize(("document", "number"), PYTHON)
def test_python_of_documents_runs(document: str, number: int, desk: Path) -> None:
    blocks = re.findall(
        r"^```python\n(.*?)^```", (CHECKOUT / document).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    names: dict[str, object] = {}
    for block in blocks[: number + 1]:  # a later block continues from an earlier one's results
        exec(block, names)


def test_what_the_start_page_sorts_is_as_it_says(desk: Path) -> None:
    page = (CHECKOUT / "docs/index.md").read_text("utf-8")
    for line in re.findall(r"^\$ (planner (?:generate|sort) .*)$", page, re.MULTILINE):
        type_line(line)
    assert (desk / "in.dat").stat().st_size == (desk / "out.dat").stat().st_size == 10**6
    assert (desk / "in.dat").read_bytes() != (desk / "out.dat").read_bytes()


@pytest.mark.parametrize("beginning", NOT_HERE)
def test_every_excuse_is_used(beginning: str) -> None:
    assert any(line.startswith(beginning) for document in TYPED for line in lines_of(document))


@quick_soak
def test_answers_that_pages_show_are_those_of_today() -> None:
    script = CHECKOUT / "scripts" / "write_shown_answers.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
