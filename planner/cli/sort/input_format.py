"""What the objects of `--input` hold and what they are sorted by, in the options of commands that run on a cluster."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from planner.cli.shell.console import talk
from planner.cli.sort import key_options
from planner.cli.sort.keyed_sources import dataset_by_keys
from planner.cli.sort.sort_formats import refuse_formats
from planner.cli.sort.sort_keys import KeyOptions
from planner.errors import BadInputError
from planner.units import format_bytes

if TYPE_CHECKING:
    from planner.distributed_sort.dataset.dataset import Dataset


@dataclass(frozen=True, kw_only=True)
class InputFormat:
    """What the input holds; fixed records, as the sort benchmark has them, without any of these."""

    format: key_options.Format = None
    key: key_options.Keys = None
    separator: key_options.Separator = None
    no_header: key_options.NoHeader = False
    unique: key_options.Unique = False
    zero_terminated: key_options.ZeroTerminated = False

    @property
    def has_keys(self) -> bool:
        """Whether the input is text or tables."""
        return self.format not in (None, "records")

    @property
    def is_table(self) -> bool:
        """Whether the input is tables, for which machines need a library more."""
        return self.format == "parquet"

    def require(self, *, input: str | None) -> None:
        """Raise BadInputError for options that would be ignored, or cannot be."""
        given = [field.name for field in fields(self) if getattr(self, field.name) != field.default]
        if not given:
            return
        option = {"zero_terminated": "-z"}.get(given[0], f"--{given[0].replace('_', '-')}")
        if input is None:
            raise BadInputError(f"{option}: generated data is records; name data of yours: --input s3://bucket/prefix")
        if self.has_keys:
            refuse_formats(self._keys(), lines=self.format == "lines")
        elif given != ["format"]:
            wrong = next(name for name in given if name != "format")
            option = {"zero_terminated": "-z"}.get(wrong, f"--{wrong.replace('_', '-')}")
            raise BadInputError(
                f"{option} says nothing about records of 100 bytes, which are sorted by their first 10: say --format "
                "lines, csv or parquet, or leave it out"
            )

    def dataset(self, input: str) -> Dataset:
        """Return the text or the tables below a prefix of an object store, or at a path that the nodes reach, and say
        what of them is planned for.

        Raises BadInputError, IoFailureError.
        """
        source = dataset_by_keys([input], self._keys())
        talk(f"note: {input} holds {_described(source, input)}")
        if self.unique:
            talk("note: --unique leaves less than came: the output is checked for order and equal keys, not for loss")
        return source

    def _keys(self) -> KeyOptions:
        return KeyOptions(**vars(self))


def _described(source: Dataset, name: str) -> str:
    """Return what there is, in words, and which of its sizes the plan counts."""
    from planner.distributed_sort.dataset.input_files import files_of, is_manifest
    from planner.distributed_sort.dataset.object_store import is_object

    count, planned = len(source.partitions), format_bytes(source.bytes)
    files = f"{count} {'object' if is_object(name) else 'file'}{'s' if count > 1 else ''}"
    if is_object(name):
        files += ", none of which is divided while it is staged"
    if source.layout.table is None:
        return f"{planned} of {source.layout.counted} in {files}"
    rows = f"{source.records} rows in {files}: {planned} as they are sorted, for which all is planned"
    if is_manifest(name):
        return rows
    return f"{rows}, and {format_bytes(sum(files_of(name).values()))} as they are stored"
