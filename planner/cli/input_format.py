"""What the objects of `--input` hold and what they are sorted by, in the options of commands that run on a cluster."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from planner.cli import key_options
from planner.cli.console import talk
from planner.cli.keyed_sources import counted, dataset_by_keys
from planner.cli.sort_formats import refuse_formats
from planner.cli.sort_keys import KeyOptions
from planner.errors import BadInputError
from planner.units import format_bytes

if TYPE_CHECKING:
    from planner.distributed_sort.dataset import Dataset


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
        """Return the text or the tables below a prefix of an object store, and say what of them is planned for.

        Raises BadInputError, IoFailureError.
        """
        from planner.distributed_sort.input_files import files_of
        from planner.distributed_sort.object_store import SCHEMES

        if not input.startswith(SCHEMES):
            raise BadInputError(f"--input {input}: is no prefix of an object store: {', '.join(SCHEMES)}")
        source, encoded_bytes = dataset_by_keys([input], self._keys()), sum(files_of(input).values())
        talk(f"note: {input} holds {_described(source, encoded_bytes)}")
        if self.unique:
            talk("note: --unique leaves less than came: the output is checked for order and equal keys, not for loss")
        return source

    def _keys(self) -> KeyOptions:
        return KeyOptions(**vars(self))


def _described(source: Dataset, encoded_bytes: int) -> str:
    """Return what there is, in words, and which of its sizes the plan counts."""
    files = len(source.partitions)
    objects = f"{files} object{'s' if files > 1 else ''}, none of which is divided while it is staged"
    planned = format_bytes(source.bytes)
    if source.layout.table is None:
        return f"{planned} of {counted(source)} in {objects}"
    return (
        f"{source.records} rows in {objects}: {planned} as they are sorted, for which all is planned, and "
        f"{format_bytes(encoded_bytes)} as they are stored"
    )
