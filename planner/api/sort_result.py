"""Results of a sort, and of a check of order."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset as ArrowDataset
    from ray.data import Dataset as RayDataset

    from planner.sorting.records.keyed import TextReport
    from planner.sorting.records.local import SortReport
    from planner.sorting.tables.parquet import ParquetReport


@dataclass(frozen=True, kw_only=True)
class SortResult:
    """Number of written `counted` (records, lines or rows), and the report of the engine that sorted them.

    `seconds` is None for a sort on a cluster, whose report is a JSON object.
    """

    counted: str
    count: int
    seconds: float | None
    report: SortReport | TextReport | ParquetReport | dict[str, Any]
    tables: tuple[str, ...] = ()
    """The Parquet files of the result, in order; of a copy that this machine reaches, if there is one."""

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-able values."""
        from planner.sorting.records.local import SortReport

        if isinstance(self.report, dict):
            return self.report
        if isinstance(self.report, SortReport):
            return self.report.to_dict()
        values = asdict(self.report)
        if "lines" in values:
            del values["lines"]
            return {self.counted: self.count, "seconds": self.seconds, **values}
        return values | {"seconds": self.seconds}

    def to_pyarrow(self) -> ArrowDataset:
        """Return the sorted rows as a `pyarrow.dataset.Dataset`. Raises BadInputError if they are not Parquet, or are
        on the disks of other nodes.
        """
        from planner.api.contents.datasets import arrow_dataset

        return arrow_dataset(self.tables)

    def to_ray(self) -> RayDataset:
        """Return the sorted rows as a `ray.data.Dataset` that keeps their order. Raises BadInputError as above."""
        from planner.api.contents.datasets import ray_dataset

        return ray_dataset(self.tables)


@dataclass(frozen=True, kw_only=True)
class Disorder:
    """The first line, row or record out of order: its number, from 1, and its text, or a record's keys, 0x..."""

    number: int
    text: str
