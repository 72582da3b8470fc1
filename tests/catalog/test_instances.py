"""Combined limits of a type's volumes: from its own row first, then from further sources."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from planner.catalog import load_catalog


@pytest.fixture
def limited(cloud: Path) -> Path:
    """A catalog where `large` states its own rate, and further sources state one for `large` and for `small.8`."""
    path = cloud / "instances.csv"
    head, *rows = path.read_text().splitlines()
    own = [f"{row},{'2e9' if row.startswith('large') else ''}" for row in rows]
    path.write_text("\n".join([f"{head},volume_bytes_per_s", *own]) + "\n")
    (cloud / "volume_limits.csv").write_text(
        "instance_type,volume_bytes_per_s,volume_iops,volumes_max,evidence,source,as_of\n"
        "large,9e9,5000,4,recalled,lab,2026-01-01\nsmall.8,3e8,,,recalled,lab,2026-01-01\n"
    )
    return cloud


def test_what_the_shape_leaves_blank_is_filled_and_nothing_else(limited: Path) -> None:
    catalog = load_catalog(limited)
    rows = [catalog.instances.index(name) for name in ("large", "small.8", "small.1")]
    assert catalog.instances.volume_bytes_per_s[rows].tolist() == pytest.approx([2e9, 3e8, np.nan], nan_ok=True)
    assert catalog.instances.volume_iops[rows[0]] == 5000 and catalog.instances.volumes_max[rows[0]] == 4


def test_a_limit_is_as_sure_as_the_source_that_it_is_from(limited: Path) -> None:
    catalog = load_catalog(limited)
    evidence = dict(zip(catalog.instances.names, catalog.volume_limits.evidence.tolist(), strict=True))
    assert evidence == {"large": "spec", "small.8": "recalled", "small.1": "spec"}


def test_a_type_with_added_disks_has_the_limits_of_the_clouds_type() -> None:
    gcp = load_catalog("gcp")
    plain, added = (gcp.instances.index(name) for name in ("n2-standard-32", "n2-standard-32+8x375GB"))
    limits = gcp.instances.volume_bytes_per_s
    assert limits[plain] == limits[added] == 1.2e9
    assert gcp.volume_limits.evidence[added] == "recalled"


@pytest.mark.parametrize(
    ("name", "instance_type", "bytes_per_s"),
    [("azure", "Standard_D8s_v5", 2.9e8), ("oci", "VM.Standard.E3.Flex-8", 1e9), ("gcp", "e2-standard-4", 2.4e8)],
)
def test_volumes_of_other_clouds_have_limits(name: str, instance_type: str, bytes_per_s: float) -> None:
    catalog = load_catalog(name)
    assert catalog.instances.volume_bytes_per_s[catalog.instances.index(instance_type)] == bytes_per_s


@pytest.mark.parametrize(
    ("name", "instance_type"),
    [
        ("aws-2019", "r5.24xlarge"),
        ("azure-2019", "Standard_E64s_v3"),
        ("gcp-2019", "n1-highmem-96"),
        ("oci-2019", "BM.Standard2.52"),
    ],
)
def test_the_four_machines_of_lee_and_fox_can_be_planned_with_volumes(name: str, instance_type: str) -> None:
    from planner import recommend

    answer = recommend(data="600GB", model="cloudsort", catalogs=(name,), nodes=3, engine="ideal")
    assert answer.best is not None and answer.best.instance_type == instance_type
