"""A simulation in words."""

from __future__ import annotations

from planner.report.terminal.simulation_table import resource_text, waiting


def test_waiting_names_what_counts_most_first_and_leaves_out_little() -> None:
    assert waiting({"driver": 0.12, "local_disks": 0.85, "network": 0.03}) == "local disks 85%, handing out tasks 12%"


def test_what_is_no_resource_has_words_of_its_own() -> None:
    assert resource_text("others") == "slower nodes"
    assert resource_text("one task") == "a task's own threads"
