"""How many types of a catalog a model can plan, and what the others lack."""

from __future__ import annotations

from collections.abc import Callable

from planner.catalog import load_catalog
from planner.cost_model.model_reader import load_model
from planner.cost_model.run_overheads import shipped
from planner.planning.catalog_questions.catalog_coverage import coverage


def test_types_that_have_all_facts_are_counted_and_what_others_lack(make_catalog: Callable[..., str]) -> None:
    """Of five types two can be planned; two have disks of unknown rate, and one no price."""
    disks = {"read": 2e9, "write": 1e9}
    catalog = load_catalog(
        make_catalog({"a": disks, "b": disks | {"price": None}, "c": disks, "d": {}, "e": {"read": 2e9}})
    )
    first, second = coverage(catalog, [load_model("indy"), load_model("object-store")], overheads=shipped())
    assert (first.catalog, first.model, first.types, first.usable) == (catalog.name, "indy", 5, 2)
    assert list(first.reasons.values()) == [2, 1] and sum(first.reasons.values()) + first.usable == first.types
    assert (second.model, second.usable) == ("object-store", 0)
