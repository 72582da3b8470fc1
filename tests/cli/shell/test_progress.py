"""Messages printed for a cluster's events."""

from __future__ import annotations

import pytest
from approvals import Approve

from planner.cli.shell.progress import shown_events


def test_what_the_phases_take_at_least_is_said_before_they_begin(
    capsys: pytest.CaptureFixture[str], approve: Approve
) -> None:
    planned = {"event": "planned", "form": "parquet", "data_bytes": 10**12, "copies": 2}
    with shown_events() as show:
        show(planned | {"nodes": 10, "cpus": 160.0, "link_bytes_per_s": 1e9})
    printed = capsys.readouterr().err
    approve(printed)
