"""The user's measurements laid over a catalog."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from planner.catalog import Catalog, check_catalog, facts_on, load_catalog
from planner.errors import BadInputError

HEAD = """instance_type,quantity,bytes_per_s,disks,nodes,placement_group,aggregate,zone,as_of,instances,repeats,\
method,source"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of measurements on the catalog `cloud`, not yet there."""
    monkeypatch.setenv("PLANNER_MEASUREMENTS", str(tmp_path / "mine"))
    (tmp_path / "mine").mkdir()
    return tmp_path / "mine" / "cloud.csv"


def laid(cloud: Path, mine: Path, *rows: str) -> Catalog:
    mine.write_text("\n".join([HEAD, *rows]) + "\n")
    return load_catalog(cloud)


def rate(catalog: Catalog, mode: str) -> float:
    return float(catalog.disk_rates(mode).bytes_per_s[catalog.instances.index("large")])


def test_a_measured_rate_replaces_the_shipped_one_and_no_other(cloud: Path, mine: Path) -> None:
    before = load_catalog(cloud)
    after = laid(cloud, mine, "large,read_only,3e9,,,,mean,here,2026-11-01,1,1,fio,a.json")
    assert rate(before, "read_only") == 4e9 and rate(after, "read_only") == 3e9
    assert rate(after, "write_only") == rate(before, "write_only")
    assert "your own measurements" in after.sources[str(after.disk_rates("read_only").source[2])].title


def test_several_measurements_count_as_their_mean_by_weight(cloud: Path, mine: Path) -> None:
    rows = (
        "large,read_only,1e9,,,,mean,here,2026-11-01,1,2,fio,a.json",
        "large,read_only,4e9,,,,mean,here,2026-11-02,1,1,fio,b.json",
    )
    assert rate(laid(cloud, mine, *rows), "read_only") == pytest.approx(2e9)


def test_network_points_make_a_curve(cloud: Path, mine: Path) -> None:
    rows = [
        f"large,network,{r},,{n},yes,slowest_of_n,here,2026-11-01,{n},3,netbench,a" for n, r in ((2, 2e9), (8, 1e9))
    ]
    points = laid(cloud, mine, *rows).network_points["large"]
    assert [(p.nodes, p.bytes_per_s, p.placement_group, p.aggregate) for p in points] == [
        (2, 2e9, True, "slowest_of_n"), (8, 1e9, True, "slowest_of_n"),
    ]  # fmt: skip


def test_show_says_whose_they_are(cloud: Path, mine: Path) -> None:
    catalog = laid(cloud, mine, "large,read_only,3e9,,,,mean,here,2026-11-01,1,1,fio bs=1M,a.json")
    (fact,) = [f for f in facts_on(catalog, "large") if "read_only" in f.field and f.field.startswith("bytes_per_s")]
    assert (fact.value, fact.source, fact.evidence, fact.note) == (3e9, "yours", "measured", "fio bs=1M")


def test_a_change_of_the_measurements_is_seen(cloud: Path, mine: Path) -> None:
    assert rate(laid(cloud, mine, "large,read_only,3e9,,,,mean,here,2026-11-01,1,1,fio,a"), "read_only") == 3e9
    assert rate(laid(cloud, mine, "large,read_only,2.5e9,,,,mean,here,2026-11-01,1,1,fio,a"), "read_only") == 2.5e9
    mine.unlink()
    assert rate(load_catalog(cloud), "read_only") == 4e9


def test_mistakes_in_the_measurements_are_told_with_their_place(cloud: Path, mine: Path) -> None:
    rows = (
        "huge,read_only,3e9,,,,mean,here,2026-11-01,1,1,fio,a",
        "large,reading,-3,,,,mean,here,2026-11-01,1,1,fio,a",
    )
    with pytest.raises(BadInputError) as error:
        laid(cloud, mine, *rows)
    assert len(error.value.details) == 3
    assert all("cloud.csv:" in line for line in error.value.details)
    (finding, *_) = check_catalog(cloud, today=np.datetime64("2026-01-02").item())
    assert finding.severity == "error"
