"""Which machine types are bare metal: by the names that clouds give them."""

from __future__ import annotations

from typing import Final

HANDICAP: Final = 1.005
"""By what factor bare metal must be better than another type to be preferred: how long it takes to launch is hardly
measured. The launches of SpareCores' inspector behind the catalogs have 3 of bare metal, of two types of EC2.
"""


def is_bare_metal(instance_type: str) -> bool:
    """Return whether a type is a whole machine: i4i.metal, c6gd.metal-48xl, z3-highmem-192-metal, BM.DenseIO.E5.128."""
    return "metal" in instance_type.lower() or instance_type.startswith("BM.")


def handicap(instance_type: str) -> float:
    """Return the factor by which a type's time and cost count as more when clusters are ordered."""
    return HANDICAP if is_bare_metal(instance_type) else 1.0
