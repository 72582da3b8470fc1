"""The compiled sort core.

Buffers must be C-contiguous, writable where written and hold whole records, or ValueError is raised. Calls release
the GIL; `threads=0` means all available.
"""

from typing import Any, final

from typing_extensions import Buffer

class RecordError(ValueError):
    """The data is not what it must be: half a record, a damaged summary."""

class CancelledError(Exception):
    """`Progress.cancel` was called."""

@final
class Progress:
    """Watched and cancelled from another thread while an operation runs. Cannot be pickled."""

    def __init__(self) -> None: ...
    @property
    def bytes_done(self) -> int: ...
    @property
    def bytes_total(self) -> int: ...
    @property
    def phase(self) -> int: ...
    @property
    def is_cancelled(self) -> bool: ...
    def begin_phase(self, phase: int, *, bytes_total: int) -> None: ...
    def cancel(self) -> None: ...

def generate_records(
    out: Buffer, *, start: int = 0, ascii: bool = False, skewed: bool = False, threads: int = 0
) -> None: ...
def generate_file(
    path: str,
    *,
    records: int,
    start: int = 0,
    ascii: bool = False,
    skewed: bool = False,
    threads: int = 0,
    progress: Progress | None = None,
) -> None: ...

@final
class Summary:
    """What validation found out about consecutive records; cannot be pickled, but serialized."""

    @property
    def record_bytes(self) -> int: ...
    @property
    def key_offset(self) -> int: ...
    @property
    def key_bytes(self) -> int: ...
    @property
    def records(self) -> int: ...
    @property
    def unordered(self) -> int: ...
    @property
    def first_unordered(self) -> int | None: ...
    @property
    def duplicates(self) -> int: ...
    @property
    def checksum(self) -> int: ...
    @property
    def first_record(self) -> bytes: ...
    @property
    def last_record(self) -> bytes: ...
    def append(self, next: Summary) -> None: ...
    def serialize(self) -> bytes: ...
    @staticmethod
    def parse(bytes: Buffer, *, path: str = "") -> Summary: ...

def validate_records(
    records: Buffer, *, record_bytes: int = 100, key_offset: int = 0, key_bytes: int = 10, threads: int = 0
) -> Summary: ...
def validate_file(
    path: str,
    *,
    record_bytes: int = 100,
    key_offset: int = 0,
    key_bytes: int = 10,
    threads: int = 0,
    progress: Progress | None = None,
) -> Summary: ...
def sort_files(
    inputs: list[str],
    outputs: list[str],
    *,
    replicas: list[str] = [],
    temporary_directories: list[str] = [],
    record_bytes: int = 100,
    key_offset: int = 0,
    key_bytes: int = 10,
    memory_bytes: int = 0,
    threads: int = 0,
    allow_direct: bool = True,
    progress: Progress | None = None,
) -> dict[str, Any]: ...
