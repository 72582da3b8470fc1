"""Entry points of `planner` and `plan`, which also report an interrupt or an error while their modules load."""

from __future__ import annotations

import gc
import os
import sys

_INTERRUPTED = 130

_OBJECTS_BETWEEN_COLLECTIONS = 200_000
"""Objects between garbage collections. Modules and plans are many lasting objects; collecting after every 700 new ones
takes a tenth of a plan's time.
"""


def main() -> None:
    """Entry point of `planner`. `gnusort` replaces a program that starts in a hundredth of a second."""
    _open_streams()
    if sys.argv[1:2] == ["gnusort"]:
        _end_at_once()
        from planner.cli.sort.gnusort import main as gnusort

        sys.exit(gnusort(sys.argv[2:]))
    _begin("main")


def _end_at_once() -> None:
    """Let Ctrl-C end the process silently, unless it is already handled or ignored."""
    import signal

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def plan_main() -> None:
    """Entry point of `plan`, which is `planner plan`."""
    _begin("plan_main")


def _begin(command: str) -> None:
    try:
        _open_streams()
        gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
        import atexit

        atexit.register(gc.freeze)  # a last collection of all modules takes 0.04 s, and the memory is free without it
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's threads, which spin with nothing to do
        from planner.cli import app

        getattr(app, command)()
    except KeyboardInterrupt:  # before the command itself, which handles its own interrupts, or after it
        print("error: interrupted; no command was at work", file=sys.stderr)
        sys.exit(_INTERRUPTED)
    except Exception as error:  # missing or broken modules; a command's own errors have ended it by then
        from planner.cli.shell.failures import ending_of

        text, code = ending_of(error)
        print(f"error: {text}", file=sys.stderr)
        sys.exit(code)


def _open_streams() -> None:
    """Make every text printable, escaped where the locale lacks a letter; a closed stream discards its output."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115, PTH123
