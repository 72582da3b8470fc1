"""Write the price lists of AWS, Google Cloud and Azure into their catalogs, without prices of another kind.

Sources: cloudpilot-ai/karpenter-provider-gcp, `initial-prices.json` (commit 417f047, refreshed on 2026-08-03), and
Azure/karpenter-provider-azure, `zz_generated.pricing.go` (commit 352646f, generated on 2026-06-18), each converted to a
CSV file with a row for each type and a column for each region, where a blank cell means not sold there; and
aws/karpenter-provider-aws, `zz_generated.pricing_aws.go` (generated on 2026-07-20), already in `prices.csv`. All are
Apache-2.0.

The lists hold prices of other kinds: of Windows, of dedicated tenancy, and of types without their local disks. Each
price is compared with its family and its other regions. Where they decide, the price is corrected (`derived`); where
nothing decides, it is left out. Both are counted.
"""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from planner.arrays import Floats
from planner.catalog import load_catalog
from planner.catalog.plausibility import Suspicion, implausible_prices, not_accepted, shapes
from planner.catalog.region_prices import FILES
from planner.config.paths import catalogs_directory

WINDOWS_USD_PER_VCPU_HOUR: Final = (0.046, 0.0046)
"""Azure's Windows surcharge for each vCPU of the machine: of most sizes, and of the burstable B series."""

DEDICATED: Final = (1.05, 1.11)
"""Ratios of a price of dedicated tenancy to that of shared tenancy on EC2: 1.06 or 1.10, and a little more or less by
rounding.
"""

_TOLERANCE: Final = 0.012
"""Allowed difference, in logarithms, between ratios of prices that are printed with three or four digits."""

_USUAL: Final = 1.25
"""Greatest rise of a family's price from home to another region beyond the rise of all types, if two rises fit."""

_MIXED: Final = 0.95
"""Largest share of a family's prices that one rise per region explains if some of them include the licence."""

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
    """Take the licence off prices that rise from home as their family does only without it.

    All sizes of a family rise alike from home to a region. A family is mixed if one rise per region explains few of its
    prices, and nearly all once some cells lose the licence. Left out are prices of a mixed family that no rise
    explains, zero prices, and prices of a fifth of the expectation from home and the region's usual rise.
    """
    usual = prices.div(prices[home], axis=0).median()
    slips = prices.lt(0.2 * prices[home].to_frame().dot(usual.to_frame().T.set_axis([home]))) | prices.eq(0)
    prices = prices.mask(slips)
    mended = pd.DataFrame(np.nan, prices.index, prices.columns)
    doubtful = pd.DataFrame(False, prices.index, prices.columns)
    for names in family[prices.index].groupby(family).groups.values():
        sold = prices.loc[names]
        if _explained(sold, sold * np.nan, usual, home=home)[0].to_numpy().sum() < _MIXED * sold.count().sum():
            for surcharge in WINDOWS_USD_PER_VCPU_HOUR:
                less = sold.sub(machine_vcpu[names] * surcharge, axis=0)
                plain, windows = _explained(sold, less.where(less > 0), usual, home=home)
                if (plain | windows).to_numpy().sum() >= _MIXED * sold.count().sum():
                    mended.loc[names] = less.where(windows & ~plain)
                    doubtful.loc[names] = sold.notna() & (plain == windows)
                    break
    return WindowsPrices(
        listed=prices.where(mended.isna() & ~doubtful),
        derived=mended.round(6),
        left_out={"Windows' or not, which nothing decides": _cells(doubtful), "nothing or next to it": _cells(slips)},
    )


def _explained(
    listed: pd.DataFrame, less: pd.DataFrame, usual: pd.Series, *, home: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return which prices of a family are explained as listed, and which less the licence."""
    logs = np.log(np.stack([listed.to_numpy(float), less.to_numpy(float)]))
    at_home = logs[:, :, listed.columns.get_loc(home)]
    rises = logs[None] - at_home[:, None, :, None]
    common = [_common_rise(rises[..., here], np.log(usual[region])) for here, region in enumerate(listed.columns)]
    fits = np.abs(rises - common) <= _TOLERANCE
    kind_at_home = fits.any(axis=1).sum(axis=2).argmax(axis=0)
    chosen = fits[kind_at_home, :, np.arange(len(listed))]
    plain, windows = (pd.DataFrame(chosen[:, kind], listed.index, listed.columns) for kind in (0, 1))
    return plain, windows


def _common_rise(rises: Floats, usual: float) -> float:
    """Return the rise that most sizes have under some reading of their prices; NaN if several are as likely."""
    tried = np.unique(rises[np.isfinite(rises)].round(3))
    if not len(tried):
        return np.nan
    sizes = (np.abs(rises[..., None] - tried) <= _TOLERANCE).any(axis=(0, 1)).sum(axis=0)
    best = tried[sizes == sizes.max()]
    if np.ptp(best) > 2 * _TOLERANCE:
        best = best[np.abs(best - usual) <= np.log(_USUAL)]
    return float(np.median(best)) if len(best) and np.ptp(best) <= 2 * _TOLERANCE else np.nan


def remove_dedicated_tenancy(prices: pd.Series, vcpu: pd.Series, family: pd.Series) -> pd.Series:
    """Return the prices of bare-metal types that are listed at dedicated tenancy, as their virtual twin's.

    The twin is the size of the family with as many vCPUs; a metal type with another ratio to it is left alone.
    """
    sold = pd.DataFrame({"usd": prices, "family": family[prices.index], "vcpu": vcpu[prices.index]})
    metal = sold.index.str.contains(".metal", regex=False)
    twins = sold[~metal].drop_duplicates(["family", "vcpu"]).set_index(["family", "vcpu"]).usd
    shared = twins.reindex(pd.MultiIndex.from_frame(sold[["family", "vcpu"]])).set_axis(sold.index)
    return shared[metal & (sold.usd / shared).between(*DEDICATED)]


def withheld(catalog_name: str, lists: Mapping[str, pd.DataFrame], *, source: str, as_of: str) -> list[Suspicion]:
    """Return the prices that `planner catalog check` doubts and no review accepts; write them into reviews.csv."""
    catalog, rows = load_catalog(catalog_name), []
    for pricing, prices in lists.items():
        cells = prices.rename_axis("region", axis=1).stack().dropna().rename("price_usd_per_hour")
        rows.append(cells.reset_index().assign(pricing=pricing))
    found = not_accepted(catalog, implausible_prices(pd.concat(rows), shapes(catalog)))
    path = catalog.path / "reviews.csv"
    columns = pd.read_csv(path, nrows=0).columns
    known = pd.read_csv(path, dtype=str, keep_default_na=False)
    cells = [
        {"instance_type": cell.instance_type, "file": "prices", "column": cell.column, "region": cell.region}
        | {"pricing": cell.pricing, "verdict": "withheld", "stated": cell.value, "factor": f"{cell.factor:.3g}"}
        | {"reason": cell.reason, "evidence": "spec", "source": source, "as_of": as_of}
        for cell in found
    ]
    together = pd.concat([known, pd.DataFrame(cells, columns=columns)])
    together.drop_duplicates(list(columns[:5]), keep="last").to_csv(path, index=False, lineterminator="\n")
    print(f"{path}: {len(found)} prices left out, which nothing decides")
    return found


def without(prices: pd.DataFrame, doubted: list[Suspicion], pricing: str) -> pd.DataFrame:
    """Return the prices without the doubted ones; a spot price goes with that on demand."""
    known = prices.copy()
    for cell in doubted:
        if cell.pricing in ("on-demand", pricing):
            known.loc[cell.instance_type, cell.region] = np.nan
    return known


def _cells(chosen: pd.DataFrame) -> tuple[str, ...]:
    return tuple(f"{name} in {region}" for name, region in chosen.stack()[lambda cell: cell].index)


def machine_vcpus(catalog_name: str) -> tuple[pd.Series, pd.Series]:
    """Return the vCPUs of the underlying machine and the family of every type of a catalog.

    Isolated sizes (EIASv5) are of the family that they fill a machine of (EASv5).
    """
    types = load_catalog(catalog_name).instances
    constrained = (_CONSTRAINED.match(name) for name in types.names)
    vcpu = [float(match[1]) if match else own for match, own in zip(constrained, types.vcpu, strict=True)]
    return pd.Series(vcpu, index=types.names), pd.Series(
        [re.sub("^EI", "E", name) for name in types.family], index=types.names
    )


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


def correct_home(path: Path, corrected: pd.DataFrame, *, source: str) -> None:
    """Put corrected on-demand prices into prices.csv; spot prices computed from them keep their saving."""
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    cells = corrected.stack().dropna()
    for at, row in rows.iterrows():
        new = cells.get((row.instance_type, row.region))
        if new is not None and row.pricing == "on-demand":
            old = float(row.price_usd_per_hour)
            rows.loc[at, ["price_usd_per_hour", "evidence", "source"]] = [f"{new:.12g}", "derived", source]
            follows = (rows.instance_type == row.instance_type) & (rows.region == row.region) & (rows.pricing == "spot")
            spot = rows[follows & (rows.evidence == "derived")].price_usd_per_hour.astype(float)
            rows.loc[spot.index, "price_usd_per_hour"] = (spot * new / old).map("{:.4g}".format)
    ending = "\r\n" if b"\r\n" in path.read_bytes() else "\n"
    rows.to_csv(path, index=False, lineterminator=ending)


def import_aws() -> None:
    """Correct the metal types of the list that is in prices.csv."""
    path, types = catalogs_directory() / "aws" / "prices.csv", load_catalog("aws").instances
    listed = pd.read_csv(path).query("pricing == 'on-demand'").set_index("instance_type").price_usd_per_hour
    vcpu, family = (pd.Series(values, index=types.names) for values in (types.vcpu, types.family))
    shared = remove_dedicated_tenancy(listed, vcpu, family)
    correct_home(path, shared.to_frame("us-east-1"), source="ec2-family")
    print(f"{path}: {len(shared)} prices of dedicated tenancy corrected: {', '.join(shared.index)}")


def import_gcp(on_demand: Path, spot: Path) -> None:
    """Write both files of further regions."""
    known = pd.Index(load_catalog("gcp").instances.names)
    lists = {"on-demand": read_wide(on_demand, known), "spot": read_wide(spot, known)}
    doubted = withheld("gcp", lists, source="gcp-prices", as_of="2026-08-03")
    for pricing, prices in lists.items():
        target = catalogs_directory() / "gcp" / FILES[pricing]
        parts = {"spec": without(prices, doubted, pricing)}
        write_wide(target, parts, source="gcp-prices", as_of="2026-08-03", home=["us-central1"])
        print(f"{target}: {prices.count().sum():,} prices")


def import_azure(path: Path) -> None:
    """Write the file of further regions, and correct the regions of prices.csv."""
    directory, home = catalogs_directory() / "azure", ["eastus", "westus2"]
    vcpu, family = machine_vcpus("azure")
    prices = read_wide(path, vcpu.index)
    found = remove_windows_licence(prices, vcpu[prices.index], family[prices.index], home=home[0])
    listed = {"on-demand": found.listed.fillna(found.derived)}
    doubted = withheld("azure", listed, source="azure-prices", as_of="2026-06-18")
    parts = {
        word: without(part, doubted, "on-demand")
        for word, part in {"spec": found.listed, "derived": found.derived}.items()
    }
    write_wide(directory / FILES["on-demand"], parts, source="azure-prices", as_of="2026-06-18", home=home)
    correct_home(directory / "prices.csv", found.derived[home], source="azure-family")
    count, families = found.derived.count().sum(), sorted(set(family[found.derived.dropna(how="all").index]))
    print(
        f"{directory}: {prices.count().sum():,} prices, {count:,} with the licence taken off ({', '.join(families)});"
    )
    for reason, cells in found.left_out.items():
        print(f"{len(cells)} left out as {reason}: {', '.join(cells)}")


def main(arguments: list[str]) -> None:
    """Import the named files, and correct what is there."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("gcp", "gcp-spot", "azure"):
        parser.add_argument(f"--{name}", type=Path, required=True, help="CSV with a column for each region")
    options = parser.parse_args(arguments)
    import_aws()
    import_gcp(options.gcp, options.gcp_spot)
    import_azure(options.azure)


if __name__ == "__main__":
    main(sys.argv[1:])
