"""Estimates of the plain size of compressed text, from the beginning of some files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from planner.compression.text_codecs import MAGIC_BYTES, compression_of, decompress_text
from planner.distributed_sort.dataset.dataset import Partition
from planner.distributed_sort.dataset.input_files import beginning_of, size_of
from planner.errors import BadInputError

_MOST_TRIED: Final = 8
"""Files of which the beginning is decompressed; the others are taken to be like these."""
_TRIED_BYTES: Final = 1 << 20
"""Of compressed data, from the beginning of each."""


def estimate_sizes(partitions: Sequence[Partition]) -> list[Partition]:
    """Return the partitions of files of text, of which those of compressed files say so, and have estimated sizes.
    Other partitions, as of manifests, are returned as they are. Raises BadInputError where a beginning is damaged.
    """
    forms = {number: form for number, partition in enumerate(partitions) if (form := _compression(partition))}
    tried = sorted({list(forms)[turn * len(forms) // _MOST_TRIED] for turn in range(_MOST_TRIED)}) if forms else []
    ratios = {number: plain_per_byte(partitions[number].uri, forms[number]) for number in tried}
    mean = sum(ratios.values()) / max(1, len(ratios))
    return [
        _with_estimate(partition, forms[number], ratios.get(number, mean)) if number in forms else partition
        for number, partition in enumerate(partitions)
    ]


def plain_per_byte(name: str, form: str) -> float:
    """Return the bytes of text for each compressed byte in the beginning of a file. Raises BadInputError."""
    taken = plain = 0

    def pieces() -> Iterator[bytes]:
        nonlocal taken
        for piece in beginning_of(name, size_of(name)):
            taken += len(piece)
            yield piece

    for chunk in _name_file_in_errors(name, decompress_text(pieces(), form)):
        plain += len(chunk)
        if taken >= _TRIED_BYTES:
            break
    return plain / max(1, taken)


def text_of(name: str, size: int) -> Iterator[bytes]:
    """Yield a file from its beginning on, decompressed if it is compressed. Raises BadInputError where it is damaged,
    IoFailureError.
    """
    pieces = beginning_of(name, size)
    form = _form(name, size)
    return _name_file_in_errors(name, decompress_text(pieces, form)) if form else pieces


def _compression(partition: Partition) -> str:
    """Return how the one file of a partition is compressed, if it is a file that any node reaches."""
    if partition.recipe is not None or len(partition.copies) != 1 or partition.copies[0].node:
        return ""
    return _form(partition.uri, partition.records + partition.copies[0].offset)


def _form(name: str, size: int) -> str:
    return compression_of(next(beginning_of(name, min(size, MAGIC_BYTES)), b""))


def _with_estimate(partition: Partition, form: str, ratio: float) -> Partition:
    (copy,) = partition.copies
    records = max(1, round(ratio * (partition.records + copy.offset)) - copy.offset)
    return replace(partition, records=records, copies=(replace(copy, compression=form),), is_estimated=True)


def _name_file_in_errors(name: str, chunks: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from chunks
    except BadInputError as error:
        raise BadInputError(f"{name}: {error.message}", error.details) from error
