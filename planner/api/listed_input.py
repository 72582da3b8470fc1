"""Facts from a listing of the input: bytes, number of files, format and compression."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from planner.clouds.calls.http import header_of
from planner.errors import BadInputError, IoFailureError, PlannerError
from planner.schemas.request import CODECS

_CODECS: Final = {
    "gz": "gzip", "zst": "zstd", "lz4": "lz4", "sz": "snappy", "snappy": "snappy", "br": "brotli", "bz2": "none",
    "xz": "none",
}  # fmt: skip
"""Value of `--compression` for each compression, by its suffix."""
_FORMATS: Final = {"csv": "csv", "tsv": "csv", "parquet": "parquet", "txt": "lines", "log": "lines"}
PATIENCE_S: Final = 15.0
"""Seconds to wait for a store that does not answer: without an account its library retries without end."""
_SAMPLED_FILES: Final = 3
"""Number of files, the largest, that are looked into."""


@dataclass(frozen=True, kw_only=True)
class ListedInput:
    """Files as stored; `format` is that of the largest, `compression` None if nothing shows it. `region` is the
    bucket's, None if its store does not report it.
    """

    stored_bytes: int
    files: int
    format: str
    compression: str | None
    region: str | None


def form_by_name(address: str) -> dict[str, str]:
    """Return the format and the compression that a name such as `*.csv.gz` shows; nothing where it shows no format."""
    *_, before, last = ("", "", *address.rpartition("/")[2].casefold().split("."))
    codec = _CODECS.get(last)
    found = _FORMATS.get(before if codec else last)
    return {} if found is None else {"format": found} | ({"compression": codec} if codec else {})


def list_input(address: str, *, format: str | None = None) -> ListedInput:
    """List the files at an address of an object store, or at a path, which are of a `format`, or of what they show.

    Raises BadInputError if there are no files, or if these are of unknown or different kinds; IoFailureError if the
    address cannot be reached.
    """
    from planner.api.contents.inspection import common_kind
    from planner.distributed_sort.dataset.object_store import SCHEMES, planner_uri

    address = planner_uri(address)
    is_path = address.startswith("file://")
    if "://" in address and not address.startswith(("file://", *SCHEMES)):
        listed = ", ".join(SCHEMES)
        raise BadInputError(
            f"--input {address}: only {listed} and paths are listed; say how much it is: --data 3TB",
            code="unsupported-address",
        )
    files = files_at(unquote(address.removeprefix("file://")) if is_path else address)
    if not any(files.values()):
        raise BadInputError(
            f"{address}: the file is empty; name another, or say how much it will hold: --data 3TB", code="empty-file"
        )
    codec = _of_most(files, lambda name: _CODECS.get(name.rpartition(".")[2].casefold()))
    largest = sorted(files, key=lambda name: -files[name])[:_SAMPLED_FILES]
    kind = None if format else common_kind(largest)
    form = format or (kind.format if kind else "records")
    if kind is not None:
        codec = _CODECS.get(kind.compression)
    ratio = _ratio_of(largest, files, form, codec)
    return ListedInput(
        stored_bytes=sum(files.values()),
        files=len(files),
        format=form,
        compression=ratio or codec or ("none" if form != "parquet" else None),
        region=_region_of(address),
    )


def files_at(place: str, *, patience_s: float = PATIENCE_S) -> Mapping[str, int]:
    """Return the bytes of each file that is not empty: the file at a path, or those in a folder or below an address.

    Raises BadInputError if there are no files, IoFailureError if the place cannot be reached in time, PlannerError
    without the sort core.
    """
    try:
        from planner.distributed_sort.dataset.input_files import files_of
    except PlannerError as error:  # the sort core, which reads files, is missing
        raise error.reworded(f"{place}: {error.message}", "or say how much it is: --data 3TB") from None
    answers: list[Mapping[str, int] | Exception] = []

    def ask() -> None:
        try:
            answers.append(files_of(place))
        except Exception as error:
            answers.append(error)

    asking = threading.Thread(target=ask, daemon=True)  # so that a library waiting for a network does not block exit
    asking.start()
    asking.join(patience_s)
    if not answers:
        raise IoFailureError(
            f"{place}: no answer within {patience_s:.0f} s; is this machine allowed to list it?", code="no-answer"
        )
    (answer,) = answers
    if isinstance(answer, Exception):
        raise answer
    return answer


def _region_of(address: str) -> str | None:
    """Return the region of an S3 bucket, which every answer contains, even a refusal (HeadBucket in the API reference
    of Amazon S3, read 2026-11-26).
    """
    if not address.startswith("s3://"):
        return None
    bucket, endpoint = address.partition("://")[2].partition("/")[0], os.environ.get("AWS_ENDPOINT_URL")
    url = f"{endpoint.rstrip('/')}/{bucket}" if endpoint else f"https://{bucket}.s3.amazonaws.com/"
    return header_of(url, "x-amz-bucket-region")


def _of_most(files: Mapping[str, int], codec_of: Any) -> str | None:
    counted: Counter[str | None] = Counter()
    for name, size in files.items():
        counted[codec_of(name)] += size
    return counted.most_common(1)[0][0]


def _ratio_of(names: Sequence[str], files: Mapping[str, int], form: str, codec: str | None) -> str | None:
    """Return the codec with the measured ratio of some files, as `--compression` takes it: for Parquet, sorted row
    bytes over file bytes; otherwise from their beginning. None if it cannot be determined.
    """
    stored_bytes = sum(files[name] for name in names)
    if form == "parquet":
        from planner.distributed_sort.dataset.table_dataset import decoded_bytes_of

        decoded = [decoded_bytes_of(name) for name in names]
        word = decoded[0][1].casefold()
        return f"{word if word in CODECS else 'none'}={sum(size for size, _ in decoded) / stored_bytes:.3g}"
    if codec not in (None, "brotli"):
        from planner.api.input_dataset import files_dataset
        from planner.sorting.sort_job import InputFormat

        return f"{codec}={files_dataset(InputFormat(format='lines'), names).bytes / stored_bytes:.3g}"
    return None
