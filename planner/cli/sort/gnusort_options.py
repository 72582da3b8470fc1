"""The command line of GNU sort: joined short options, abbreviated long ones, operands among them, units of numbers."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from planner.sorting.records.keys import (
    UNLIMITED,
    BadKeyError,
    Key,
    check_compatible,
    escaped,
    parse_key,
    parse_old_key,
    quote,
    with_defaults,
)

if TYPE_CHECKING:
    from planner.sorting.records.keyed import TextOrder

_TRY_HELP = "\nTry 'sort --help' for more information."
_UNITS = {unit: 1024**power for power, units in enumerate(["b", "kK", "mM", "gG", "tT", "P", "E", "Z", "Y", "R", "Q"])
          for unit in units}  # fmt: skip
_SPACE = " \t\n\v\f\r"
_PLAIN = frozenset("%+,-./:=@]_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_SPECIAL = frozenset(" !\"$&'()*;<=>?[\\^`|")
_MOST_DIGITS = 30  # Python refuses to read thousands of them; this many exceed all limits already


_SHORT = "bcCdfghik:mMno:rRsS:t:T:uVy:z"
_LONG = {
    "ignore-leading-blanks": "b", "check": "check?", "compress-program": "compress-program:", "debug": "debug",
    "dictionary-order": "d", "ignore-case": "f", "files0-from": "files0:", "general-numeric-sort": "g",
    "ignore-nonprinting": "i", "key": "k:", "merge": "m", "month-sort": "M", "numeric-sort": "n",
    "human-numeric-sort": "h", "version-sort": "V", "random-sort": "R", "random-source": "random-source:",
    "sort": "sort:", "output": "o:", "reverse": "r", "stable": "s", "batch-size": "batch-size:",
    "buffer-size": "S:", "field-separator": "t:", "temporary-directory": "T:", "unique": "u",
    "zero-terminated": "z", "parallel": "parallel:", "help": "help", "version": "version",
}  # fmt: skip
"""Long options in GNU sort's order, in which ambiguous ones are listed; `:` takes an argument, `?` may."""
_SORTS = {
    "general-numeric": "g", "human-numeric": "h", "month": "M", "numeric": "n", "random": "R", "version": "V",
}  # fmt: skip
_STANDARD_STREAMS = 3
_CHECKS = {"quiet": "C", "silent": "C", "diagnose-first": "c"}
_HELP = """\
Usage: planner gnusort [OPTION]... [FILE]...
  or:  planner gnusort [OPTION]... --files0-from=F
Write the sorted lines of all FILEs to standard output, as GNU sort does under LC_ALL=C.
With no FILE, or when FILE is -, read standard input.

Ordering: -b -d -f -g -h -i -M -n -R -r -V, --sort=WORD, --random-source=FILE
Others:   -k POS1[,POS2][OPTS]  -t SEP  -s  -u  -z  -m  -c  -C  --check=WORD  -o FILE
          -S SIZE  -T DIR  --parallel=N  --batch-size=N  --files0-from=F
          --debug
All have GNU sort's meanings and long names. Temporary data is not compressed, even with --compress-program=PROGRAM.
"""


class GnuSortError(Exception):
    """An error that ends the command; its message follows `sort: `."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def quote_name(name: str) -> str:
    """Return a file's name as GNU programs print it, in a shell's quotes where needed."""
    prints = all(" " <= letter <= "~" for letter in name)
    if prints and name and not _SPECIAL & set(name) and name[0] not in "#~":
        return name
    if prints and "'" in name and set(name) <= _PLAIN | {"'", " "}:
        return f'"{name}"'
    shown, is_escaping = "'", False
    for letter in name:
        escapes = not " " <= letter <= "~"
        if escapes != is_escaping:
            shown += "'$'" if escapes else "''"
        is_escaping = escapes
        shown += "'\\''" if letter == "'" else escaped(letter)
    return f"{shown}'"


class Options:
    """Options of a command line. Not a dataclass, which takes longer to load than sorting a small file."""

    def __init__(self) -> None:
        self.operands: list[str] = []
        self.keys: list[Key] = []
        self.old_keys: dict[int, str] = {}
        self.ordering = ""
        self.separator: bytes | None = None
        self.stable = self.unique = self.zero_terminated = self.merge = self.debug = False
        self.check = ""
        self.output: str | None = None
        self.compress_program: str | None = None
        self.files_from: str | None = None
        self.random_source: str | None = None
        self.memory_bytes = 0
        self.temp_dirs: list[str] = []
        self.threads = 0
        self.batch_size = 0
        self.text_to_show = ""

    def order(self) -> TextOrder:
        """Return the order of lines; raise GnuSortError or BadKeyError if options exclude each other."""
        from planner.sorting.records.keyed import TextOrder

        keys = with_defaults(self.keys, self.ordering)
        for key in keys:
            check_compatible(key)
        if self.check and self.output is not None:
            raise GnuSortError(f"options '-{self.check}o' are incompatible")
        if self.debug and (self.check or self.output is not None):
            raise GnuSortError(f"options '-{self.check or 'o'} --debug' are incompatible")
        return TextOrder(
            keys=tuple(keys),
            separator=self.separator,
            line_end=b"\0" if self.zero_terminated else b"\n",
            stable=self.stable,
            unique=self.unique,
            reversed="r" in self.ordering,
            random_seed=self._seed() if any("R" in key.options for key in keys) else b"",
        )

    def inputs(self) -> list[str]:
        """Return the files to sort; raise GnuSortError for an invalid list of names."""
        if self.files_from is None:
            return self.operands or ["-"]
        if self.operands:
            both = "file operands cannot be combined with --files0-from"
            raise GnuSortError(f"extra operand {quote(self.operands[0])}\n{both}{_TRY_HELP}")
        names = _read_all(self.files_from).split(b"\0")
        if names[-1] == b"":
            names.pop()
        for number, name in enumerate(names, 1):
            if name == b"-":  # GNU refuses it in files of names as well, with this message
                raise GnuSortError("when reading file names from stdin, no file name of '-' allowed")
            if not name:
                raise GnuSortError(f"{self.files_from}:{number}: invalid zero-length file name")
        if not names:
            raise GnuSortError(f"no input from {quote(self.files_from)}")
        return [os.fsdecode(name) for name in names]

    def _seed(self) -> bytes:
        if self.random_source is None:
            return os.urandom(16)
        seed = _read_all(self.random_source, most=16)
        if len(seed) < 16:
            raise GnuSortError(f"{self.random_source}: end of file")
        return seed


def parse(arguments: Sequence[str]) -> Options:
    """Parse the arguments; raise GnuSortError or BadKeyError with GNU sort's message."""
    options = Options()
    rest = list(arguments)
    strict = "POSIXLY_CORRECT" in os.environ
    while rest and not options.text_to_show:
        word = rest.pop(0)
        if strict and options.operands and not _is_late_output(options, word, rest):
            options.operands.append(word)
        elif word == "--":
            break
        elif word.startswith("--"):
            _apply(options, *_long_option(word[2:], rest, _LONG))
        elif word.startswith("-") and word != "-":
            for option in _short_options(word[1:], rest, _SHORT):
                _apply(options, *option)
        elif not (word.startswith("+") and _take_old_key(options, word, rest)):
            options.operands.append(word)
    options.operands += rest
    return options


def _is_late_output(options: Options, word: str, rest: Sequence[str]) -> bool:
    """Return whether a word behind a file, where POSIX has files only, is `-o FILE` nevertheless."""
    return word.startswith("-o") and bool(word[2:] or rest) and not options.check and _has_old_usage()


def _has_old_usage() -> bool:
    version = os.environ.get("_POSIX2_VERSION", "200809")
    return not (version.isdigit() and 200112 <= int(version) < 200809)


def _take_old_key(options: Options, word: str, rest: list[str]) -> bool:
    """Parse `+POS1 [-POS2]`; a word that is not such a key is a file."""
    has_end = bool(rest) and rest[0][:1] == "-" and rest[0][1:2].isdigit()
    if not _has_old_usage() and not (has_end and "POSIXLY_CORRECT" not in os.environ):
        return False
    try:
        parse_old_key(word[1:], None)
    except BadKeyError:
        return False
    key = parse_old_key(word[1:], rest.pop(0)[1:] if has_end else None)
    options.old_keys[len(options.keys)] = _advice_on(key)
    options.keys.append(key)
    return True


def _advice_on(key: Key) -> str:
    """Return GNU sort's --debug message on an obsolete key."""
    first = 0 if key.first_field == UNLIMITED else key.first_field
    old, new = f"+{first}", f"-k {first + 1}"
    if key.last_field != UNLIMITED:
        old, new = f"{old} -{key.last_field + 1}", f"{new},{key.last_field + 1}"
    return f"obsolescent key '{old}' used; consider '{new}' instead"


_FLAGS = {"s": "stable", "u": "unique", "z": "zero_terminated", "m": "merge", "debug": "debug"}
_TEXTS = {
    "o": ("output", "multiple output files specified"),
    "random-source": ("random_source", "multiple random sources specified"),
    "compress-program": ("compress_program", "multiple compress programs specified"),
    "files0": ("files_from", ""),
}
"""Options that keep a text, and the error of two different ones. The program to compress is never run, as GNU sort runs
none when everything fits in memory.
"""


def _apply(options: Options, what: str, argument: str, name: str) -> None:
    """Take an option; `-y`, one of old systems, is ignored."""
    if what in "bdfghiMnRrV":
        options.ordering += what
    elif what in _FLAGS:
        setattr(options, _FLAGS[what], True)
    elif what in _TEXTS:
        field, problem = _TEXTS[what]
        if problem and getattr(options, field) not in (None, argument):
            raise GnuSortError(problem)
        setattr(options, field, argument)
    elif what in ("c", "C", "check"):
        letter = _CHECKS[_match_word(argument, _CHECKS, name)] if what == "check" else what
        if options.check not in ("", letter):
            raise GnuSortError("options '-cC' are incompatible")
        options.check = letter
    elif what == "sort":
        options.ordering += _SORTS[_match_word(argument, _SORTS, name)]
    elif what in _SETTERS:
        _SETTERS[what](options, argument, name)


def _set_separator(options: Options, argument: str, _: str) -> None:
    separator = b"\0" if argument == "\\0" else os.fsencode(argument)
    if not separator:
        raise GnuSortError("empty tab")
    if len(separator) > 1:
        raise GnuSortError(f"multi-character tab {quote(argument)}")
    if options.separator not in (None, separator):
        raise GnuSortError("incompatible tabs")
    options.separator = separator


def _set_memory(options: Options, argument: str, name: str) -> None:
    options.memory_bytes = max(options.memory_bytes, _memory_size(argument, name), 1)


def _set_threads(options: Options, argument: str, name: str) -> None:
    options.threads = min(_whole_number(argument, name), 2**32 - 1)
    if options.threads == 0:
        raise GnuSortError("number in parallel must be nonzero")


def _set_batch_size(options: Options, argument: str, name: str) -> None:
    options.batch_size = min(_whole_number(argument, name), 2**32 - 1)
    if options.batch_size < 2:
        raise GnuSortError(
            f"invalid --batch-size argument {quote(argument)}\nsort: minimum --batch-size argument is '2'"
        )
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - _STANDARD_STREAMS
    if options.batch_size > most:
        raise GnuSortError(
            f"--batch-size argument {quote(argument)} too large\n"
            f"sort: maximum --batch-size argument with current rlimit is {most}"
        )


def _set_show(options: Options, _: str, name: str) -> None:
    from importlib.metadata import version

    options.text_to_show = _HELP if name == "--help" else f"sort (planner gnusort) {version('sortplanner')}\n"


_SETTERS: dict[str, Callable[[Options, str, str], None]] = {
    "k": lambda options, argument, _: options.keys.append(parse_key(argument)),
    "T": lambda options, argument, _: options.temp_dirs.append(argument),
    "t": _set_separator, "S": _set_memory, "parallel": _set_threads, "batch-size": _set_batch_size,
    "help": _set_show, "version": _set_show,
}  # fmt: skip


def _read_all(path: str, most: int = -1) -> bytes:
    try:
        with open(0 if path == "-" else path, "rb", closefd=path != "-") as file:
            return file.read(most)
    except OSError as error:
        raise GnuSortError(f"open failed: {path}: {error.strerror}") from error


def _short_options(letters: str, rest: list[str], taken: str) -> Iterator[tuple[str, str, str]]:
    """Yield letter, argument and name of the options joined in a word; `taken` is getopt's list of them."""
    while letters:
        letter, letters = letters[0], letters[1:]
        at = taken.find(letter)
        if at < 0 or letter == ":":
            raise GnuSortError(f"invalid option -- '{letter}'{_TRY_HELP}")
        if taken[at + 1 : at + 2] != ":":
            yield letter, "", f"-{letter}"
            continue
        if not letters and not rest:
            raise GnuSortError(f"option requires an argument -- '{letter}'{_TRY_HELP}")
        if letter == "y" and not letters and not rest[0].isdigit():  # it takes only a number
            return
        yield letter, letters or rest.pop(0), f"-{letter}"
        return


def _long_option(word: str, rest: list[str], taken: Mapping[str, str]) -> tuple[str, str, str]:
    """Return meaning, argument and name of the option that a word without its dashes names, possibly abbreviated."""
    name, equals, argument = word.partition("=")
    matches = [name] if name in taken else [long for long in taken if long.startswith(name)]
    if not matches:
        raise GnuSortError(f"unrecognized option '--{name}{equals}{argument}'{_TRY_HELP}")
    if len(matches) > 1:
        possible = " ".join(f"'--{match}'" for match in matches)
        raise GnuSortError(f"option '--{word}' is ambiguous; possibilities: {possible}{_TRY_HELP}")
    meaning = taken[matches[0]]
    if equals and meaning[-1] not in ":?":
        raise GnuSortError(f"option '--{matches[0]}' doesn't allow an argument{_TRY_HELP}")
    if meaning[-1] == "?" and not equals:
        return meaning[0], "", f"--{matches[0]}"
    if meaning[-1] == ":" and not equals:
        if not rest:
            raise GnuSortError(f"option '--{matches[0]}' requires an argument{_TRY_HELP}")
        argument = rest.pop(0)
    return meaning.rstrip(":?"), argument, f"--{matches[0]}"


def _match_word(word: str, words: Mapping[str, str], name: str) -> str:
    """Return the matching word, which may be abbreviated."""
    matches = [word] if word in words else [candidate for candidate in words if candidate.startswith(word)]
    if len({words[match] for match in matches}) != 1:
        problem = "ambiguous" if matches else "invalid"
        groups: dict[str, list[str]] = {}
        for candidate, meaning in words.items():
            groups.setdefault(meaning, []).append(f"'{candidate}'")
        valid = "".join(f"\n  - {', '.join(group)}" for group in groups.values())
        message = f"{problem} argument {quote(word)} for '{name}'\nValid arguments are:{valid}{_TRY_HELP}"
        raise GnuSortError(message, exit_code=1)
    return matches[0]


def _whole_number(text: str, name: str) -> int:
    """Return the number given to an option."""
    digits = text.lstrip(_SPACE).removeprefix("+")
    if not (digits.isascii() and digits.isdigit()):
        problem = "invalid suffix in" if digits[:1].isdigit() else "invalid"
        raise GnuSortError(f"{problem} {name} argument {quote(text)}")
    return _number(digits)


def _number(digits: str) -> int:
    return int(digits.lstrip("0")[:_MOST_DIGITS] or "0")


def _memory_size(argument: str, name: str) -> int:
    """Return the bytes of `10%`, `2G` or `7b`; a number without a unit is in kibibytes."""
    digits = argument.lstrip(_SPACE).removeprefix("+")
    unit = digits.lstrip("0123456789")
    number = digits[: len(digits) - len(unit)]
    if not number:
        raise GnuSortError(f"invalid {name} argument {quote(argument)}")
    if unit not in ("", "%", *_UNITS):
        raise GnuSortError(f"invalid suffix in {name} argument {quote(argument)}")
    if unit == "%":
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * _number(number) // 100
    else:
        size = _number(number) * (_UNITS[unit] if unit else 1024)
    if size >= 2**64:
        raise GnuSortError(f"{name} argument {quote(argument)} too large")
    return size
