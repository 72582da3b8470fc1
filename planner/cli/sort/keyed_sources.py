"""Text and tables as datasets of a cluster, from what the options of keys say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from planner.cli.shell.console import talk
from planner.cli.sort.sort_keys import csv_columns, parsed_keys, parsed_separator
from planner.errors import BadInputError
from planner.units import format_bytes

if TYPE_CHECKING:
    from planner.cli.sort.sort_keys import KeyOptions
    from planner.distributed_sort.dataset.dataset import Dataset, TextFormat


def dataset_by_keys(names: Sequence[str], keys: KeyOptions) -> Dataset:
    """Return the text or the tables of that name: manifests, or files that every node reaches by it. Raises
    BadInputError.
    """
    source = _dataset(names, keys)
    if compressed := [partition for partition in source.partitions if partition.is_estimated]:
        size = format_bytes(sum(partition.records for partition in compressed))
        verb = "is" if len(compressed) == 1 else "are"
        talk(
            f"note: {len(compressed)} of {len(source.partitions)} files {verb} compressed. Each is one split: one node "
            f"decompresses it before the sort. By their beginnings they hold about {size} of text"
        )
    return source


def _dataset(names: Sequence[str], keys: KeyOptions) -> Dataset:
    from planner.distributed_sort.dataset.table_dataset import tables_of
    from planner.distributed_sort.dataset.text_dataset import lines_of, rows_of

    if keys.merge or keys.limit:
        raise BadInputError("--merge and --limit are for one machine: leave them out, or leave out --ray")
    if keys.format == "parquet":
        return tables_of(names, keys.key or (), unique=keys.unique)
    if keys.format == "csv":
        return rows_of(names, csv_columns(keys), unique=keys.unique)
    return lines_of(names, _text_format(keys))


def _text_format(keys: KeyOptions) -> TextFormat:
    from planner.distributed_sort.dataset.dataset import TextFormat

    return TextFormat(
        keys=parsed_keys(keys),
        separator=(parsed_separator(keys) or b"").decode("latin-1"),
        line_end="\0" if keys.zero_terminated else "\n",
        unique=keys.unique,
    )
