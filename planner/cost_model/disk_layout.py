"""Places of a node's data and intermediate files, and the division of its local disks between them.

n local disks either divide into k data and n - k intermediate disks, or both groups share all of them. With exclusive
rates (only reading, only writing) sharing always wins: its time (r/R + w/W)/n is a weighted mean of the two times
r/(R k) and w/(W (n - k)) of any split, and it pools the capacity. So splits are tried only where DiskBench measured
half the disks reading and half writing, and by `--paper`. In addition every type may keep its intermediate data in
memory, in clusters large enough for that; the papers' equations do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from planner.arrays import Codes, Flags, Floats, Rows
from planner.catalog import Catalog
from planner.cost_model.model import MEDIA, CostModel
from planner.cost_model.rates import RESOURCES, Rates

LOCAL: Final = MEDIA.index("local")
VOLUMES: Final = MEDIA.index("volumes")
OBJECTS: Final = MEDIA.index("object-store")
MEMORY: Final = MEDIA.index("memory")

_AS_IT_IS: Final = np.ones(1)
_AS_IT_IS.flags.writeable = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Layouts:
    """Every layout to try, shape (R,), those of one type adjacent: `type_row` indexes the catalog.

    `data_on` and `intermediate_on` are codes of `MEDIA`. `data_disks` and `intermediate_disks` count local disks;
    both equal to all disks where they are shared, 0 for a group kept elsewhere. `speeds` (R,) are factors of what-ifs
    on the catalog's rates, by name of `RESOURCES`: layouts of one type may differ in nothing else.
    """

    type_row: Rows
    disks: Floats
    data_disks: Floats
    intermediate_disks: Floats
    data_on: Codes
    intermediate_on: Codes
    speeds: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def shared(self) -> Flags:
        """Layouts with both groups on the same local disks."""
        return np.asarray(self.data_disks + self.intermediate_disks > self.disks)

    def uses(self, medium: int) -> Flags:
        """Layouts with either group on `medium`."""
        return np.asarray((self.data_on == medium) | (self.intermediate_on == medium))

    def key(self, row: int) -> tuple[float, ...]:
        """Return what tells a layout from others of any type."""
        return tuple(float(of[row]) for of in (*self.columns.values(), *self.speeds.values()))

    def first_of_types(self) -> Rows:
        """Return the first row of each type present."""
        return np.flatnonzero(np.diff(self.type_row, prepend=-1))

    def only(self, rows: Rows) -> Layouts:
        """Return only these rows, each as often as it is given."""
        speeds = {name: factors[rows] for name, factors in self.speeds.items()}
        return Layouts(**{name: column[rows] for name, column in self.columns.items()}, speeds=speeds)

    @property
    def columns(self) -> dict[str, Any]:
        """The arrays over layouts, without what-ifs."""
        return {name: column for name, column in vars(self).items() if name != "speeds"}

    def speed(self, resource: str, rows: slice = slice(None)) -> Floats:
        """Return the factors of a resource's speed, shape (rows,), or (1,) where no what-if changes it."""
        return self.speeds[resource][rows] if resource in self.speeds else _AS_IT_IS

    def times(self, scale: Mapping[str, float | Floats]) -> Layouts:
        """Return the layouts with the speed of each of `RESOURCES` in `scale` multiplied by its factor, one for all or
        one for each (R,).
        """
        every = np.ones(self.type_row.shape)
        faster = {name: self.speed(name) * every * factor for name, factor in scale.items() if name in RESOURCES}
        return replace(self, speeds={**self.speeds, **faster})


def layouts(catalog: Catalog, *, model: CostModel, rates: Rates, paper: bool) -> Layouts:
    """Return the layouts to try for every type of `catalog` under `model`, at least one each.

    Intermediate data that the model keeps on local disks goes to volumes on a type without disks if the data is
    elsewhere.
    """
    disks = np.nan_to_num(catalog.instances.local_disks)
    data, intermediate = (MEDIA.index(model.storage[group]) for group in ("data", "intermediate"))
    if (data, intermediate) == (LOCAL, LOCAL):
        parts = [_divided(disks, divides=(disks > 1) & (~np.isnan(rates.local.simultaneous) | paper))]
    else:
        parts = [_on_separate_media(disks, data_on=data, intermediate_on=intermediate)]
    if intermediate == LOCAL and "intermediate" in model.capacity and model.in_memory and not paper:
        parts.append(_on_separate_media(disks, data_on=data, intermediate_on=MEMORY))
    columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns}
    joined = Layouts(**columns, speeds={})
    return joined.only(np.argsort(joined.type_row, kind="stable"))


def _divided(disks: Floats, *, divides: Flags) -> Layouts:
    """Return layouts with both groups on local disks: every split where a type `divides`, else shared."""
    ways = np.where(divides, disks - 1, 1).astype(int)
    type_row = np.repeat(np.arange(len(disks)), ways)
    way = np.arange(len(type_row)) - np.repeat(np.cumsum(ways) - ways, ways) + 1
    own, split = disks[type_row], divides[type_row]
    local = np.full(len(type_row), LOCAL, np.int8)
    return Layouts(
        type_row=type_row,
        disks=own,
        data_disks=np.where(split, way, own),
        intermediate_disks=np.where(split, own - way, own),
        data_on=local,
        intermediate_on=local,
    )


def _on_separate_media(disks: Floats, *, data_on: int, intermediate_on: int) -> Layouts:
    """Return layouts with the groups on different media, one per type."""
    fallback = np.where(disks > 0, LOCAL, VOLUMES) if intermediate_on == LOCAL else np.full(len(disks), intermediate_on)
    second = fallback.astype(np.int8)
    return Layouts(
        type_row=np.arange(len(disks)),
        disks=disks,
        data_disks=np.where(data_on == LOCAL, disks, 0.0),
        intermediate_disks=np.where(second == LOCAL, disks, 0.0),
        data_on=np.full(len(disks), data_on, np.int8),
        intermediate_on=second,
    )
