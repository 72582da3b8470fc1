"""The message and exit code of a command after an error; details of bugs go to a file."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from planner.errors import BadInputError, IoFailureError, PlannerError
from planner.schemas.door import option_of

BUG_EXIT_CODE: Final = 70
"""EX_SOFTWARE of sysexits.h."""

NO_OPTIONS: Final[Mapping[str, str]] = {}
_NO_ROOM: Final = "failed to map segment"
"""Said of a library that finds no room in the address space."""
_NAMED_WRONGLY: Final = (FileNotFoundError, IsADirectoryError, NotADirectoryError)
_HIDDEN: Final = "***"
_SECRET_WORDS: Final = ("token", "secret", "password", "credential", "identity", "jump", "ssh", "subnet", "reservation")
"""Words in the names of options whose values strangers may not see."""
_LEAST_SECRET: Final = 3
"""Shortest value treated as a secret; shorter ones are no secrets, and would black out half of a traceback."""

_HEADLINE: Final = 93
"""Most characters of an error's first line after `error: `."""
_BREAKS: Final = ("; ", ". ", ": ", ", ", " ")
"""Where a longer sentence is split for the second line, the best first."""
_LEAST_HEADLINE: Final = 12


def headed(text: str) -> str:
    """Return an error with a first line of at most `_HEADLINE` characters; the rest begins the second line."""
    first, *more = text.split("\n")
    if len(first) <= _HEADLINE:
        return text
    ends = [first.rfind(mark, 0, _HEADLINE) + len(mark.rstrip()) for mark in _BREAKS]
    end = next((end for end in ends if end >= _LEAST_HEADLINE), 0)
    return "\n".join([first[:end].rstrip(";"), f"  {first[end:].strip()}", *more]) if end else text


def ending_of(error: Exception) -> tuple[str, int]:
    """Return the message for an error that ended a command, and the exit code. The details of a bug go to a file."""
    if isinstance(error, PlannerError):
        return str(error), error.exit_code
    if isinstance(error, OSError):
        ends = BadInputError if isinstance(error, _NAMED_WRONGLY) else IoFailureError
        return _of_the_system(error), ends.exit_code
    if isinstance(error, MemoryError) or (isinstance(error, ImportError) and _NO_ROOM in str(error)):
        return "there is not enough memory for this; free some, or ask for less", IoFailureError.exit_code
    if isinstance(error, RecursionError):
        return "what was given is nested too deeply; name a file with fewer levels", BadInputError.exit_code
    if isinstance(error, UnicodeDecodeError):
        return "a file that was given is not text in UTF-8; convert it, or name another", BadInputError.exit_code
    if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("planner."):
        from planner.extras import missing_text

        return missing_text(error.name), PlannerError.exit_code
    return _of_a_bug(error), BUG_EXIT_CODE


def name_options(error: PlannerError, options: Mapping[str, str] = NO_OPTIONS) -> None:
    """Let an error name options where it names arguments as Python does: in its text, and as its field. `options` are
    those of the command, by their arguments.
    """
    text, field = error.sentence, error.field
    if field and not field.startswith("-"):
        option = options.get(field) or option_of(field)
        if text.startswith(f"{field}: "):
            text, error.field = f"{option}{text.removeprefix(field)}", option
        elif f"`{field}" in text:
            error.field = option
    error.message = in_options(text, options)
    error.details = tuple(in_options(detail, options) for detail in error.details)


def in_options(text: str, options: Mapping[str, str] = NO_OPTIONS) -> str:
    """Return a message with the options of the command line for the arguments that it names as Python does:
    `` `no_header` `` becomes --no-header, `` `no_header=False` `` --header, `` `cloud=aws` `` --cloud aws.
    """

    def option(named: re.Match[str]) -> str:
        name = options.get(named[1]) or option_of(named[1])
        if named[2] == "False":
            return name.replace("--no-", "--", 1)
        value = (named[2] or "").strip("'")  # as Python quotes texts
        return f"{name} {value}".removesuffix("True").rstrip()

    return _ARGUMENT.sub(option, text)


_ARGUMENT: Final = re.compile(r"`(?!plan`|run`|planner`|describe`)([a-z][a-z0-9_]*)(?:=([^`]*))?`")


def _of_the_system(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    if error.filename is None:
        return f"{reason}; the system refused to read or write"
    return f"{os.fsdecode(error.filename)}: {reason}; name another file, or change what forbids this"


def _of_a_bug(error: Exception) -> str:
    from traceback import extract_tb

    *_, last = extract_tb(error.__traceback__) or [None]
    where = f" in {Path(last.filename).name}, line {last.lineno}" if last else ""
    file = write_details(error, sys.argv)
    report = f"its details are in {file}" if file else "its details could not be written; set TMPDIR to keep them"
    return (
        f"a bug of the planner stopped this command: {type(error).__name__}{where}\n"
        f"  please report it as an issue of sortplanner; {report}"
    )


def write_details(error: Exception, arguments: Sequence[str]) -> Path | None:
    """Write the traceback, the version and the command, without possible secrets, to a file that only the user can
    read: in their state folder, else in that for temporary files. Return its path; None where neither can be written.
    """
    from datetime import datetime

    text = details_of(error, arguments)
    name = f"bug-{datetime.now().astimezone():%Y%m%d-%H%M%S}-{os.getpid()}.txt"
    for folder in _folders():
        path = folder / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
        except OSError:
            continue
        return path
    return None


def details_of(error: Exception, arguments: Sequence[str]) -> str:
    """Return the contents of a bug report: version, system, command and traceback, without possible secrets."""
    import platform
    import traceback
    from importlib.metadata import PackageNotFoundError, version

    try:
        ours = version("sortplanner")
    except PackageNotFoundError:
        ours = "unknown"
    words, secrets = _without_secrets(arguments)
    trace = "".join(traceback.format_exception(error))
    for secret in secrets:
        trace = trace.replace(secret, _HIDDEN)
    system = f"Python {platform.python_version()}, {platform.platform()}"
    return f"sortplanner {ours}, {system}\ncommand: {' '.join(words)}\n\n{_without_logins(trace)}"


def _without_secrets(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return a command's words without the values of options that may hold secrets, and those values."""
    words, secrets, is_secret, before = [], [], False, ""
    for word in arguments:
        option, equals, value = word.partition("=")
        if option == "--set" and equals:
            setting, _, value = value.partition("=")
            option = f"{option}={setting}"
        names_secret = (option.startswith("-") or before == "--set") and any(part in option for part in _SECRET_WORDS)
        before = word
        if is_secret and not word.startswith("-"):
            secrets.append(word)
            words.append(_HIDDEN)
        elif names_secret and equals:
            secrets.append(value)
            words.append(f"{option}={_HIDDEN}")
        else:
            words.append(_without_logins(word))
        is_secret = names_secret and not equals
    return words, [secret for secret in secrets if len(secret) >= _LEAST_SECRET]


def _without_logins(text: str) -> str:
    """Return a text without the names, passwords and signatures in its addresses."""
    text = re.sub(r"(\w://)[^/\s@'\"]+@", rf"\1{_HIDDEN}@", text)
    return re.sub(r"(\w://[^\s?'\"]+\?)[^\s'\"]+", rf"\1{_HIDDEN}", text)


def _folders() -> Iterator[Path]:
    from tempfile import gettempdir

    from planner.config.paths import state_directory

    with suppress(PlannerError):  # the location of the user's files is not known
        yield state_directory("bugs")
    with suppress(OSError):  # no writable folder for temporary files
        yield Path(gettempdir())
