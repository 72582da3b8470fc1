"""How fast one core of a type is, measured: what clock rates, which the catalogs lack, would only hint at.

One core's zstd compression stands for it. On 14 of the 15 EC2 types in benchmarks/sizing/data/specs.csv it is within 7%
of 65 MB/s per GHz of the stated clock (i2.8xlarge: 56), so the rate over 65 MB/s is a clock of those processors' kind.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Final

from planner.catalog.tables import Column, Schema, read_table
from planner.config.paths import catalogs_directory

ZSTD_BYTES_PER_S_PER_GHZ: Final = 65e6

CLOCKS: Final = Schema(
    name="cpu_measured",
    meaning="what one core of a machine type was measured to compress",
    key=("cloud", "instance_type"),
    columns=(
        Column(name="cloud", meaning="cloud of the type"),
        Column(name="instance_type", meaning="name of the type"),
        Column(
            name="zstd1_bytes_per_s",
            kind="number",
            unit="bytes/s",
            above=0,
            meaning="text compressed by one core with zstd at level 1",
        ),
        Column(name="as_of", kind="day", meaning="day of the measurement"),
    ),
)


def measured_clocks_ghz(cloud: str, path: Path | None = None) -> dict[str, float]:
    """Return the measured speed of one core by type, in GHz of the processors above; types not measured are absent.

    Raises BadInputError for a broken file.
    """
    path = catalogs_directory() / f"{CLOCKS.name}.csv" if path is None else path
    return dict(_load_clocks(path, path.stat().st_mtime_ns if path.exists() else 0).get(cloud, ()))


@lru_cache(maxsize=4)
def _load_clocks(path: Path, stamp: int) -> dict[str, tuple[tuple[str, float], ...]]:
    clocks: dict[str, list[tuple[str, float]]] = {}
    for row in read_table(path, CLOCKS).rows():
        clock_ghz = float(row["zstd1_bytes_per_s"]) / ZSTD_BYTES_PER_S_PER_GHZ
        clocks.setdefault(row["cloud"], []).append((row["instance_type"], clock_ghz))
    return {cloud: tuple(pairs) for cloud, pairs in clocks.items()}
