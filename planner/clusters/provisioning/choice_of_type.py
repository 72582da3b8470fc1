"""Machines of a type that is named, for so long: what is rented where no plan says what for."""

from __future__ import annotations

import math
from collections.abc import Sequence

from planner.catalog import Catalog
from planner.clouds.order import Choice, VolumeOrder, added_disks
from planner.errors import BadInputError, nearest


def choice_of_type(
    catalog: Catalog,
    instance: str,
    *,
    regions: Sequence[str],
    nodes: int,
    seconds: float,
    volumes: VolumeOrder | None = None,
    volume_usd_per_hour: float = 0.0,
) -> Choice:
    """Return `nodes` machines for `seconds`, at the first region's price, each with `volumes` at that price a node.

    Raises BadInputError for an unknown type or region, and for one without a price.
    """
    instances = catalog.instances
    if instance not in instances.rows:
        hint = nearest(instance, list(instances.rows))
        raise BadInputError(f"--instance {instance}: the catalog {catalog.name} has no such type.{hint}")
    row = instances.rows[instance]
    usd = float(catalog.prices(regions[0]).price_usd_per_hour[row])
    if math.isnan(usd):
        raise BadInputError(f"--instance {instance}: its price in {regions[0]} is unknown; name another --region")
    of_all = nodes * (usd + volume_usd_per_hour)
    return Choice(
        instance_type=str(instances.cloud_type[row]),
        regions=tuple(regions),
        nodes=nodes,
        spares=0,
        placement_group=bool(instances.placement_group[row]),
        price_usd_per_hour=usd,
        usd_per_hour=of_all,
        expected_s=seconds,
        total_usd=of_all * seconds / 3600,
        volumes=volumes,
        local_disks=added_disks(instance),
        head_usd_per_hour=usd,
    )
