"""What the user measured is named for the type and the cloud that it was measured on, and for no other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from planner import recommend
from planner.catalog import load_catalog
from planner.planning.request import own_measurements as module


def test_measurements_count_for_the_type_and_cloud_they_are_of(
    make_catalog: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The made-up catalog's own rows stand for the user's: two modes of its disks, of 2026-11-01."""
    monkeypatch.setattr(module, "SOURCE", "made")
    path = make_catalog({"a": {"read": 1e9, "write": 1e9}})
    best, catalog = recommend("1TB", model="indy", catalogs=(path,)).best, load_catalog(path)
    assert best is not None
    (sentence,) = module.own_measurements(best, [catalog])
    disks = "disks read only (2026-11-01), disks write only (2026-11-01)"
    assert sentence.startswith("your own measurements of a count: ") and disks in sentence
    assert sentence.endswith(f"planner catalog measurements --catalog {catalog.name} lists them")
    for other in (replace(best, cloud="elsewhere"), replace(best, instance_type="b", cloud_type="b")):
        assert list(module.own_measurements(other, [catalog])) == []
