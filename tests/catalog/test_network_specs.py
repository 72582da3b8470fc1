"""Several sources for one network: the majority counts, or the lowest of a tie, with the evidence of its own rows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from approvals import Approve

from planner.catalog import Catalog, check_catalog, load_catalog
from planner.catalog.network_specs import disagreements

TODAY = date(2026, 11, 1)
GBIT = 125_000_000.0
Make = Callable[..., str]
HEAD = 'a = { title = "a" }\nb = { title = "b" }\nc = { title = "c" }\n'


def spec(
    name: str, source: str, gbit: float, *, peak: float | None = None, evidence: str = "spec"
) -> dict[str, object]:
    return {
        "instance_type": name,
        "baseline_bytes_per_s": gbit * GBIT,
        "peak_bytes_per_s": "" if peak is None else peak * GBIT,
        "evidence": evidence,
        "source": source,
        "as_of": "2026-11-01",
    }


@pytest.fixture
def catalog_of(make_catalog: Make) -> Callable[..., Catalog]:
    """Make a catalog of types with these Gbit/s in instances.csv ('' for unknown) and further network rows."""

    def make(own: dict[str, object], *specs: dict[str, object]) -> Catalog:
        types = {
            name: {
                "network_baseline_bytes_per_s": gbit * GBIT if isinstance(gbit, int | float) else gbit,
                "evidence": "derived",
            }
            for name, gbit in own.items()
        }
        path = make_catalog(types, network_specs=list(specs))
        with Path(path, "catalog.toml").open("a", encoding="utf-8") as head:
            head.write(HEAD)
        return load_catalog(path)

    return make


def network(catalog: Catalog, name: str) -> tuple[float, str, str]:
    row = catalog.instances.index(name)
    stated = catalog.networks
    rate = float(catalog.instances.network_baseline_bytes_per_s[row])
    return round(rate / GBIT, 6), str(stated.evidence[row]), str(stated.source[row])


def test_two_sources_outvote_the_listing(catalog_of: Callable[..., Catalog]) -> None:
    catalog = catalog_of({"x": 200}, spec("x", "a", 100, peak=120), spec("x", "b", 100))
    assert network(catalog, "x") == (100, "spec", "a")
    assert catalog.instances.network_peak_bytes_per_s[0] == 120 * GBIT


def test_a_tie_is_withheld_and_of_agreeing_ones_the_listing_counts(catalog_of: Callable[..., Catalog]) -> None:
    catalog = catalog_of({"x": 10, "y": 23, "z": 28.125}, spec("x", "a", 23), spec("y", "a", 10), spec("z", "a", 28.12))
    assert np.isnan([network(catalog, name)[0] for name in "xy"]).all()
    assert network(catalog, "z")[0] == 28.125
    quarrels = list(disagreements(catalog.tables["instances"], catalog.tables["network_specs"]))
    assert [(q.instance_type, q.settled, q.counts_bytes_per_s / GBIT) for q in quarrels] == [
        ("x", False, 10),
        ("y", False, 10),
    ]


def test_three_that_differ_settle_nothing(catalog_of: Callable[..., Catalog]) -> None:
    catalog = catalog_of({"x": 30}, spec("x", "a", 20), spec("x", "b", 25))
    assert np.isnan(network(catalog, "x")[0])
    assert [q.settled for q in disagreements(catalog.tables["instances"], catalog.tables["network_specs"])] == [False]


def test_a_blank_is_filled_with_the_evidence_of_its_source(catalog_of: Callable[..., Catalog]) -> None:
    catalog = catalog_of({"x": "", "y": ""}, spec("x", "a", 5, evidence="recalled"))
    assert network(catalog, "x") == (5, "recalled", "a")
    assert np.isnan(catalog.instances.network_baseline_bytes_per_s[1])
    assert not list(disagreements(catalog.tables["instances"], catalog.tables["network_specs"]))


def test_a_derived_shape_does_not_make_its_network_a_measured_one(catalog_of: Callable[..., Catalog]) -> None:
    assert network(catalog_of({"x": 10}), "x")[1] == "spec"


def test_what_most_state_needs_no_order_of_sources(catalog_of: Callable[..., Catalog]) -> None:
    for sources in (("a", "b", "c"), ("c", "b", "a"), ("b", "c", "a")):
        rates = zip(sources, (40, 10, 20), strict=True)
        assert network(catalog_of({"x": 10}, *(spec("x", s, g) for s, g in rates)), "x")[0] == 10


def test_a_check_says_who_states_what(catalog_of: Callable[..., Catalog], approve: Approve) -> None:
    catalog = catalog_of({"x": 200, "y": 10}, spec("x", "a", 100), spec("x", "b", 100), spec("y", "a", 24))
    findings = {f.text: f.severity for f in check_catalog(catalog.path, today=TODAY) if "disagree" in f.text}
    approve(findings)


QUARRELS = {
    "aws": "c3.8xlarge h1.8xlarge i3.8xlarge i7ie.48xlarge i7ie.metal-48xl i8g.metal-48xl i8ge.48xlarge "
    "i8ge.metal-48xl p6-b200.48xlarge r3.8xlarge r4.8xlarge trn2.3xlarge",
    "azure": "",
    "gcp": "a3-edgegpu-8g a3-highgpu-1g a3-highgpu-2g a3-highgpu-4g a3-highgpu-8g a3-megagpu-8g a3-ultragpu-8g "
    "c4-highcpu-4 c4-highmem-4 c4-highmem-4-lssd c4-standard-4 c4-standard-4-lssd e2-small m4-hypermem-16 "
    "z3-highmem-16-highlssd z3-highmem-22-highlssd z3-highmem-22-standardlssd "
    "z3-highmem-32-highlssd z3-highmem-44-highlssd z3-highmem-44-standardlssd z3-highmem-8-highlssd "
    "z3-highmem-88-highlssd z3-highmem-88-standardlssd",
}
"""Disagreements in the shipped catalogs, each checked by hand; a new one must be checked, too."""


@pytest.mark.parametrize("name", QUARRELS)
def test_no_new_disagreement_of_sources_is_shipped(name: str) -> None:
    catalog = load_catalog(name)
    quarrels = disagreements(catalog.tables["instances"], catalog.tables["network_specs"])
    names = {quarrel.instance_type.partition("+")[0] for quarrel in quarrels}
    assert sorted(names) == sorted(QUARRELS[name].split())


@pytest.mark.parametrize(
    ("name", "instance_type", "gbit"),
    [
        ("aws", "i7ie.48xlarge", 100),
        ("aws", "i7ie.metal-48xl", 100),
        ("aws", "h1.8xlarge", 10),
        ("aws", "i3.8xlarge", 10),
        ("aws", "r4.8xlarge", 10),
        ("gcp", "z3-highmem-88-highlssd", 62),
        ("gcp", "z3-highmem-8-highlssd", 23),
        ("azure", "Standard_D96ds_v5", 35),
    ],
)
def test_shipped_networks_are_as_most_sources_state_them(name: str, instance_type: str, gbit: float) -> None:
    assert network(load_catalog(name), instance_type)[:2] == (gbit, "spec")


def test_most_sizes_of_azure_and_nearly_all_of_gcp_have_a_network() -> None:
    unknown = {name: np.isnan(load_catalog(name).instances.network_baseline_bytes_per_s) for name in ("azure", "gcp")}
    assert {name: int((~blank).sum()) for name, blank in unknown.items()} == {"azure": 870, "gcp": 949}


def test_a_limit_that_sizes_of_a_family_share_is_no_rate_that_each_keeps() -> None:
    """D4pls_v6 and D8s_v5 may reach 12.5 Gbit/s; the largest of their families have 96 vCPUs and 60 and 35 Gbit/s."""
    catalog = load_catalog("azure")
    types = catalog.instances
    for name, vcpus in (("Standard_D4pls_v6", 4), ("Standard_D8s_v5", 8)):
        row = types.index(name)
        alike = np.flatnonzero((types.family == types.family[row]) & (types.network_baseline_bytes_per_s > 0))
        largest = alike[np.argmax(types.vcpu[alike])]
        share = types.network_peak_bytes_per_s[largest] * vcpus / types.vcpu[largest]
        assert network(catalog, name)[:2] == (pytest.approx(share / GBIT), "derived")
        assert types.network_peak_bytes_per_s[row] == 12.5 * GBIT


def test_no_azure_size_keeps_more_for_its_memory_than_the_largest_of_its_family_may_reach() -> None:
    types = load_catalog("azure").instances
    for family in sorted(set(types.family.tolist())):
        rows = np.flatnonzero((types.family == family) & (types.network_baseline_bytes_per_s > 0))
        if len(rows):
            size = types.memory_bytes[rows].max()
            most = types.network_peak_bytes_per_s[rows][types.memory_bytes[rows] == size].max() / size
            assert (types.network_baseline_bytes_per_s[rows] <= most * types.memory_bytes[rows] * 1.001).all()
