"""How many instances of a type there are to be had: capacity that was seen, limits of placement groups."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

import numpy as np

from planner.arrays import Floats
from planner.catalog import Catalog
from planner.schemas.plan import NodeLimit


def limit_of(limits: Sequence[NodeLimit], *, cloud: str, region: str, instance_type: str) -> NodeLimit | None:
    """Return the first limit that fits a type; one with added disks (`TYPE+4x375GB`) is also known by its own name."""
    names = {instance_type, instance_type.partition("+")[0]}
    for limit in limits:
        in_place = fnmatchcase(cloud, limit.cloud) and fnmatchcase(region, limit.region)
        if in_place and any(fnmatchcase(name, limit.instance) for name in names):
            return limit
    return None


def most_nodes(limits: Sequence[NodeLimit], catalog: Catalog, *, region: str) -> Floats:
    """Return the most instances of every type, shape (T,): inf where nothing limits them."""
    limits_by_type = (
        limit_of(limits, cloud=catalog.cloud, region=region, instance_type=name)
        for name in catalog.instances.instance_type.tolist()
    )
    return np.array([np.inf if limit is None else float(limit.nodes) for limit in limits_by_type])
