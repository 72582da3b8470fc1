"""The head of a catalog, and the errors it is refused for."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.catalog.loading import load_catalog
from planner.catalog.manifest import scan_manifest
from planner.errors import PlannerError

HEAD = (
    'title = "t"\ncloud = "aws"\ncurrency = "USD"\ndefault_region = "here"\nprices_as_of = 2026-11-01\n'
    "hours_per_month = 720\n"
)
BOOT = """[boot]
launches = 9
median_s = {}
p90_s = 80
p95_s = 90
node_sigma = 0.1
evidence = "measured"
source = "s"
"""


@pytest.mark.parametrize(
    ("table", "field"),
    [
        ("[placement]\nmachines_most = 5", "placement.evidence"),
        ('[placement]\nmachines_most = 0\nevidence = "spec"\nsource = "s"', "placement.machines_most"),
        ('[placement]\nmachines_most = 1.5\nevidence = "spec"\nsource = "s"', "placement.machines_most"),
        ('[placement]\nmachines_most = 5\nevidence = "hearsay"\nsource = "s"', "placement.evidence"),
        (
            '[spot]\ninterruptions_per_node_hour = 61\nevidence = "spec"\nsource = "s"',
            "spot.interruptions_per_node_hour",
        ),
        ('[billing]\nstep_s = 0\nminimum_s = 60\nevidence = "spec"\nsource = "s"', "billing.step_s"),
        ('[sources.s]\nurl = "u"', "sources.s.title"),
        ("[future]", "future"),
        (BOOT.format(90), "boot"),
    ],
)
def test_a_wrong_head_is_named_with_what_was_expected(tmp_path: Path, table: str, field: str) -> None:
    (tmp_path / "catalog.toml").write_text(HEAD + table + "\n")
    with pytest.raises(PlannerError) as refused:
        load_catalog(tmp_path)
    assert field in str(refused.value) and "catalog.toml" in str(refused.value)


def test_a_head_may_begin_with_the_mark_of_windows(tmp_path: Path) -> None:
    (tmp_path / "catalog.toml").write_text(HEAD, "utf-8-sig")
    assert scan_manifest(tmp_path)[1] == []
