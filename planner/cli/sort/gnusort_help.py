"""Help entry of `planner gnusort`; `planner.cli.entry` runs the command before any of this is loaded."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Exit

from planner.cli.sort.gnusort import main


def gnusort(
    words: Annotated[
        list[str] | None, Argument(metavar="[OPTION]... [FILE]...", help="As GNU sort's; `--help` lists them.")
    ] = None,
) -> None:
    """Sort lines by keys with GNU sort's options, output and exit codes, as under LC_ALL=C.

    Takes -b -d -f -g -h -i -k -m -M -n -o -r -R -s -S -t -T -u -V -z -c -C, --parallel, --batch-size, --files0-from,
    --random-source, --sort, --check, --debug and all long names. Temporary data is not compressed, even with
    --compress-program.

    Example: planner gnusort -t, -k3,3r -k1,1n data.csv -o sorted.csv
    """
    raise Exit(main(words or []))
