"""Shipped shares of burstable processors against other figures published by their clouds."""

from __future__ import annotations

import re

import numpy as np
import pytest

from planner.catalog import load_catalog

BURSTABLE = {
    "aws": re.compile(r"t\d\w*\."),
    "azure": re.compile(r"Standard_B\d"),
    "gcp": re.compile(r"(e2-(micro|small|medium)|f1-micro|g1-small)$"),
    "oci": re.compile(r"no such type"),
}


@pytest.mark.parametrize("name", sorted(BURSTABLE))
def test_every_burstable_type_is_known_to_be_one_and_no_other(name: str) -> None:
    catalog = load_catalog(name)
    full = catalog.processor_credits.baseline_share == 1
    named = [bool(BURSTABLE[name].match(listed)) for listed in catalog.instances.names]
    assert (~full).tolist() == named


def test_shares_are_what_the_hourly_credits_of_the_documents_are() -> None:
    """A credit is a vCPU-minute: t3.xlarge earns 96 an hour on 4 vCPUs, Standard_B16ps_v2 384 on 16."""
    for name, listed, hourly in (
        ("aws", "t3.xlarge", 96),
        ("aws", "t2.2xlarge", 81.6),
        ("aws", "t4g.nano", 6),
        ("azure", "Standard_B16ps_v2", 384),
        ("azure", "Standard_B2pls_v2", 36),
        ("azure", "Standard_B4ms", 54),
    ):
        catalog = load_catalog(name)
        row = catalog.instances.index(listed)
        earned = catalog.processor_credits.baseline_share[row] * catalog.instances.vcpu[row] * 60
        assert earned == pytest.approx(hourly, rel=0.01)


def test_what_nobody_states_is_unknown_and_no_credit() -> None:
    catalog = load_catalog("aws")
    row = catalog.instances.index("t8i.small")
    assert np.isnan(catalog.processor_credits.baseline_share[row])
    assert catalog.processor_credits.launch_credit_vcpu_s[row] == 0
