"""The notebook that rents the cluster it planned: on an emulated EC2 whose machines really sort."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from emulated_ec2 import EmulatedEc2
from emulated_machines import EmulatedMachines

from planner.clusters.provisioning.run_directory import RunDirectory
from planner.schemas.run_report import RunReport
from tests.journeys.test_notebooks_run import execute, outputs_of, read
from tests.marks import quick_soak

pytestmark = pytest.mark.needs_root(why="machines are network namespaces")


@quick_soak
def test_the_notebook_rents_sorts_and_takes_down(
    ec2: EmulatedEc2, machines: EmulatedMachines, wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANNER_MEASUREMENTS", str(tmp_path / "measurements"))
    notebook = read("07_rented_run")
    (settings,) = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", ())]
    settings.source = f"""
data, model, cloud = "20MB", "daytona", "aws"
renting = {{"max_cost": 5, "ssh_from": "203.0.113.7/32", "screen_seconds": "1s", "screen_size": "20MB"}}
options = {{"wheelhouse": {str(wheels)!r}, "memory_bytes": 500_000_000}}
agreed = True
"""
    given = tmp_path / "given.ipynb"
    nbformat.write(notebook, given)
    executed = execute(given, tmp_path / "executed.ipynb", cell_timeout_s=400)
    directory = RunDirectory.open(ec2.runs()[0])
    report = RunReport.from_json((directory.path / "report.json").read_text("utf-8"))
    assert report.passed and report.cost and report.cost.usd > 0
    assert [check.records for check in report.checks] == [200_000] * 2
    texts = [output.get("text", "") + str(output.get("data", "")) for output in outputs_of(executed)]
    assert any("node_hours" in text for text in texts)
    assert ec2.left() == {} and machines.are_gone()
