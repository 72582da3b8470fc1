"""The user's measurements applied over a catalog."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from approvals import Approve

from planner.catalog import Catalog, check_catalog, facts_on, load_catalog
from planner.errors import BadInputError

HEAD = """instance_type,quantity,bytes_per_s,disks,nodes,placement_group,aggregate,zone,as_of,instances,repeats,\
method,source"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of the measurements for catalog `cloud`; the file does not exist yet."""
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


def storage(catalog: Catalog) -> tuple[float, float]:
    """Return the rate and operations of local disk reads."""
    rates, row = catalog.disk_rates("read_only"), catalog.instances.index("large")
    return float(rates.bytes_per_s[row]), float(rates.operations_per_s[row])


def shipped_operations(cloud: Path, value: str) -> None:
    path = cloud / "disks.csv"
    head, first, *rest = path.read_text().splitlines()
    lines = [f"{head},operations_per_s", f"{first},{value}", *(f"{line}," for line in rest)]
    path.write_text("\n".join(lines) + "\n")


BLOCKS = HEAD + ",pattern,block_bytes,operations_per_s,buffered,side,read_share"


def test_an_own_bandwidth_leaves_the_shipped_operations(cloud: Path, mine: Path) -> None:
    shipped_operations(cloud, "5e5")
    after = laid(cloud, mine, "large,read_only,3e9,,,,mean,here,2026-11-01,1,1,fio,a.json")
    assert storage(after) == (3e9, 5e5)


def test_own_operations_leave_the_shipped_bandwidth(cloud: Path, mine: Path) -> None:
    shipped_operations(cloud, "5e5")
    row = "large,read_only,1e9,,,,mean,here,2026-11-01,1,1,fio,a.json"
    mine.write_text(f"{BLOCKS}\n{row},random,4096,250000,no,,\n")
    assert storage(load_catalog(cloud)) == (4e9, 250_000)


def test_of_several_settings_the_fastest_counts_but_not_through_the_page_cache(cloud: Path, mine: Path) -> None:
    row = "large,read_only,{},,,,mean,here,2026-11-01,1,1,fio,a.json,{},{},,{},,"
    told = (("2e9", "random", 65536, "no"), ("3e9", "sequential", 2**20, "no"), ("9e9", "sequential", 2**20, "yes"))
    mine.write_text("\n".join([BLOCKS, *(row.format(*cells) for cells in told)]) + "\n")
    assert storage(load_catalog(cloud))[0] == 3e9


def test_reading_and_writing_at_once_counts_by_the_slower_side_of_an_even_mix(cloud: Path, mine: Path) -> None:
    row = "large,simultaneous,{},,,,mean,here,2026-11-01,1,1,fio,a.json,random,1048576,,no,{},{}"
    told = (("8e8", "read", 0.5), ("5e8", "write", 0.5), ("9e8", "read", 0.7), ("1e8", "write", 0.7))
    mine.write_text("\n".join([BLOCKS, *(row.format(*cells) for cells in told)]) + "\n")
    assert rate(load_catalog(cloud), "simultaneous") == 5e8


def test_blocks_between_are_no_basis_of_a_plan(cloud: Path, mine: Path) -> None:
    row = "large,read_only,3e9,,,,mean,here,2026-11-01,1,1,fio,a.json,random,16384,183105,no,,"
    mine.write_text(f"{BLOCKS}\n{row}\n")
    assert rate(load_catalog(cloud), "read_only") == 4e9


def test_measured_volumes_are_no_local_disks(cloud: Path, mine: Path, approve: Approve) -> None:
    (cloud / "volumes.csv").write_text(
        "volume_type,price_usd_per_gib_month,price_evidence,evidence,source,as_of\ngp3,0.08,spec,spec,lab,2026-01-01\n"
    )
    row = "small.8,{},{},,,,mean,here,2026-11-01,1,1,fio,a.json,{},{}"
    told = (("read_only", "5e8", "gp3", 4), ("write_only", "4e8", "gp3", 4))
    mine.write_text("\n".join([HEAD + ",volume_type,volumes", *(row.format(*cells) for cells in told)]) + "\n")
    catalog = load_catalog(cloud)
    on_volumes = catalog.volume_rates("gp3", "read_only").bytes_per_s[catalog.instances.index("small.8")]
    assert on_volumes == 5e8 and catalog.tables["volume_rates"]["volumes_least"].tolist() == [4, 4]
    assert np.isnan(catalog.disk_rates("read_only").bytes_per_s[catalog.instances.index("small.8")])
    mine.write_text(f"{HEAD}\n{row.format('read_only', '5e8', '', '').removesuffix(',,')}\n")
    with pytest.raises(BadInputError) as caught:
        load_catalog(cloud)
    approve(caught.value.details[0])
