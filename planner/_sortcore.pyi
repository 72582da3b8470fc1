"""The compiled sort core.

Buffers must be C-contiguous, writable where written and hold whole records, or ValueError is raised. Calls release
the GIL; `threads=0` means all available.
"""

from collections.abc import Sequence
from typing import Any, final

from typing_extensions import Buffer

class RecordError(ValueError):
    """The data is not what it must be: half a record, a damaged summary."""

class InputChangedError(Exception):
    """A file was written or replaced while it was sorted; the text is its path."""

class CancelledError(Exception):
    """`Progress.cancel` was called."""

@final
class Progress:
    """Watched and cancelled from another thread while an operation runs.

    Cannot be pickled; in a forked child ValueError is raised by it and by whatever it is given to.
    """

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
    def add_bytes(self, bytes: int) -> None: ...
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
    replaces: bool = True,
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

def send_parts(
    socket: int, folders: Sequence[str], parts: Sequence[tuple[str, int, int]], *, silent_s: float
) -> None: ...
def receive_parts(
    connections: Sequence[tuple[int, Sequence[int]]],
    into: Buffer,
    *,
    sizes: Sequence[int],
    states: Buffer,
    silent_s: float,
) -> list[bool]: ...
def checksum_pieces(bytes: Buffer, *, lengths: Buffer, out: Buffer) -> None: ...
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
    inputs: Sequence[str | bytes],
    outputs: Sequence[str | bytes],
    *,
    replicas: Sequence[str | bytes] = (),
    temporary_directories: Sequence[str | bytes] = (),
    record_bytes: int = 100,
    key_offset: int = 0,
    key_bytes: int = 10,
    stable: bool = False,
    memory_bytes: int = 0,
    threads: int = 0,
    queue_depth: int = 0,
    allow_direct: bool = True,
    passes: int = 0,
    spill: str = "auto",
    replaces: bool = True,
    progress: Progress | None = None,
) -> dict[str, Any]: ...

@final
class LineSummary:
    """What validation found out about consecutive lines."""

    @property
    def lines(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def unordered(self) -> int: ...
    @property
    def first_unordered(self) -> int | None: ...
    @property
    def duplicates(self) -> int: ...
    @property
    def checksum(self) -> int: ...
    def append(self, next: LineSummary) -> None: ...

def validate_lines(
    text: Buffer, *, key_offset: int = 0, key_bytes: int | None = None, threads: int = 0
) -> LineSummary: ...
def validate_lines_file(
    path: str, *, key_offset: int = 0, key_bytes: int | None = None, threads: int = 0, progress: Progress | None = None
) -> LineSummary: ...
def generate_lines_file(
    path: str, *, bytes: int, seed: int = 0, threads: int = 0, replaces: bool = True, progress: Progress | None = None
) -> int: ...

@final
class ChunkedRows:
    """Rows of a table in chunks, copied in any order; `rows` are numbers of 32 bits."""

    def __init__(self, chunk_rows: Sequence[int]) -> None: ...
    @property
    def rows(self) -> int: ...
    def gather_values(self, chunks: Sequence[Buffer], rows: Buffer, out: Buffer, *, width: int) -> None: ...
    def gather_bits(self, chunks: Sequence[tuple[Buffer | None, int]], rows: Buffer, out: Buffer) -> None: ...
    def gather_offsets(self, offsets: Sequence[Buffer], rows: Buffer, out: Buffer, *, offset_bytes: int) -> int: ...
    def gather_texts(
        self, offsets: Sequence[Buffer], texts: Sequence[Buffer], rows: Buffer, out: Buffer, *, offset_bytes: int
    ) -> None: ...

@final
class PackedRows:
    """Packed rows of a batch."""

    @property
    def rows(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def has_nulls(self, column: int) -> bool: ...
    def text_bytes(self, column: int) -> int: ...

@final
class RowPacker:
    """Packs batches of columns row by row; a column is a `value` or a `text` of so many bytes, or a `bit`.

    A batch has of each validity and its first bit, values, offsets or bits and their first bit, and texts.
    """

    def __init__(self, columns: Sequence[tuple[str, int]]) -> None: ...
    def pack(
        self, rows: int, columns: Sequence[tuple[Buffer | None, int, Buffer | None, int, Buffer | None]]
    ) -> PackedRows: ...

@final
class PackedTable:
    """Packed rows of several batches, copied in any order; returned are the bytes of each column's texts."""

    def __init__(self, batches: Sequence[PackedRows]) -> None: ...
    def take(self, rows: Buffer, out: Sequence[tuple[Buffer | None, Buffer, Buffer | None]]) -> list[int]: ...

def record_order(records: Buffer, out: Buffer, *, record_bytes: int, threads: int = 0) -> None: ...
def types_of_texts(
    rows: int, *, validity: tuple[Buffer | None, int], offsets: Buffer, texts: Buffer | None, able: int
) -> int: ...
def hash_values(values: Buffer, out: Buffer, *, width: int) -> None: ...
def hash_texts(offsets: Buffer, texts: Buffer, out: Buffer, *, offset_bytes: int) -> None: ...
def add_hashes(hashes: Buffer, rows: Buffer, *, place: int) -> int: ...
def scratch_bytes(records: int, *, threads: int = 0) -> int: ...
def warm_memory(bytes: int, *, threads: int = 0) -> None: ...
def sort_records(
    source: Buffer,
    out: Buffer,
    *,
    record_bytes: int = 100,
    key_offset: int = 0,
    key_bytes: int = 10,
    threads: int = 0,
    progress: Progress | None = None,
) -> None: ...

@final
class Splitters:
    """Boundaries between partitions; equal keys never part."""

    @property
    def partitions(self) -> int: ...
    @property
    def key_bytes(self) -> int: ...
    def holds_one_key(self, partition: int) -> bool: ...
    def serialize(self) -> bytes: ...
    @staticmethod
    def parse(bytes: Buffer, *, key_bytes: int) -> Splitters: ...

def sample_keys(
    records: Buffer, *, count: int, seed: int = 0, record_bytes: int = 100, key_offset: int = 0, key_bytes: int = 10
) -> bytes: ...
def choose_splitters(sample: Buffer, *, key_bytes: int = 10, partitions: int) -> Splitters: ...
def partition_records(
    source: Buffer, out: Buffer, splitters: Splitters, *, record_bytes: int = 100, key_offset: int = 0, threads: int = 0
) -> list[int]: ...
def merge_runs(
    runs: list[Buffer],
    out: Buffer,
    *,
    record_bytes: int = 100,
    key_offset: int = 0,
    key_bytes: int = 10,
    threads: int = 0,
    progress: Progress | None = None,
) -> None: ...
def bench_disk(
    read_directories: list[str],
    write_directories: list[str],
    *,
    seconds: float,
    warm_up_s: float = 0,
    interval_s: float = 1,
    file_bytes: int = 2_000_000_000,
    queue_depth: int = 4,
    partitions: int = 16,
    read_block_bytes: int = 4_096_000,
    write_block_bytes: int = 1_024_000,
    stripe_bytes: int = 0,
    allow_direct: bool = True,
    progress: Progress | None = None,
) -> list[dict[str, Any]]: ...

@final
class SmallIoFile:
    """A nameless file to read and write at random places."""

    def __init__(self, directory: str, *, bytes: int, progress: Progress | None = None) -> None: ...
    def run(
        self,
        *,
        io_bytes: int,
        writes: bool,
        flush_probability: float,
        threads: int,
        seconds: float,
        interval_s: float = 1,
        progress: Progress | None = None,
    ) -> dict[str, Any]: ...

def exchange_traffic(
    send_sockets: list[int],
    receive_sockets: list[int],
    *,
    seconds: float,
    warm_up_s: float = 1,
    cool_down_s: float = 1,
    interval_s: float = 1,
    stall_s: float = 10,
    progress: Progress | None = None,
) -> dict[str, Any]: ...

@final
class KeyOrder:
    """The order of lines by keys. A part is (first field, first byte, last field, its bytes, letters of GNU sort)."""

    def __init__(
        self,
        parts: Sequence[tuple[int, int, int, int, str]],
        *,
        separator: bytes | None = None,
        line_end: bytes = b"\n",
        whole_line_last: bool = True,
        reversed: bool = False,
        random_seed: bytes = b"",
        csv: tuple[bytes, bytes, int, bool] | None = None,
        record_bytes: int = 0,
    ) -> None: ...
    def key_of(self, line: bytes) -> bytes:
        """Return the bytes by which the line, without its end, is compared."""

def sort_text(
    inputs: Sequence[bytes],
    output: bytes,
    order: KeyOrder,
    *,
    first_bytes: Sequence[int] = (),
    end_bytes: Sequence[int] = (),
    prologue: bytes = b"",
    first_row: int = 1,
    versions: Sequence[FileVersion] = (),
    unique: bool = False,
    merge: bool = False,
    durable: bool = False,
    most_lines: int = ...,
    memory_bytes: int = 0,
    lines_may_exceed_memory: bool = False,
    temporary_directories: Sequence[bytes] = (),
    threads: int = 0,
    most_merged: int = 0,
    spill: str = "auto",
    replaces: bool = True,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Return the fields of `planner.sorting.records.keyed.TextReport`."""

class PiecewiseMerge:
    """A merge of sorted files into an output, from its `end` on, of which one piece after another is written."""

    def __init__(
        self,
        inputs: Sequence[bytes],
        first_bytes: Sequence[int],
        output: bytes,
        order: KeyOrder,
        *,
        end: int,
        unique: bool = False,
        memory_bytes: int = 0,
    ) -> None: ...
    def write(self, most_bytes: int, progress: Progress | None = None) -> tuple[int, int, list[int]]:
        """Write about so many bytes, which need not be on the disk then.

        Return the lines written, the output's new end and what is the first byte of each input that is left.
        """

def free_space(parts: Sequence[tuple[bytes, Sequence[tuple[int, int]]]]) -> None:
    """Give the space of parts of files back, which are zero from then on: ranges, each from where and how many bytes.

    Raises OSError.
    """

def natural_keys(offsets: Buffer, texts: Buffer) -> tuple[bytes, bytes]:
    """Return the offsets of keys, of 64 bits, and the keys, which compare as the texts do in natural order."""

def default_memory_bytes(*, within_address_space: bool = True) -> int:
    """Return four fifths of the memory that is available, as sorts take that are given none."""

def sorted_text(text: Buffer, order: KeyOrder, *, unique: bool = False) -> bytes:
    """Return the lines of the text, each with its end, sorted on this thread."""

def partition_text(text: Buffer, out: Buffer, order: KeyOrder, boundaries: Sequence[tuple[bytes, bool]]) -> list[int]:
    """Group lines by the boundaries; return where each group begins, and the last ends.

    A boundary is the first line of a group, or the last of the one before if it comes with True. `out` has room for
    one byte more than a text that does not end with a line's end.
    """

def summarize_text(text: Buffer, order: KeyOrder) -> tuple[int, int, int, int, bytes, bytes]:
    """Return the lines, the sum of their CRC-32, how many come before, and how many equal, the one in front of them,
    and the first and the last line without their ends.
    """

def find_line_end(text: Buffer, order: KeyOrder, is_within: bool = False) -> tuple[int | None, bool]:
    """Return the place behind the first end of a line, and whether a text without one ends within quotes.

    `is_within` says whether a text of CSV begins within quotes.
    """

def is_within_quotes_behind(text: Buffer, order: KeyOrder, is_within: bool = False) -> bool:
    """Whether what follows a text of CSV is within quotes; `is_within` says it of the text's beginning."""

def first_lines(text: Buffer, order: KeyOrder, most: int = ...) -> list[bytes]:
    """Return the first lines of a text, without their ends. A row of CSV that lacks its end is none."""

def find_disorder(
    input: bytes, order: KeyOrder, *, unique: bool = False, first_byte: int = 0, first_row: int = 1
) -> tuple[int, bytes] | None: ...
def remove_partial_files_on(signal: int) -> None:
    """Make a signal that ends the process remove files that have a name and are not whole."""

@final
class FileVersion:
    """The version of a file, to notice that it was written or replaced while it was sorted."""

    def __init__(self, path: str | bytes) -> None: ...
    def require_unchanged(self) -> None:
        """Raise InputChangedError, whose text is the path, where the file has another version; it may be gone."""

@final
class OutputFile:
    """A file that appears under its name with `commit`, on disk and with so many bytes, or not at all."""

    def __init__(self, path: bytes, *, replaces: bool = True) -> None: ...
    @property
    def descriptor(self) -> int: ...
    def commit(self, bytes: int) -> None: ...
