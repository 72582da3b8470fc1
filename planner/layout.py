"""How a node's storage is divided between data and intermediate files.

n local disks either divide into k data and n - k intermediate disks, or both groups share all of them. Of exclusive
rates (only reading, only writing) sharing always wins: its time (r/R + w/W)/n is a weighted mean of the two times
r/(R k) and w/(W (n - k)) of any split, and it pools the capacity. So splits are tried only where DiskBench measured
half the disks reading and half writing, and by `--paper`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.catalog import Catalog
from planner.model import CostModel
from planner.rates import Rates

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class Layouts:
    """Every layout to try, shape (R,), those of one type adjacent: `type_row` indexes the catalog.

    `data_disks` and `intermediate_disks` count local disks; both equal to all disks where they are shared, 0 for a
    group kept on volumes.
    """

    type_row: Rows
    disks: Floats
    data_disks: Floats
    intermediate_disks: Floats

    @property
    def shared(self) -> NDArray[np.bool_]:
        """Whether both groups live on the same local disks."""
        return self.data_disks + self.intermediate_disks > self.disks

    def first_of_types(self) -> Rows:
        """Return the first row of each type present."""
        return np.flatnonzero(np.diff(self.type_row, prepend=-1))

    def only(self, rows: Rows) -> Layouts:
        """Return these rows alone."""
        return Layouts(
            type_row=self.type_row[rows],
            disks=self.disks[rows],
            data_disks=self.data_disks[rows],
            intermediate_disks=self.intermediate_disks[rows],
        )


def layouts(catalog: Catalog, *, model: CostModel, rates: Rates, paper: bool) -> Layouts:
    """Return the layouts to try for every type of `catalog` under `model`, at least one each."""
    disks = np.nan_to_num(catalog.instances.local_disks)
    if model.storage["data"] != "local":
        return _without_split(disks, intermediate=model.storage["intermediate"] == "local")
    divides = (disks > 1) & (~np.isnan(rates.local.simultaneous) | paper)
    ways = np.where(divides, disks - 1, 1).astype(int)
    type_row = np.repeat(np.arange(len(disks)), ways)
    way = np.arange(len(type_row)) - np.repeat(np.cumsum(ways) - ways, ways) + 1
    own, split = disks[type_row], divides[type_row]
    return Layouts(
        type_row=type_row,
        disks=own,
        data_disks=np.where(split, way, own),
        intermediate_disks=np.where(split, own - way, own),
    )


def _without_split(disks: Floats, *, intermediate: bool) -> Layouts:
    nothing = np.zeros(len(disks))
    return Layouts(
        type_row=np.arange(len(disks)),
        disks=disks,
        data_disks=nothing,
        intermediate_disks=disks if intermediate else nothing,
    )
