"""Types at a bandwidth weighting: EC2's rule applied to the default rates, and values that stay unchanged."""

from __future__ import annotations

import numpy as np
import pytest

from planner.catalog import load_catalog
from planner.catalog.instances import split_weighting


def test_a_quarter_of_one_baseline_goes_to_the_other() -> None:
    """The user guide: 25% of the gaining side, taken from the other; its example, m9gd, is in the table like all."""
    catalog = load_catalog("aws").with_weightings
    types = catalog.instances
    weighted = [(row, *split_weighting(name)) for row, name in enumerate(types.names) if split_weighting(name)[1]]
    assert len(weighted) == 2 * len({offered for _, offered, _ in weighted}) == 614
    for row, offered, weighting in weighted:
        base = types.rows[offered]
        network, volumes = types.network_baseline_bytes_per_s[base], types.volume_bytes_per_s[base]
        moved = network / 4 if weighting == "vpc-1" else -volumes / 4
        assert types.network_baseline_bytes_per_s[row] == pytest.approx(network + moved, rel=5e-3)
        assert types.volume_bytes_per_s[row] == pytest.approx(volumes - moved, rel=5e-3)
        assert np.isnan(types.network_peak_bytes_per_s[row])
        assert types.offered_row[row] == base
        assert types.cloud_type[row] == offered
    price = catalog.prices().price_usd_per_hour
    rows, bases = (np.array([pair[place] for pair in weighted]) for place in (0, 1))
    assert np.array_equal(price[rows.astype(int)], price[[types.rows[name] for name in bases]], equal_nan=True)


def test_catalogs_themselves_list_types_as_they_are_offered() -> None:
    catalog = load_catalog("aws")
    assert not any(split_weighting(name)[1] for name in catalog.instances.names)
    assert catalog.with_weightings.instances.names[: len(catalog.instances)] == catalog.instances.names
    azure = load_catalog("azure")
    assert azure.with_weightings is azure


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("m8g.xlarge", ("m8g.xlarge", "")),
        ("m8g.xlarge+vpc-1", ("m8g.xlarge", "vpc-1")),
        ("n2-standard-8+8x375GB", ("n2-standard-8+8x375GB", "")),
    ],
)
def test_names_are_split(name: str, parts: tuple[str, str]) -> None:
    assert split_weighting(name) == parts
