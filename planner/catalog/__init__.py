"""Cloud data: instance types, prices, and measured rates."""

from planner.catalog.catalog import Catalog, facts_on
from planner.catalog.changes import Changes, PriceChange, ShapeChange, changes_between
from planner.catalog.checking import Finding, check_catalog
from planner.catalog.columns import EVIDENCE, MODES
from planner.catalog.facts import (
    Fact,
    NetworkPoint,
    ObjectStore,
    Prices,
    Rates,
    Source,
    Straggler,
    TokenBucket,
    VolumeType,
)
from planner.catalog.instances import Instances
from planner.catalog.loading import catalog_directory, catalog_names, load_catalog

__all__ = [
    "EVIDENCE",
    "MODES",
    "Catalog",
    "Changes",
    "Fact",
    "Finding",
    "Instances",
    "NetworkPoint",
    "ObjectStore",
    "PriceChange",
    "Prices",
    "Rates",
    "ShapeChange",
    "Source",
    "Straggler",
    "TokenBucket",
    "VolumeType",
    "catalog_directory",
    "catalog_names",
    "changes_between",
    "check_catalog",
    "facts_on",
    "load_catalog",
]
