"""How a use of a damaged file ends, in a child process, where an abort of a library shows."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import random
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import cramjam
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

import planner
from planner.api.validate import validate_rows
from planner.errors import PlannerError
from planner.sorting.consuming.work_folder import WorkFolder
from tests.sorting.mutated import bytes_changed, mutated
from tests.sorting.mutated_seeds import COMPRESSED, compressed, records, table_file, text

MEMORY_BYTES = {"parquet": 320 << 20, "text": 64 << 20}
BESIDE_BYTES = 150 << 20
MOST_S = 20
CODES = (1, 2, 3, 5, 6)
"""Exit codes of data out of order, and of errors of the planner."""


class WrongError(Exception):
    """What a use of a file did, and must not."""


def ending(use: Callable[[], None], memory_bytes: int) -> str:
    """Run a use in a child process; return '' if it ended well, else what was wrong."""
    before = _resident_bytes()
    readable, writable = os.pipe()
    if (child := os.fork()) == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        signal.alarm(MOST_S)
        try:
            use()
        except WrongError as error:
            os.write(writable, str(error)[:2000].encode())
        except BaseException:
            os.write(writable, traceback.format_exc()[-2000:].encode())
        os._exit(0)
    os.close(writable)
    with os.fdopen(readable, "rb") as said:
        wrong = said.read().decode(errors="replace")
    _, status, usage = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    taken = usage.ru_maxrss * 1024 - before
    if not (wrong or code) and taken > memory_bytes + BESIDE_BYTES:
        return f"took {taken >> 20} MiB of {memory_bytes >> 20}"
    return wrong or (f"signal {-code}" if code else "")


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def use_table(path: Path, way: int) -> None:
    """Use a Parquet file; raise WrongError unless it is refused, or all its rows are sorted."""
    output = path.with_name("out.parquet")
    how: dict[str, Any] = {"format": "parquet", "key": "k", "memory_bytes": MEMORY_BYTES["parquet"]}
    check: dict[str, Any] = {"format": "parquet", "key": "k"}
    rows: Any = None
    if way == 0:
        done = is_done(lambda: planner.sort(path, output, **how))
    elif way == 1:
        done = is_done(lambda: planner.sort([path, path], output, **how))
        rows = lambda: rows_of(path) + rows_of(path)  # noqa: E731
    elif way == 2:
        done = is_done(lambda: planner.sort([path], output, merge=True, **how))
    elif way == 3:
        done = is_done(lambda: planner.find_disorder(path, **check)) and is_done(lambda: rows_of(path))
    elif way == 4:
        done = is_done(lambda: validate_rows([path], **check | {"key": ["k"]})) and is_done(lambda: rows_of(path))
    elif way == 5:
        arguments = ["--format", "parquet", "--key", "k", "--memory", "320MiB", str(path), str(output)]
        done = command_ends("sort", *arguments) == 0
    elif way == 6:
        content = path.read_bytes()
        done = is_done(lambda: planner.sort(path, output, consume_input=True, **how))
        require(path.exists() != done or path.with_name(".out.parquet.sorting").exists(), "the input's fate")
        rest = path.with_name(".out.parquet.sorting")
        require(done or rest.exists() or path.read_bytes() == content, "an input was changed, and nothing kept")
        rows = lambda: _rows_of_content(path, content)  # noqa: E731
        if rest.exists():
            return
    else:
        done = is_done(lambda: _read_for_a_cluster(path))
        if done:
            rows_of(path)
    require_nothing_left(path, output, done=done)
    if done and output.exists():
        require_sorted(output, (rows or (lambda: rows_of(path)))())


def _rows_of_content(path: Path, content: bytes) -> Counter[str]:
    path.write_bytes(content)
    return rows_of(path)


def rows_of(path: Path) -> Counter[str]:
    """Return the rows of a Parquet file as pyarrow reads them. Raises WrongError where it refuses them."""
    try:
        table = pq.ParquetFile(path, page_checksum_verification=True).read(use_threads=False)
        schema = pa.schema([field.with_type(_raw(field.type)) for field in table.schema])
        return Counter(map(repr, table.cast(schema).to_pylist()))
    except Exception as error:
        raise WrongError(f"pyarrow refuses what was accepted: {error!r}") from error


def _raw(of: Any) -> Any:
    """Return the type that holds the same values as bytes and numbers, whatever they mean."""
    if pa.types.is_string(of) or pa.types.is_dictionary(of):
        return pa.binary()
    if pa.types.is_timestamp(of):
        return pa.int64()
    if pa.types.is_struct(of):
        return pa.struct([field.with_type(_raw(field.type)) for field in of.fields])
    if pa.types.is_map(of):
        return pa.map_(_raw(of.key_type), _raw(of.item_type))
    return pa.list_(of.value_field.with_type(_raw(of.value_type))) if pa.types.is_list(of) else of


def require_sorted(output: Path, expected: Counter[str]) -> None:
    """Raise WrongError unless a result has the expected rows in the order of `k`."""
    found = rows_of(output)
    require(found == expected, f"{sum(found.values())} rows, not {sum(expected.values())}, or others")
    keys = [key for key in pq.read_table(output, columns=["k"]).column(0).to_pylist() if key is not None]
    require(keys == sorted(keys), "the rows are not in order")


def _read_for_a_cluster(path: Path) -> None:
    from planner.distributed_sort.content.table_file import open_copy
    from planner.distributed_sort.dataset.dataset import Copy

    with open_copy(Copy(uri=str(path))) as (file, footer):
        for group in range(len(footer.group_rows)):
            file.read_row_group(group, use_threads=False)


def is_done(act: Callable[[], object]) -> bool:
    """Return whether an act succeeds; False where it ends in an error of the planner, or of the system."""
    try:
        act()
    except PlannerError as error:
        require(error.exit_code in CODES, f"exit code {error.exit_code}: {error}")
        require(0 < len(str(error)) < 3000, f"an error of {len(str(error))} letters")
        return False
    except OSError as error:
        require(error.errno, f"an error without its number: {error!r}")
        return False
    return True


def require(holds: object, what: str) -> None:
    """Raise WrongError unless something holds."""
    if not holds:
        raise WrongError(what)


def command_ends(*arguments: str) -> int:
    """Return the exit code of a command, run in this process."""
    from planner.cli import app

    sys.argv = ["planner", *arguments]
    said, code = StringIO(), 0
    with redirect_stderr(said), redirect_stdout(StringIO()):
        try:
            app.main()
        except SystemExit as ended:
            code = int(ended.code or 0)
    require(code in (0, *CODES), f"exit code {code}: {said.getvalue()}")
    errors = [line for line in said.getvalue().splitlines() if line.startswith("error")]
    require("Traceback" not in said.getvalue() and len(errors) == (code not in (0, 1)), f"{code}: {said.getvalue()}")
    return code


def require_nothing_left(path: Path, output: Path, *, done: bool) -> None:
    """Raise WrongError where anything is left beside the input and a whole output."""
    left = {found.name for found in path.parent.iterdir()} - {path.name} - ({output.name} if done else set())
    require(not left, f"left behind: {left}")


def _unzstd(data: bytes) -> bytes:
    """Return what the frames hold; zeros may follow, as tapes end with them."""
    least = len(data.rstrip(b"\0"))
    for end in range(len(data), least - 1, -1):
        with suppress(zstandard.ZstdError):
            decoder = zstandard.ZstdDecompressor(max_window_size=1 << 31)
            return decoder.stream_reader(BytesIO(data[:end]), read_across_frames=True).read()
    raise ValueError("no zstd frames")


READERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.decompress,
    "bz2": bz2.decompress,
    "xz": lambda data: lzma.decompress(data.rstrip(b"\0") + bytes(-len(data.rstrip(b"\0")) % 4)),
    "zst": _unzstd,
    "lz4": lambda data: bytes(cramjam.lz4.decompress(data)),
    "sz": lambda data: bytes(cramjam.snappy.decompress(data)),
}  # fmt: skip


def plain(path: Path) -> bytes:
    """Return what a compressed file holds. Raises WrongError where another reader refuses it."""
    try:
        return READERS[path.suffix.removeprefix(".")](path.read_bytes())
    except Exception as error:
        raise WrongError(f"another reader refuses what was accepted: {error!r}") from error


def use_text(path: Path, way: int) -> None:
    """Use compressed text or records; raise WrongError unless it is refused, or all of it is sorted."""
    output = path.with_name("out")
    kind: dict[str, Any] = {"format": "records"} if path.name.startswith("in.dat") else {"format": "lines"}
    how: dict[str, Any] = kind | {"memory_bytes": MEMORY_BYTES["text"]}
    twice, by_second = False, False
    if way == 0:
        done = is_done(lambda: planner.sort(path, output, **how))
    elif way == 1 and kind["format"] == "lines":
        by_second = True
        how |= {"format": "csv", "no_header": True, "key": "2:num", "separator": ","}
        done = is_done(lambda: planner.sort(path, output, **how))
    elif way == 2:
        twice = True
        done = is_done(lambda: planner.sort([path, path], output, **how))
    elif way == 3 and kind["format"] == "lines":
        done = is_done(lambda: planner.find_disorder(path, **kind))
    elif way == 4 and kind["format"] == "lines":
        done = is_done(lambda: planner.validate(path, lines=True))
    elif way == 5:
        form = ["--format", kind["format"], "--memory", "64MiB"]
        done = command_ends("sort", *form, str(path), str(output)) == 0
    elif way == 6:
        content = path.read_bytes()
        done = is_done(lambda: planner.sort(path, output, consume_input=True, **how))
        rest = path.with_name(".out.sorting")
        require(path.exists() != done, "the input's fate")
        require(done or path.read_bytes() == content or rest.exists(), "an input was changed, and nothing kept")
        path.write_bytes(content)
        if rest.exists():
            return
    else:
        done = is_done(lambda: planner.sort(path, output.with_suffix(".gz"), **how))
        if done:
            output.write_bytes(gzip.decompress(output.with_suffix(".gz").read_bytes()))
            output.with_suffix(".gz").unlink()
    require_nothing_left(path, output, done=done)
    if done and output.exists():
        expected = plain(path)
        if twice and kind["format"] == "lines" and expected and not expected.endswith(b"\n"):
            expected += b"\n"
        require_text_sorted(output.read_bytes(), expected * (1 + twice), kind["format"], by_second=by_second)


def require_text_sorted(found: bytes, expected: bytes, form: str, *, by_second: bool) -> None:
    """Raise WrongError unless a result has the expected lines or records in order."""
    rows, wanted = (_rows(content, form) for content in (found, expected))
    require(Counter(rows) == Counter(wanted), f"{len(rows)} rows, not {len(wanted)}, or others")
    keys = [_second(row) for row in rows] if by_second else [row[:10] if form == "records" else row for row in rows]
    require(by_second or keys == sorted(keys), "the rows are not in order")


def _rows(content: bytes, form: str) -> Sequence[bytes]:
    if form == "records":
        return [content[at : at + 100] for at in range(0, len(content), 100)]
    return content.removesuffix(b"\n").split(b"\n") if content else []


def _second(row: bytes) -> bytes:
    return row.split(b",")[-1]


class KilledError(BaseException):
    """An error that ends a sort as SIGKILL does."""


def use_begun_sort(folder: Path, chance: random.Random) -> None:
    """Resume a sort whose work folder is damaged; raise WrongError unless it is refused, or all rows are sorted."""
    is_table = chance.random() < 0.4
    path, output = folder / "in", folder / "out"
    rows = [f"{chance.getrandbits(60):020} {i}" for i in range(30_000)]
    how: dict[str, Any] = {"format": "lines"}
    if is_table:
        pq.write_table(pa.table({"k": rows}), path, row_group_size=1000, compression="none", use_dictionary=False)
        how = {"format": "parquet", "key": "k", "memory_bytes": MEMORY_BYTES["parquet"]}
    else:
        path.write_text("\n".join([*rows, ""]))
    size, work = path.stat().st_size, folder / ".out.sorting"
    begin_killed(lambda: planner.sort(path, output, consume_input=True, **how), saves=chance.randint(1, 25))
    if not work.exists():
        return
    for damaged in _taken(sorted(work.iterdir()), chance):
        _damage(damaged, chance)
    is_made = is_done(lambda: planner.sort([], output, resume=True, memory_bytes=how.get("memory_bytes")))
    if not is_made:
        require(path.exists() and path.stat().st_size == size, "an input was deleted")
        had_rows = is_begun(work)
        is_made = is_done(lambda: planner.sort(path, output, consume_input=True, **how))
        require(not (is_made and had_rows), "a sort was begun again, and its rows deleted")
        return
    require(not path.exists(), "an input was left")
    found = pq.read_table(output).column(0).to_pylist() if is_table else output.read_text().splitlines()
    require(found == sorted(rows), f"{len(found)} rows, not {len(rows)}, or others")


def begin_killed(sort: Callable[[], object], *, saves: int) -> None:
    """Begin a sort that is killed when it saves its state for the last time of so many."""
    real, left = WorkFolder.save, saves

    def save(self: WorkFolder, state: Any) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise KilledError
        real(self, state)

    WorkFolder.save = save  # type: ignore[method-assign]
    try:
        sort()
    except KilledError:
        pass
    finally:
        WorkFolder.save = real  # type: ignore[method-assign]


def is_begun(work: Path) -> bool:
    """Return whether a work folder has rows."""
    return any(work.glob("part-*"))


def _taken(files: Sequence[Path], chance: random.Random) -> Sequence[Path]:
    states = [file for file in files if file.name.startswith("state")]
    return chance.choice((chance.sample(files, 1), chance.sample(files, 1), states))


def _damage(file: Path, chance: random.Random) -> None:
    """Damage a file of a work folder; rows themselves have no checksums, so their file is cut or lengthened."""
    content = file.read_bytes()
    if chance.random() < 0.2:
        file.unlink()
    elif file.name.startswith("part"):
        file.write_bytes(content[: chance.randrange(len(content) + 1)] if chance.random() < 0.8 else content + b"x")
    else:
        file.write_bytes(bytes_changed(content.rstrip(b"\0"), chance))


def case(folder: Path, seed: int) -> tuple[str, str]:
    """Make a damaged file from a seed, and use it; return its kind, and what was wrong."""
    chance = random.Random(seed)
    folder.mkdir()
    way = chance.randrange(8)
    if chance.random() < 0.1:
        return "begun", ending(lambda: use_begun_sort(folder, chance), MEMORY_BYTES["parquet"])
    if chance.random() < 0.6:
        path = folder / "in.parquet"
        path.write_bytes(mutated(table_file(chance), chance))
        return f"parquet {way}", ending(lambda: use_table(path, way), MEMORY_BYTES["parquet"])
    form = chance.choice(list(COMPRESSED))
    is_records = chance.random() < 0.25
    path = folder / f"in.{'dat' if is_records else 'txt'}.{form}"
    path.write_bytes(mutated(compressed(records() if is_records else text(), form, chance), chance))
    return f"{form} {'records' if is_records else ''}", ending(lambda: use_text(path, way), MEMORY_BYTES["text"])
