"""Parsing of command lines like GNU programs: joined short options, abbreviated long ones, numbers with units."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from planner.sorting.records.keys import escaped, quote

TRY_HELP = "\nTry 'sort --help' for more information."
_UNITS = {unit: 1024**power for power, units in enumerate(["b", "kK", "mM", "gG", "tT", "P", "E", "Z", "Y", "R", "Q"])
          for unit in units}  # fmt: skip
_SPACE = " \t\n\v\f\r"
_PLAIN = frozenset("%+,-./:=@]_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_SPECIAL = frozenset(" !\"$&'()*;<=>?[\\^`|")
_MOST_DIGITS = 30  # Python refuses to read thousands of them; this many exceed all limits already


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


def short_options(letters: str, rest: list[str], taken: str) -> Iterator[tuple[str, str, str]]:
    """Yield letter, argument and name of the options joined in a word; `taken` is getopt's list of them."""
    while letters:
        letter, letters = letters[0], letters[1:]
        at = taken.find(letter)
        if at < 0 or letter == ":":
            raise GnuSortError(f"invalid option -- '{letter}'{TRY_HELP}")
        if taken[at + 1 : at + 2] != ":":
            yield letter, "", f"-{letter}"
            continue
        if not letters and not rest:
            raise GnuSortError(f"option requires an argument -- '{letter}'{TRY_HELP}")
        if letter == "y" and not letters and not rest[0].isdigit():  # it takes only a number
            return
        yield letter, letters or rest.pop(0), f"-{letter}"
        return


def long_option(word: str, rest: list[str], taken: Mapping[str, str]) -> tuple[str, str, str]:
    """Return meaning, argument and name of the option that a word without its dashes names, possibly abbreviated."""
    name, equals, argument = word.partition("=")
    matches = [name] if name in taken else [long for long in taken if long.startswith(name)]
    if not matches:
        raise GnuSortError(f"unrecognized option '--{name}{equals}{argument}'{TRY_HELP}")
    if len(matches) > 1:
        possible = " ".join(f"'--{match}'" for match in matches)
        raise GnuSortError(f"option '--{word}' is ambiguous; possibilities: {possible}{TRY_HELP}")
    meaning = taken[matches[0]]
    if equals and meaning[-1] not in ":?":
        raise GnuSortError(f"option '--{matches[0]}' doesn't allow an argument{TRY_HELP}")
    if meaning[-1] == "?" and not equals:
        return meaning[0], "", f"--{matches[0]}"
    if meaning[-1] == ":" and not equals:
        if not rest:
            raise GnuSortError(f"option '--{matches[0]}' requires an argument{TRY_HELP}")
        argument = rest.pop(0)
    return meaning.rstrip(":?"), argument, f"--{matches[0]}"


def match_word(word: str, words: Mapping[str, str], name: str) -> str:
    """Return the matching word, which may be abbreviated."""
    matches = [word] if word in words else [candidate for candidate in words if candidate.startswith(word)]
    if len({words[match] for match in matches}) != 1:
        problem = "ambiguous" if matches else "invalid"
        groups: dict[str, list[str]] = {}
        for candidate, meaning in words.items():
            groups.setdefault(meaning, []).append(f"'{candidate}'")
        valid = "".join(f"\n  - {', '.join(group)}" for group in groups.values())
        message = f"{problem} argument {quote(word)} for '{name}'\nValid arguments are:{valid}{TRY_HELP}"
        raise GnuSortError(message, exit_code=1)
    return matches[0]


def whole_number(text: str, name: str) -> int:
    """Return the number given to an option."""
    digits = text.lstrip(_SPACE).removeprefix("+")
    if not (digits.isascii() and digits.isdigit()):
        problem = "invalid suffix in" if digits[:1].isdigit() else "invalid"
        raise GnuSortError(f"{problem} {name} argument {quote(text)}")
    return _number(digits)


def _number(digits: str) -> int:
    return int(digits.lstrip("0")[:_MOST_DIGITS] or "0")


def memory_size(argument: str, name: str) -> int:
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
