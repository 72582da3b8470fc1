"""Checks of user-named files: inputs exist, and outputs have a place and replace nothing."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from planner.config.user_files import require_no_table_at
from planner.errors import BadInputError

if TYPE_CHECKING:
    from planner.sorting.sort_job import SortJob

STANDARD_OUTPUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
"""Names of standard output. Writes there append, even if it is a file."""

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/(?!/)(.*)")

_ENDLESS = {os.makedev(1, minor) for minor in (5, 7, 8, 9)}
"""Linux devices zero, full, random and urandom."""


def require_readable(paths: Iterable[Path]) -> None:
    """Raise BadInputError naming the first input file that cannot be read, before any work starts."""
    for path in paths:
        mode = mode_of(path)
        if not mode:
            _refuse_address(path)
            raise BadInputError(f"{path}: no such file; name one that can be read", code="no-such-file")
        if stat.S_ISDIR(mode):
            raise BadInputError(f"{path} is a directory; name a file", code="is-folder")
        if stat.S_ISCHR(mode) and os.stat(path).st_rdev in _ENDLESS:  # noqa: PTH116
            raise BadInputError(f"{path} has no end; name a file", code="no-end")
        if not os.access(path, os.R_OK):
            raise BadInputError(f"{path}: permission denied; name a file that you may read", code="permission-denied")


def output_file(name: str | os.PathLike[str], *, hint: str = "", example: str = "sorted") -> Path:
    """Return the path of an output, which is one file. Raises BadInputError for a folder, also one to be made, with
    how to write one as `hint`, and the `example` of a name in it.
    """
    text = os.fspath(name)
    if text.endswith("/") and "://" not in text:
        hints = [hint] if hint else []
        raise BadInputError(
            f"{text} is a folder: name the file in it that is to be written, as {text}{example}",
            hints,
            code="is-folder",
        )
    return path_of(name)


def path_of(name: str | os.PathLike[str]) -> Path:
    """Return a path. An address in an object store loses a slash; raises BadInputError where it would lose more."""
    if "://" in (text := os.fspath(name)):
        from planner.distributed_sort.dataset.object_store import require_plain_name

        require_plain_name(text)
    return Path(name)


def require_directories(option: str, paths: Iterable[Path]) -> None:
    """Raise BadInputError naming the first path of an option that is not a directory."""
    for path in paths:
        if not stat.S_ISDIR(mode_of(path)):
            raise BadInputError(
                f"{option} {path}: no such directory; name one on the disk to work on", code="no-such-folder"
            )


def require_new(paths: Iterable[Path | None], *, force: bool, hint: str = "") -> None:
    """Raise BadInputError naming the first output file whose folder does not exist, or that exists and may not be
    replaced.
    """
    for path in paths:
        if path is not None:
            _require_place(path)
            if stat.S_ISREG(mode_of(path)) and not force:
                raise BadInputError(
                    f"{path} exists: name a new file, or replace it with --force{hint}", code="output-exists"
                )


def mode_of(path: Path) -> int:
    """Return the mode from `os.stat`, 0 if there is no file. Raises BadInputError for a name that cannot be looked up:
    too long, in a directory without access, or a loop of links.
    """
    try:
        return os.stat(path).st_mode  # noqa: PTH116  # Path does not return the mode
    except (FileNotFoundError, NotADirectoryError):
        return 0
    except OSError as error:
        raise BadInputError(f"{path}: {error.strerror}; name another file", code="unreadable") from error


def _refuse_address(path: Path) -> None:
    """Raise BadInputError if a path is in fact an address; `Path` has removed one of its slashes."""
    if found := _ADDRESS.match(str(path)):
        address = f"{found[1]}://{found[2]}"
        raise BadInputError(
            f"{address}: a file of this machine is expected here",
            ["`planner sort --ray auto` reads and writes object stores, also with this machine alone"],
            code="is-address",
        )


def _require_place(path: Path) -> None:
    """Raise BadInputError unless the path can be written to; devices and pipes, such as /dev/stdout, can."""
    mode = mode_of(path)
    if stat.S_ISDIR(mode):
        raise BadInputError(f"{path} is a directory; name a file", code="is-folder")
    if stat.S_ISBLK(mode):
        raise BadInputError(f"{path} is a whole disk; name a file", code="is-disk")
    if not stat.S_ISDIR(mode_of(path.parent)):
        _refuse_address(path)
        raise BadInputError(
            f"{path}: there is no directory {path.parent}; make it, or name a file in another", code="no-such-folder"
        )
    if not mode and not os.access(path.parent, os.W_OK):
        raise BadInputError(
            f"{path}: permission denied; name a file in a directory that you may write to", code="permission-denied"
        )
    if not mode or stat.S_ISREG(mode):
        require_no_table_at(path)


def require_inputs(job: SortJob, outputs: Sequence[Path], *, is_text: bool = False) -> None:
    """Raise BadInputError for files that a sort cannot read or must not replace.

    `planner sort *.dat` without an output must not replace the last input. Sorts of records never replace an input, as
    the sort core requires; sorts of text do with --force. Text may also be standard input and output.
    """
    sources = list(map(Path, job.inputs))
    require_readable(path for path in sources if not (is_text and str(path) == "-"))
    require_directories("--temp-dir", map(Path, job.temp_dirs))
    if is_text:
        outputs = [path for path in outputs if str(path) != "-"]
    if any(str(path) == "-" for path in outputs):
        raise BadInputError(
            "OUTPUT -: the result is a file, which appears whole or not at all; name it", code="output-is-pipe"
        )
    several = "; with several inputs the last name is the output's, which might be an oversight"
    inputs = [] if is_text else sources
    new = (path for path in outputs if not any(mode_of(path) and path.samefile(source) for source in inputs))
    require_new(new, force=job.force, hint=several if len(sources) > 1 else "")


def require_output_apart(
    inputs: Iterable[str],
    outputs: Iterable[Path],
    *,
    folders: Collection[str] = (),
    earlier: Collection[str] = (),
    hint: str = "remove it first, or name another output",
) -> None:
    """Raise BadInputError for an input that is an existing output, directly in one of the `folders` of output, or of an
    `earlier` result: a repeated sort would have its rows twice, or lose them.
    """
    existing = [path.stat() for path in outputs if stat.S_ISREG(mode_of(path))]
    for name in inputs:
        status = Path(name).stat() if existing and mode_of(Path(name)) else None  # an address has none
        is_output = status is not None and any(os.path.samestat(status, output) for output in existing)
        if is_output or name in earlier or os.path.dirname(name) in folders:  # noqa: PTH120  # also of a URI
            raise BadInputError(f"{name}: the output is among the inputs", [hint], code="output-among-inputs")
