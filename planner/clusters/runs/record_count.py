"""How many records the data of a run holds."""

from __future__ import annotations

from typing import Final

from planner.distributed_sort.dataset.dataset import Layout
from planner.errors import BadInputError

_RECORD_BYTES: Final = Layout().record_size


def record_count(data_bytes: int) -> int:
    """Return the records in `data_bytes` of the sort benchmark's data. Raises BadInputError for half a record."""
    if data_bytes % _RECORD_BYTES:
        raise BadInputError(f"--data {data_bytes}B is not a whole number of {_RECORD_BYTES}-byte records")
    return data_bytes // _RECORD_BYTES
