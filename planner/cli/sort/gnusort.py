"""`planner gnusort`: GNU sort's options, output and exit codes, on the planner's sort core, as under LC_ALL=C.

Its messages begin with `sort: `, as scripts written for GNU sort expect. It loads as little as possible: many files are
small.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from planner.cli.sort.gnusort_options import GnuSortError, Options, parse, quote_name
from planner.sorting.records.keys import BadKeyError

if TYPE_CHECKING:
    from planner.sorting.records.keyed import TextOrder

_DISORDER = 1
_TROUBLE = 2
_STANDARD_OUTPUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
"""Names of standard output; a file it goes to is neither replaced nor emptied."""


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code: 0, 1 for disorder found by -c, 2 for trouble."""
    try:
        options = parse(arguments)
        if options.text_to_show:
            sys.stdout.write(options.text_to_show)
            return 0
        return _run(options)
    except (GnuSortError, BadKeyError) as error:
        sys.stderr.write(f"sort: {error}\n")
        return getattr(error, "exit_code", _TROUBLE)
    except Exception as error:
        from planner.cli.shell.failures import BUG_EXIT_CODE, ending_of

        text, code = ending_of(error)
        sys.stderr.write(f"sort: {text}\n")
        return code if code == BUG_EXIT_CODE else _TROUBLE


def _run(options: Options) -> int:
    from planner.cli.shell.failures import in_options
    from planner.errors import PlannerError

    order = options.order()
    _end_as_programs_do()
    try:
        if options.check:
            return _check(options, order)
        if options.debug:
            return _debug(options, order)
        _sort(options, order, _output(options))
    except PlannerError as error:
        raise GnuSortError(_with_quoted_names(in_options(error.message), options)) from error
    return 0


def _sort(options: Options, order: TextOrder, output: str) -> None:
    from planner.sorting.records.keyed import sort_text

    inputs = options.inputs()
    for path in inputs:
        _require_readable(path)
    sort_text(
        inputs,
        output,
        order=order,
        merge=options.merge,
        memory_bytes=options.memory_bytes,
        lines_may_exceed_memory=True,
        temp_dirs=options.temp_dirs or [os.environ.get("TMPDIR") or "/tmp"],
        threads=options.threads,
        most_merged=options.batch_size,
    )


def _debug(options: Options, order: TextOrder) -> int:
    """Print warnings of doubtful options, and write the sorted lines with marks below their keys."""
    import tempfile

    from planner.cli.sort.gnusort_debug import debug_lines, warnings

    for warning in warnings(options):
        sys.stderr.write(f"sort: {warning}\n")
    sys.stderr.flush()
    with tempfile.NamedTemporaryFile(dir=options.temp_dirs[0] if options.temp_dirs else None) as file:
        _sort(options, order, file.name)
        with open(file.name, "rb") as lines, open(1, "wb", closefd=False) as out:  # noqa: PTH123  # of a new file
            ended = (line.removesuffix(order.line_end) for line in _lines(lines, order.line_end))
            out.writelines(debug_lines(ended, options))
    return 0


def _lines(file: BinaryIO, end: bytes) -> Iterator[bytes]:
    if end == b"\n":
        yield from file
        return
    yield from filter(None, (part + end for part in file.read().removesuffix(end).split(end)))


def _with_quoted_names(message: str, options: Options) -> str:
    for name in (*options.operands, options.output or "", *options.temp_dirs):
        if name and quote_name(name) != name:
            message = message.replace(name, quote_name(name))
    return message


def _check(options: Options, order: TextOrder) -> int:
    from planner.sorting.records.keyed import find_disorder

    inputs = options.inputs()
    if len(inputs) > 1:
        raise GnuSortError(f"extra operand '{inputs[1]}' not allowed with -{options.check}")
    disorder = find_disorder(inputs[0], order=order)
    if disorder is None:
        return 0
    if options.check == "c":
        line, text = disorder
        end = b"\0" if options.zero_terminated else b"\n"
        sys.stderr.flush()
        sys.stderr.buffer.write(b"sort: %s:%d: disorder: %s%s" % (os.fsencode(inputs[0]), line, text, end))
        sys.stderr.buffer.flush()
    return _DISORDER


def _output(options: Options) -> str:
    """Return the output's path, or nothing for standard output."""
    from planner.config.user_files import require_no_table_at

    if options.output == "":
        raise GnuSortError("open failed: '': No such file or directory")
    if not options.output or options.output in _STANDARD_OUTPUT:
        return ""
    require_no_table_at(Path(options.output))
    return options.output


def _require_readable(path: str) -> None:
    if path == "-":
        return
    try:
        if os.access(path, os.R_OK):
            return
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))  # raises the reason
    except OSError as error:
        raise GnuSortError(f"cannot read: {quote_name(path)}: {error.strerror}") from error


def _end_as_programs_do() -> None:
    """Let signals end the process at once: neither scratch files nor unfinished outputs have names.

    Where files need a name, the core removes them before the process ends. An ignored signal stays ignored.
    """
    from planner.native import core

    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        core.remove_partial_files_on(number)
