"""How the partitions of a dataset are told apart, of whatever content, and what a journal has of it."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from planner.distributed_sort.content.partitioning import Splitting
from planner.distributed_sort.content.table_splitting import TableSplitting
from planner.distributed_sort.content.text_splitting import TextSplitting
from planner.native import Splitters

AnySplitting = Splitting | TextSplitting | TableSplitting


def document_of(splitting: AnySplitting) -> dict[str, Any]:
    """Return a splitting as JSON-able values."""
    shares = {"pieces": splitting.pieces, "weights": splitting.weights}
    if isinstance(splitting, TableSplitting):
        return shares | {"tables": splitting.document()}
    if isinstance(splitting, TextSplitting):
        return shares | {"boundaries": [[line.decode("latin-1"), is_above] for line, is_above in splitting.boundaries]}
    serialized = base64.b64encode(splitting.splitters.serialize()).decode()
    return shares | {"splitters": serialized, "key_size": splitting.splitters.key_bytes}


def splitting_of(document: Mapping[str, Any]) -> AnySplitting | None:
    """Return the splitting of such values; None for an earlier version's."""
    if "pieces" not in document:
        return None
    pieces, weights = tuple(document["pieces"]), tuple(document["weights"])
    if "tables" in document:
        return TableSplitting.of(document["tables"], pieces=pieces, weights=weights)
    if "boundaries" in document:
        boundaries = tuple((line.encode("latin-1"), is_above) for line, is_above in document["boundaries"])
        return TextSplitting(boundaries=boundaries, pieces=pieces, weights=weights)
    if "splitters" not in document:
        return None
    splitters = Splitters.parse(base64.b64decode(document["splitters"]), key_bytes=document["key_size"])
    return Splitting(splitters=splitters, pieces=pieces, weights=weights)
