"""Rates of machine types, as the model of applications takes them from the catalogs."""

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


def test_a_type_without_local_disks_has_one_volume() -> None:
    types = _types("aws", "us-east-1")
    volume, local = types["m5.4xlarge"], types["i4i.4xlarge"]
    # what a gp3 comes with, in both
    assert (volume.disk_bytes_per_s, volume.disk_ops_per_s) == (125 * 2**20, 3000)
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
