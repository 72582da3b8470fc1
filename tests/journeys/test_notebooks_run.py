"""Every notebook runs from a clean kernel without a complaint, draws its charts, and is stored without its output."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.marks import QUICK_SOAK

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
CHARTS = {
    "01_what_if": 5,
    "02_scaling_curves": 2,
    "03_variability": 2,
    "04_predicted_vs_measured": 1,
    "05_run_report": 2,
    "06_spark_log": 1,
    "07_rented_run": 1,
    "08_hardware_balance": 0,
    "09_sorted_table": 2,
}
FIRST = ("05_run_report",)
"""Those run by `make test`: with controls, and of a run. Each takes a kernel and five seconds of a processor."""


def read(name: str) -> Any:
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def outputs_of(notebook: Any) -> list[Any]:
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def test_every_notebook_is_listed() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == CHARTS.keys()


@pytest.mark.parametrize("name", CHARTS)
def test_notebook_is_kept_without_output(name: str) -> None:
    cells = [cell for cell in read(name).cells if cell.cell_type == "code"]
    assert not outputs_of(read(name)) and all(cell.execution_count is None for cell in cells)


EXECUTE = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
still = nbformat.v4.new_code_cell("import altair; altair.renderers.enable('svg');")
notebook.cells.insert(0, still)
place = {"metadata": {"path": sys.argv[2]}}
client = NotebookClient(notebook, timeout=int(sys.argv[4]), resources=place, extra_arguments=["--log-level=40"])
client.widget_registry.clear()
client.execute()
nbformat.write(notebook, sys.argv[3])
"""
"""Runs in a process of its own, since the client's event loop and its kernel end with it; the kernel draws the charts.

The client must not play the browser's output widget. It would send on the socket on which it waits for the cell's
reply, and if the reply came first, wait for it until the timeout. So a control's drawing is an output of its cell.
"""


def execute(notebook: Path, executed: Path, *, cell_timeout_s: int = 120) -> Any:
    """Run a notebook in its own folder, and return it with its outputs."""
    command = [sys.executable, "-c", EXECUTE, str(notebook), str(FOLDER), str(executed), str(cell_timeout_s)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return nbformat.read(executed, as_version=4)


@pytest.mark.parametrize("name", [name if name in FIRST else pytest.param(name, marks=QUICK_SOAK) for name in CHARTS])
def test_notebook_runs_and_draws(name: str, tmp_path: Path) -> None:
    outputs = outputs_of(execute(FOLDER / f"{name}.ipynb", tmp_path / "executed.ipynb"))
    charts = [output.data["image/svg+xml"] for output in outputs if "image/svg+xml" in output.get("data", {})]
    assert len(charts) == CHARTS[name]
    assert all("aria-roledescription" in chart and "NaN" not in chart for chart in charts)
    complaints = [output.text for output in outputs if output.output_type == "stream" and output.name == "stderr"]
    assert not complaints
