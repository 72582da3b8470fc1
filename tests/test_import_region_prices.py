"""The Windows licence in Azure's prices: found if one size of the family proves it, otherwise omitted."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "import_region_prices.py"
SIZES = pd.Index(["D2", "D4", "D8", "X2", "X4"], name="instance_type")
VCPU = pd.Series([2.0, 4.0, 8.0, 2.0, 4.0], index=SIZES)
FAMILY = pd.Series(["D", "D", "D", "X", "X"], index=SIZES)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("import_region_prices", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def prices(**regions: list[float]) -> pd.DataFrame:
    return pd.DataFrame(regions, index=SIZES)


def test_the_licence_is_taken_off_what_lies_exactly_it_above_its_family(script: ModuleType) -> None:
    mended = script.remove_windows_licence(
        prices(home=[0.1, 0.2 + 0.046 * 4, 0.4, 0.3, 0.7], there=[0.12, 0.24, 0.48, 0.3, 0.7]),
        VCPU,
        FAMILY,
        home="home",
    )
    assert mended.derived.stack().dropna().to_dict() == {("D4", "home"): pytest.approx(0.2)}
    assert np.isnan(mended.listed.loc["D4", "home"])
    assert mended.listed.there.tolist() == [0.12, 0.24, 0.48, 0.3, 0.7]
    assert not any(mended.left_out.values())


def test_a_family_that_only_happens_to_differ_by_the_licence_is_left_alone(script: ModuleType) -> None:
    both = prices(home=[0.1, 0.2, 0.4, 0.1, 0.2 + 0.046 * 4], there=[0.12, 0.24, 0.48, 0.1, 0.2 + 0.05 * 4])
    mended = script.remove_windows_licence(both, VCPU, FAMILY, home="home")
    assert mended.derived.isna().all(axis=None)
    pd.testing.assert_frame_equal(mended.listed, both)


def test_a_region_where_all_sizes_have_the_licence_is_decided_by_the_rise_of_other_families(script: ModuleType) -> None:
    with_licence = [0.05 * n + 0.046 * n for n in (2, 4, 8)]
    mended = script.remove_windows_licence(
        prices(home=[0.1, 0.2 + 0.046 * 4, 0.4, 0.3, 0.7], there=[*with_licence, 0.3, 0.7]), VCPU, FAMILY, home="home"
    )
    assert mended.derived.there[["D2", "D8"]].tolist() == pytest.approx([0.1, 0.4])
    assert mended.listed.there[["X2", "X4"]].tolist() == [0.3, 0.7]


def test_a_metal_type_at_dedicated_tenancy_takes_the_price_of_its_virtual_twin(script: ModuleType) -> None:
    names = ["k.large", "k.16xlarge", "k.metal", "m.16xlarge", "m.metal"]
    family, vcpu = (pd.Series(cells, index=names) for cells in (["k", "k", "k", "m", "m"], [2, 64, 64, 64, 64]))
    listed = pd.Series([0.1, 3.2, 3.2 * 1.1, 4.0, 4.0], index=names)
    assert script.remove_dedicated_tenancy(listed, vcpu, family).to_dict() == {"k.metal": 3.2}


def test_a_price_of_nothing_or_a_slipped_point_is_left_out(script: ModuleType) -> None:
    mended = script.remove_windows_licence(
        prices(home=[0.1, 0.2, 0.4, 0.3, 0.7], there=[0.1, 0.2, 0.4, 0.0, 0.07]), VCPU, FAMILY, home="home"
    )
    assert mended.left_out["nothing or next to it"] == ("X2 in there", "X4 in there")
