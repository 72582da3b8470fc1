"""Rates of machine types, as the model of applications reads them from the catalogs."""

from __future__ import annotations

import math

from planner.catalog import load_catalog
from planner.planning.request.region import Region
from planner.schemas.plan import Request
from planner.spark.model.machines import NodeType, machines


def _types(cloud: str, region: str) -> dict[str, NodeType]:
    catalog = load_catalog(cloud)
    offer = Region.of(Request(data_bytes=1, catalogs=(cloud,)), catalog, region).offer
    return {machine.instance_type: machine for machine in machines(catalog, offer)}


def test_a_type_without_local_disks_has_the_volumes_that_emr_gives_it() -> None:
    types = _types("aws", "us-east-1")
    local = types["i4i.4xlarge"]
    for name, volumes in {"m6i.large": 1, "m6i.xlarge": 2, "m6i.2xlarge": 4, "m6i.24xlarge": 4}.items():
        rates = (types[name].disk_bytes_per_s, types[name].disk_ops_per_s)
        assert rates == (min(volumes * 125 * 2**20, rates[0]), min(volumes * 3000, rates[1]))
        assert volumes * 50e6 < rates[0], "the link carries most of it"
    assert types["m6i.24xlarge"].disk_bytes_per_s == 4 * 125 * 2**20
    assert local.disk_bytes_per_s > 1e9 and math.isnan(local.disk_ops_per_s)


def test_without_a_known_volume_the_link_counts() -> None:
    catalog = load_catalog("oci")
    made = machines(catalog, Region.of(Request(data_bytes=1, catalogs=("oci",)), catalog, catalog.default_region).offer)
    remote = [machine for machine in made if not machine.local_disks]
    assert remote and all(
        machine.disk_bytes_per_s == link or (math.isnan(machine.disk_bytes_per_s) and math.isnan(link))
        for machine in remote
        for link in [catalog.instances.volume_bytes_per_s[catalog.instances.index(machine.instance_type)]]
    )
