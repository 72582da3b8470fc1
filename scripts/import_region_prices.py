"""Write the prices of all regions of Google Cloud and Azure into their catalogs, one wide file for each pricing.

Sources: cloudpilot-ai/karpenter-provider-gcp, `initial-prices.json` (commit 417f047, refreshed on 2026-08-03), and
Azure/karpenter-provider-azure, `zz_generated.pricing.go` (commit 352646f, generated on 2026-06-18), both Apache-2.0,
each converted to a CSV file with a row for each type and a column for each region; a blank cell means not sold there.

Some prices of the Azure list include Windows. `remove_windows_licence` finds them, and counts those it changes and
leaves out.
"""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from planner.catalog import load_catalog
from planner.config.paths import catalogs_directory

WINDOWS_USD_PER_VCPU_HOUR: Final = 0.046
"""Azure's Windows surcharge for each vCPU of the machine."""

_TOLERANCE: Final = 0.01
"""Allowed difference between prices per vCPU of one level; an M size 2% more than the licence above another is not
Windows.
"""

_USUAL: Final = 1.25
"""Greatest rise of a family's price from home to another region beyond the rise of all types."""

_CONSTRAINED: Final = re.compile(r"Standard_[A-Z]+(\d+)-\d+")
"""Sizes with fewer vCPUs than the machine that is billed."""


@dataclass(frozen=True, kw_only=True)
class WindowsPrices:
    """Prices by type and region: as listed, and with the licence taken off; `left_out` are in neither, by reason."""

    listed: pd.DataFrame
    derived: pd.DataFrame
    left_out: dict[str, tuple[str, ...]]


def remove_windows_licence(
    prices: pd.DataFrame, machine_vcpu: pd.Series, family: pd.Series, *, home: str
) -> WindowsPrices:
    """Take the licence off prices that lie exactly that much above other sizes of their family in a region.

    A family has the licence on some sizes if all its prices per vCPU lie on one level, or two that differ by it, in
    every region. In a region where such a family has one level, its rise from home is compared with that of all types:
    a level that rises more includes Windows throughout, and is left out, since no size proves the other. So are zero
    prices, and prices of a fifth of the expectation from home and the region's usual rise.
    """
    usual = prices.div(prices[home], axis=0).median()
    slips = prices.lt(0.2 * prices[home].to_frame().dot(usual.to_frame().T.set_axis([home]))) | prices.eq(0)
    prices = prices.mask(slips)
    per_vcpu = prices.div(machine_vcpu, axis=0)
    levels = per_vcpu.groupby(family).transform("min")
    above = per_vcpu - levels
    windows = _near(above, WINDOWS_USD_PER_VCPU_HOUR) & prices.notna()
    plain = (above <= levels * _TOLERANCE) & prices.notna()
    of_family = (windows | plain | prices.isna()).all(axis=1).groupby(family).transform("all")
    mixed = windows.any(axis=1).groupby(family).transform("any")
    affected = (of_family & mixed).to_numpy()[:, None]
    proven = windows & affected
    one_level = ~windows.groupby(family).transform("any")
    doubtful = prices.notna() & one_level & levels.div(levels[home], axis=0).gt(usual * _USUAL, axis=1) & affected
    mended = (prices - prices.notna().mul(machine_vcpu, axis=0) * WINDOWS_USD_PER_VCPU_HOUR).where(proven)
    return WindowsPrices(
        listed=prices.where(~proven & ~doubtful),
        derived=mended.round(6),
        left_out={"Windows' with no size to prove it": _cells(doubtful), "nothing or next to it": _cells(slips)},
    )


def _cells(chosen: pd.DataFrame) -> tuple[str, ...]:
    return tuple(f"{name} in {region}" for name, region in chosen.stack()[lambda cell: cell].index)


def _near(values: pd.DataFrame, wanted: float) -> pd.DataFrame:
    return (values - wanted).abs() <= wanted * _TOLERANCE


def machine_vcpus(catalog_name: str) -> tuple[pd.Series, pd.Series]:
    """Return the vCPUs of the underlying machine and the family of every type of a catalog."""
    types = load_catalog(catalog_name).instances
    constrained = (_CONSTRAINED.match(name) for name in types.names)
    vcpu = [float(match[1]) if match else own for match, own in zip(constrained, types.vcpu, strict=True)]
    return pd.Series(vcpu, index=types.names), pd.Series(types.family, index=types.names)


def read_wide(path: Path, known: pd.Index) -> pd.DataFrame:
    """Return the prices of the catalog's types."""
    prices = pd.read_csv(path, index_col="instance_type")
    return prices.loc[prices.index.intersection(known, sort=False)]


def write_wide(path: Path, parts: dict[str, pd.DataFrame], *, source: str, as_of: str, home: list[str]) -> None:
    """Write prices by evidence, without the regions of prices.csv."""
    rows = pd.concat([_rows(prices.drop(columns=home), evidence=word) for word, prices in parts.items()])
    rows = rows.sort_values(["instance_type", "evidence"], ascending=[True, False])
    rows.insert(2, "source", source)
    rows.insert(3, "as_of", as_of)
    rows.to_csv(path, index=False, float_format="%.6g", lineterminator="\n")


def _rows(prices: pd.DataFrame, *, evidence: str) -> pd.DataFrame:
    rows = prices.dropna(how="all").rename_axis("instance_type").reset_index()
    rows.insert(1, "evidence", evidence)
    return rows


def main(arguments: list[str]) -> None:
    """Import the named files."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("gcp", "gcp-spot", "azure"):
        parser.add_argument(f"--{name}", type=Path, required=True, help="CSV with a column for each region")
    options = parser.parse_args(arguments)
    gcp, azure = (catalogs_directory() / name for name in ("gcp", "azure"))
    for name, path in (("region_prices", options.gcp), ("region_spot_prices", options.gcp_spot)):
        prices = read_wide(path, pd.Index(load_catalog("gcp").instances.names))
        target = gcp / f"{name}.csv"
        write_wide(target, {"spec": prices}, source="gcp-prices", as_of="2026-08-03", home=["us-central1"])
        print(f"{target}: {prices.notna().to_numpy().sum():,} prices")
    vcpu, family = machine_vcpus("azure")
    prices = read_wide(options.azure, vcpu.index)
    mended = remove_windows_licence(prices, vcpu[prices.index], family[prices.index], home="eastus")
    target, parts = azure / "region_prices.csv", {"spec": mended.listed, "derived": mended.derived}
    write_wide(target, parts, source="azure-prices", as_of="2026-06-18", home=["eastus", "westus2"])
    count = int(np.sum(mended.derived.notna().to_numpy()))
    families = ", ".join(sorted(set(family[mended.derived.dropna(how="all").index])))
    print(f"{target}: {prices.notna().to_numpy().sum():,} prices, {count:,} with the licence taken off ({families});")
    for reason, cells in mended.left_out.items():
        print(f"{len(cells)} left out as {reason}: {', '.join(cells)}")


if __name__ == "__main__":
    main(sys.argv[1:])
