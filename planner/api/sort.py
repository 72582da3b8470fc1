"""Sorts from Python: `planner.sort(...)`, on this machine or on a Ray cluster, and `planner.find_disorder(...)`."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from planner.api.files import STANDARD_OUTPUT, mode_of, require_directories, require_new, require_readable
from planner.api.input_format import Format, InputFormat
from planner.api.progress import OnProgress, reported
from planner.errors import BadInputError

if TYPE_CHECKING:
    from planner.distributed_sort.dataset.dataset import Dataset
    from planner.sorting.records.keyed import TextReport
    from planner.sorting.records.keys import Key
    from planner.sorting.records.local import SortReport, Spill
    from planner.sorting.tables.parquet import ParquetReport
    from planner.sorting.text.text_files import TextJob

StrPath = str | os.PathLike[str]
Compress = Literal["gz", "zst", "none"]
Say = Callable[[str], None]
OnEvent = Callable[[dict[str, Any]], None]

_URI: Final = re.compile(r"^(s3|gs|az):/+")
_USUAL_RECORD: Final = (100, 0, None)


@dataclass(frozen=True, kw_only=True)
class SortResult:
    """Number of `counted` (records, lines or rows) that were written, and the report of the engine that sorted them.

    `seconds` is None of a sort on a cluster, whose report is a JSON object.
    """

    counted: str
    count: int
    seconds: float | None
    report: SortReport | TextReport | ParquetReport | dict[str, Any]

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


@dataclass(frozen=True, kw_only=True)
class Disorder:
    """The first line, row or record that is out of order: its number, from 1, and its text, of records in hex."""

    number: int
    text: str


@dataclass(frozen=True, kw_only=True)
class _Job:
    """How files are sorted or checked."""

    form: InputFormat
    lines: bool = False
    merge: bool = False
    limit: int | None = None
    compress: Compress | None = None
    record: tuple[int, int, int | None] = _USUAL_RECORD
    """Its size, and where its key begins and how many bytes that has; of lines, the last two."""
    stable: bool = False
    spill: Spill = "auto"
    memory_bytes: int | None = None
    threads: int | None = None
    temp_dirs: tuple[str, ...] = ()

    @property
    def is_text_or_table(self) -> bool:
        """Whether anything is given that only text or tables have."""
        return bool(self.form.is_text_or_table or self.merge or self.limit or self.compress)

    @property
    def record_bytes(self) -> int:
        """Size of a record; 0 of text. --unique, --merge and --limit alone mean lines. Raises BadInputError."""
        if self.lines or not self.form.is_of_records:
            return 0
        if self.record[0] < 1:
            raise BadInputError(f"--record-size {self.record[0]}: a record has at least one byte")
        says_so = self.form.format == "records" or self.form.key or self.record != _USUAL_RECORD
        return self.record[0] if says_so or not (self.form.unique or self.merge or self.limit) else 0

    @property
    def span(self) -> tuple[int, int | None] | None:
        """Where the key begins, and its bytes (None: to the line's end, or 10); None where keys are given by name."""
        return self.record[1:] if (self.lines or self.record_bytes) and not self.form.key else None

    def require_one_output(self, *, others: bool) -> None:
        """Raise BadInputError for options of plain records in a sort by keys."""
        span = (0, None) if self.span else self.record[1:]
        if (self.record[0] != _USUAL_RECORD[0] and not self.record_bytes) or span != (0, None) or others:
            raise BadInputError(
                "--key and its kin sort into one file: leave out --more-output, --key-offset and --key-size; of text"
                " and tables also --record-size"
            )


def sort(
    inputs: StrPath | Sequence[StrPath],
    output: StrPath,
    *,
    more_outputs: Sequence[StrPath] = (),
    format: Format | None = None,
    key: str | Sequence[str] | None = None,
    separator: str | None = None,
    no_header: bool = False,
    unique: bool = False,
    zero_terminated: bool = False,
    lines: bool = False,
    merge: bool = False,
    limit: int | None = None,
    compress: Compress | None = None,
    record_size: int = 100,
    key_offset: int = 0,
    key_size: int | None = None,
    stable: bool = False,
    spill: Spill = "auto",
    memory_bytes: int | None = None,
    threads: int | None = None,
    temp_dirs: Sequence[StrPath] = (),
    force: bool = False,
    ray: str | None = None,
    copies: int = 1,
    to: str | None = None,
    uniform: bool = False,
    say: Say | None = None,
    on_progress: OnProgress | None = None,
    on_event: OnEvent | None = None,
) -> SortResult:
    """Sort files into one as `planner sort` does: records by their first bytes, or what `format` and `key` say.

    With `ray` the cluster at that address sorts (`"auto"`: the one of this machine), and `output` is a manifest.
    `say` receives notes, `on_event` the events of a cluster. Raises BadInputError for options that exclude each other
    and for an output that exists, unless `force` replaces it; IoFailureError; InterruptedRunError.

    >>> import planner, tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     names = pathlib.Path(folder, "names.csv")
    ...     _ = names.write_text("name,age\\nEve,9\\nAda,36\\n")
    ...     planner.sort(names, names.with_name("sorted.csv"), format="csv", key="age:num:desc").count
    2
    """
    job = _Job(
        form=_form(format, key, separator, no_header=no_header, unique=unique, zero_terminated=zero_terminated),
        lines=lines or format == "lines",
        merge=merge,
        limit=limit,
        compress=compress,
        record=(record_size, key_offset, key_size),
        stable=stable,
        spill=spill,
        memory_bytes=memory_bytes,
        threads=threads,
        temp_dirs=tuple(str(path) for path in temp_dirs),
    )
    sources = _paths(inputs)
    outputs = [Path(output), *map(Path, more_outputs)]
    if ray is not None:
        cluster = {"copies": copies, "uniform": uniform, "output": to or outputs[0].stem}
        return _sort_on_ray(job, sources, outputs, cluster, address=ray, force=force, say=say, on_event=on_event)
    result = Path("-") if str(output) in STANDARD_OUTPUT else outputs[0]
    if not (job.is_text_or_table or _concerns_compression(sources, result, by_name=bool(job.record_bytes))):
        _require_inputs(sources, outputs, job, force=force)
        return _sort_records(job, sources, outputs, on_progress)
    job.require_one_output(others=bool(more_outputs))
    _require_inputs(sources, [result], job, force=force, is_text=True)
    if format == "parquet":
        return _sort_parquet(job, sources, result, on_progress)
    return _sort_text(job, sources, result, say=say, on_progress=on_progress)


def find_disorder(
    source: StrPath,
    *,
    format: Format | None = None,
    key: str | Sequence[str] | None = None,
    separator: str | None = None,
    no_header: bool = False,
    unique: bool = False,
    zero_terminated: bool = False,
    lines: bool = False,
    record_size: int = 100,
    key_offset: int = 0,
    key_size: int | None = None,
    stable: bool = False,
    on_progress: OnProgress | None = None,
) -> Disorder | None:
    """Return the first line, row or record of a file that is out of order, as `planner sort --check` does.

    With `unique` equal keys are out of order, too. Raises BadInputError for options that exclude each other.
    """
    form = _form(format, key, separator, no_header=no_header, unique=unique, zero_terminated=zero_terminated)
    layout = (record_size, key_offset, key_size)
    job = _Job(form=form, lines=lines or format == "lines", record=layout, stable=stable)
    job.require_one_output(others=False)
    require_readable([Path(source)] if str(source) != "-" else [])
    if format == "parquet":
        return _disorder_of_rows(job, str(source), on_progress)
    return _disorder_of_text(job, Path(source))


def _form(format: Format | None, key: str | Sequence[str] | None, separator: str | None, **flags: bool) -> InputFormat:
    keys = [key] if isinstance(key, str) else key
    return InputFormat(format=format, key=keys, separator=separator, **flags)


def _paths(names: StrPath | Sequence[StrPath]) -> list[Path]:
    return [Path(names)] if isinstance(names, str | os.PathLike) else [Path(name) for name in names]


def _require_inputs(
    sources: Sequence[Path], outputs: Sequence[Path], job: _Job, *, force: bool, is_text: bool = False
) -> None:
    """Raise BadInputError for files that cannot be read or must not be replaced.

    `planner sort *.dat` without an output must not replace the last of the data. What is an input is never replaced by
    records, as the sort core says; by text it is with --force. Text may be standard input and output, too.
    """
    require_readable(path for path in sources if not (is_text and str(path) == "-"))
    require_directories("--temp-dir", map(Path, job.temp_dirs))
    if is_text:
        outputs = [path for path in outputs if str(path) != "-"]
    if any(str(path) == "-" for path in outputs):
        raise BadInputError("OUTPUT -: the result is a file, which appears whole or not at all; name it")
    several = "; with several inputs the last name is the output's, which might be an oversight"
    inputs = [] if is_text else sources
    new = (path for path in outputs if not any(mode_of(path) and path.samefile(source) for source in inputs))
    require_new(new, force=force, hint=several if len(sources) > 1 else "")


def _concerns_compression(sources: Sequence[Path], output: Path, *, by_name: bool) -> bool:
    """Whether an input is compressed or no file, or the output is no file or to be compressed.

    With `by_name` only a file that is called so can be compressed.
    """
    from planner.compression.text_codecs import SUFFIXES, is_compressed

    mode = mode_of(output)
    pipes = any(str(path) == "-" for path in [*sources, output]) or stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)
    files = [path for path in sources if stat.S_ISREG(mode_of(path))]
    looked_into = [path for path in sources if not by_name or path.suffix in SUFFIXES or path not in files]
    return pipes or output.suffix in SUFFIXES or any(is_compressed(path) for path in looked_into)


def _sort_records(
    job: _Job, sources: Sequence[Path], outputs: Sequence[Path], on_progress: OnProgress | None
) -> SortResult:
    from planner.sorting.records.local import sort_file
    from planner.sorting.records.memory import left_for_sorting

    record_size, key_offset, key_size = job.record
    with reported(["read", "distribute", "write"], on_progress) as progress:
        report = sort_file(
            sources,
            outputs,
            memory_bytes=job.memory_bytes and left_for_sorting(job.memory_bytes),
            threads=job.threads,
            record_size=record_size,
            key_offset=key_offset,
            key_size=key_size,
            lines=job.lines,
            stable=job.stable,
            spill=job.spill,
            temp_dirs=job.temp_dirs,
            progress=progress,
        )
    counted = "lines" if job.lines else "records"
    return SortResult(counted=counted, count=report.records, seconds=report.seconds, report=report)


def _sort_text(
    job: _Job, sources: Sequence[Path], output: Path, *, say: Say | None, on_progress: OnProgress | None
) -> SortResult:
    """Sort text, or records by their keys; `-` is standard input or output."""
    from planner.api.text_advice import notes_on_columns
    from planner.native import run_interruptible
    from planner.sorting.records.memory import left_for_sorting
    from planner.sorting.text.text_files import sort_text_files

    to_stdout = str(output) == "-"
    text_job = _text_job(
        job,
        sources,
        output="" if to_stdout else str(output),
        merge=job.merge,
        most_lines=job.limit,
        compress=job.compress,
        memory_bytes=left_for_sorting(job.memory_bytes) if job.memory_bytes else 0,
        temp_dirs=job.temp_dirs or (str(output.parent),),
        threads=job.threads or 0,
        spill=job.spill,
    )
    began = time.monotonic()
    with reported(["read", "write"], on_progress) as progress:
        report = run_interruptible(lambda shown: sort_text_files(text_job, shown), progress)
    seconds = time.monotonic() - began
    counted = "rows" if text_job.csv else "records" if job.record_bytes else "lines"
    if say and not text_job.csv and text_job.order.separator and not to_stdout:
        separator = text_job.order.separator
        for note in chain.from_iterable(notes_on_columns(source, separator) for source in sources):
            say(f"note: {note}")
    return SortResult(counted=counted, count=report.lines, seconds=seconds, report=report)


def _disorder_of_text(job: _Job, source: Path) -> Disorder | None:
    from planner.native import run_interruptible
    from planner.sorting.text.text_files import check_text_file

    text_job = _text_job(job, [source])
    found = run_interruptible(lambda progress: check_text_file(text_job, progress))
    if found is None:
        return None
    number, text = found
    return Disorder(number=number, text=text.hex() if job.record_bytes else text.decode(errors="backslashreplace"))


def _text_job(job: _Job, sources: Sequence[Path], **limits: Any) -> TextJob:
    from planner.sorting.records.keyed import TextOrder
    from planner.sorting.text.text_files import TextJob

    form, inputs = job.form, tuple(str(source) for source in sources)
    if job.record_bytes:
        order = TextOrder(_record_keys(job), stable=True, unique=form.unique, record_bytes=job.record_bytes)
        return TextJob(inputs=inputs, order=order, **limits)
    if form.format == "csv":
        if job.lines:
            raise BadInputError("--format csv: rows are no lines; leave out --lines")
        order = TextOrder(stable=True, unique=form.unique)
        return TextJob(inputs=inputs, order=order, csv=form.csv_columns(), **limits)
    if form.format == "records" or form.no_header:
        raise BadInputError("--key, --no-header and their kin sort text: give --format csv, or lines")
    by_place = _keys_by_place(job.span)
    order = TextOrder(
        keys=form.line_keys() or by_place,
        separator=form.separator_byte(),
        line_end=b"\0" if form.zero_terminated else b"\n",
        stable=job.stable or bool(by_place),
        unique=form.unique,
    )
    return TextJob(inputs=inputs, order=order, **limits)


def _record_keys(job: _Job) -> tuple[Key, ...]:
    from planner.sorting.records.local import DEFAULT_KEY_BYTES
    from planner.sorting.records.record_keys import bytes_key, parse_record_key

    form, record_bytes = job.form, job.record_bytes
    if form.separator or form.zero_terminated or form.no_header:
        raise BadInputError("--separator, -z and --no-header are for text, not for records")
    if form.key:
        return tuple(parse_record_key(text, record_bytes=record_bytes) for text in form.key)
    offset, size = job.span or (0, None)
    size = DEFAULT_KEY_BYTES if size is None else size
    return (bytes_key(offset=offset, size=size, record_bytes=record_bytes),)


def _keys_by_place(span: tuple[int, int | None] | None) -> tuple[Key, ...]:
    """Return the key that --key-offset and --key-size say; none for whole lines."""
    from planner.sorting.records.keys import UNLIMITED, Key

    if span is None or span == (0, None):
        return ()
    begin, size = span
    return (Key(first_byte=begin) if size is None else Key(UNLIMITED, begin, 0, begin + size),)


def _sort_parquet(job: _Job, sources: Sequence[Path], output: Path, on_progress: OnProgress | None) -> SortResult:
    from planner.native import core
    from planner.sorting.tables.arrow_library import arrow
    from planner.sorting.tables.parquet import ParquetJob, sort_parquet

    if job.spill != "auto":
        raise BadInputError("--spill is for text and records: Parquet is spilled as pyarrow writes it")
    _require_parquet(job, [*sources, output])
    # Every byte of memory is touched once, and in pages of 2 MB that took longer: see measurements.md.
    os.environ.setdefault("MIMALLOC_ALLOW_THP", "0")  # read when pyarrow is loaded
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's, which begin by spinning and have nothing to do
    if job.threads:
        arrow().set_cpu_count(job.threads)
    parquet_job = ParquetJob(
        inputs=tuple(str(path) for path in sources),
        output=str(output),
        keys=tuple(job.form.key or ()),
        merge=job.merge,
        unique=job.form.unique,
        most_rows=job.limit,
        memory_bytes=job.memory_bytes or core.default_memory_bytes(),
        temp_dirs=job.temp_dirs or (str(output.parent),),
    )
    began = time.monotonic()
    with reported(["sort", "write"], on_progress) as progress:
        report = sort_parquet(parquet_job, progress)
    return SortResult(counted="rows", count=report.rows, seconds=time.monotonic() - began, report=report)


def _disorder_of_rows(job: _Job, source: str, on_progress: OnProgress | None) -> Disorder | None:
    from planner.sorting.tables import parquet

    job.form.require_no_text_options()
    with reported(["read"], on_progress) as progress:
        found = parquet.find_disorder(source, job.form.key or (), unique=job.form.unique, progress=progress)
    return found and Disorder(number=found[0], text=", ".join(map(str, found[1])))


def _require_parquet(job: _Job, files: Sequence[Path]) -> None:
    """Raise BadInputError for options that Parquet has no use for."""
    job.form.require_no_text_options()
    if job.compress:
        raise BadInputError("--format parquet: --compress is for text; leave it out")
    if any(str(path) == "-" for path in files):
        raise BadInputError("--format parquet: Parquet is read from its end, so inputs and output are files")


def _sort_on_ray(
    job: _Job,
    sources: Sequence[Path],
    outputs: Sequence[Path],
    cluster: dict[str, Any],
    *,
    address: str,
    force: bool,
    say: Say | None,
    on_event: OnEvent | None,
) -> SortResult:
    """Sort a dataset on a cluster and write its manifest."""
    from json import loads

    from planner.clusters.ray.driver_session import ray_session
    from planner.distributed_sort.dataset.dataset import dataset_of, write_manifest

    is_text, output = job.lines or job.is_text_or_table, outputs[0]
    _require_inputs(files_among(sources) if is_text else sources, outputs, job, force=force)
    _require_sortable_on_ray(job, outputs)
    names = [name_of(path) for path in sources]
    source = job.form.dataset_of(names, say=say) if is_text else _manifest(sources)
    request = {"source": loads(source.to_json()), "memory_bytes": job.memory_bytes} | cluster
    journal = str(output.with_name(f".{output.name}.journal").resolve())
    driver = ray_session(address=address, command=lambda *words: list(words), environment=os.environ)
    with driver as session:
        order = {"do": "sort", "journal": journal, "request": request}
        done = session.do(order, on_event or (lambda _: None))
    write_manifest(dataset_of(done["dataset"]), output)
    report = done["report"]
    return SortResult(counted=source.layout.counted_unit, count=report["records"], seconds=None, report=report)


def _require_sortable_on_ray(job: _Job, outputs: Sequence[Path]) -> None:
    job.form.require_sortable_on_cluster(lines=job.lines)
    if job.compress:
        raise BadInputError("--check and --compress are for one machine: leave them out, or leave out --ray")
    if len(outputs) > 1:
        raise BadInputError("with --ray there is one OUTPUT: a manifest, which names many partitions")
    if job.stable:
        raise BadInputError("--stable is for one machine: leave it out, or leave out --ray")
    if job.threads or job.temp_dirs:
        raise BadInputError("--threads and --temp-dir are for one machine: Ray and the nodes' environment say both")
    if job.spill != "auto":
        raise BadInputError("--spill is for one machine: leave it out, or leave out --ray")
    if job.record != _USUAL_RECORD:
        raise BadInputError(
            "with --ray the manifest says --record-size, --key-offset and --key-size; of text say --key 1.6,1.17"
        )
    if job.merge or job.limit:
        raise BadInputError("--merge and --limit are for one machine: leave them out, or leave out --ray")


def files_among(sources: Sequence[Path]) -> list[Path]:
    """Return the sources that are neither directories nor prefixes of an object store."""
    return [path for path in sources if not path.is_dir() and "://" not in name_of(path)]


def name_of(source: Path) -> str:
    """Return a path, or the URI that was taken for one and lost a slash."""
    return _URI.sub(r"\1://", str(source))


def _manifest(sources: Sequence[Path]) -> Dataset:
    from planner.distributed_sort.dataset.dataset import read_manifest

    if len(sources) > 1:
        raise BadInputError("with --ray there is one INPUT and one OUTPUT: manifests, which name many partitions")
    try:
        return read_manifest(sources[0])
    except BadInputError as error:
        raise BadInputError(f"{error.message}; to sort text, say --lines, --key or --format csv") from error
