"""The only importer of the compiled sort core: all other modules import from here, never the extension itself.

Importing this module loads the extension; planning needs neither. `core_errors` turns the core's exceptions into the
planner's errors, and `run_interruptible` lets Ctrl-C reach a call that is busy in C++.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from planner.errors import BadInputError, InputChangedError, InterruptedRunError, IoFailureError, PlannerError

if TYPE_CHECKING:
    from concurrent.futures import Future

try:
    import planner._sortcore as core
    from planner._sortcore import Progress, Splitters
except ImportError as missing:
    if isinstance(missing.__cause__, KeyboardInterrupt):  # Ctrl-C while the extension was loading
        raise missing.__cause__ from None
    raise PlannerError(
        "the compiled sort core (planner._sortcore) is missing: this installation plans, and does not sort",
        [
            "run `make run` once, or `SORTPLANNER_NATIVE=1 python -m pip install --force-reinstall .` in the checkout;"
            " it needs a C++20 compiler",
            str(missing),
        ],
        code="no-sort-core",
    ) from missing

Result = TypeVar("Result")

STANDARD_OUTPUT = "'standard output'"
"""Name of standard output in the core's errors, as in GNU sort's."""

LONGEST_CLEAN_UP_S = 60
"""Cancelling takes about a second; this bounds the wait if the interrupt came before the thread had begun."""

_NO_THREAD = ("Resource temporarily unavailable", "can't start new thread")
"""Ends of the messages of C++ and of Python where a thread cannot start."""

__all__ = ["Progress", "Splitters", "core", "core_errors", "run_interruptible"]


@contextmanager
def core_errors() -> Iterator[None]:
    """Turn what the core raises into planner errors.

    OSError becomes IoFailureError, or stays BrokenPipeError where nobody reads standard output any more; bad arguments,
    bad records and too little memory become BadInputError; a cancellation becomes InterruptedRunError, a changed input
    InputChangedError.
    """
    try:
        yield
    except core.CancelledError as error:
        raise InterruptedRunError("cancelled; nothing half written was left behind") from error
    except core.InputChangedError as error:
        raise InputChangedError.of(str(error), "it was written, or replaced by another file") from error
    except OSError as error:
        if isinstance(error, BrokenPipeError) and error.filename in (None, STANDARD_OUTPUT):
            raise BrokenPipeError(error.errno, error.strerror) from error
        raise IoFailureError(_explain(error), code="io") from error
    except core.RecordError as error:
        raise BadInputError(str(error), code="bad-record") from error
    except MemoryError as error:
        raise BadInputError(str(error), code="memory") from error
    except ValueError as error:
        raise BadInputError(str(error), code="bad-input") from error
    except RuntimeError as error:
        if not str(error).endswith(_NO_THREAD):
            raise
        advice = "raise `ulimit -v` or `ulimit -u`, or give fewer --threads"
        raise IoFailureError(
            "the system lets this process start no further thread", [advice], code="no-thread"
        ) from error


def run_interruptible(work: Callable[[Progress], Result], progress: Progress | None = None) -> Result:
    """Return `work(progress)`, run in its own thread; Ctrl-C cancels it, and it cleans up within a second.

    Raises InterruptedRunError when interrupted, else the error of `work`, as `core_errors` translates it.
    """
    from concurrent.futures import Future, wait  # slow to load, so only when needed

    progress = Progress() if progress is None else progress
    outcome: Future[Result] = Future()
    worker = threading.Thread(target=_run_into, args=(outcome, work, progress), name="sortcore")
    with core_errors():
        try:
            worker.start()
            # Wait in steps: a signal received by another thread does not end a wait, and its handler runs only here.
            while worker.is_alive():
                worker.join(timeout=0.1)
        except KeyboardInterrupt:
            progress.cancel()
            wait([outcome], timeout=LONGEST_CLEAN_UP_S)
            raise InterruptedRunError(_interruption_text(outcome)) from None
        return outcome.result()


def _interruption_text(outcome: Future[Result]) -> str:
    """Return the message for an interrupt, which may come after the output already has its final name."""
    if outcome.done() and outcome.exception() is None:
        return "interrupted; all was done by then, and the output is complete"
    return "interrupted; nothing half written was left behind"


def _explain(error: OSError) -> str:
    """Return the core's message unchanged, or one of Python's own with the file's name in front."""
    message = error.strerror or str(error)
    named = error.filename is None or str(error.filename) in message
    return message if named else f"{error.filename}: {message}"


def _run_into(outcome: Future[Result], work: Callable[[Progress], Result], progress: Progress) -> None:
    try:
        outcome.set_result(work(progress))
    except BaseException as error:  # re-raised in the waiting thread
        outcome.set_exception(error)
