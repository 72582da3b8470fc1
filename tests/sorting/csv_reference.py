"""A second implementation of CSV and its order: random files, and their expected sorted form."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

WORDS = ["", "a", "b", "B", "ab", 'say "so"', "x,y", "two\nlines", "cr\r\nlf", "é", "z" * 70, "~", " a", "it's"]
INTEGERS = ["0", "-0", "7", "-7", "+12", "00012", "123456789012345678901234567890", "-99999999999999999999", "", " 3 "]
DECIMALS = [*INTEGERS, "1.50", "1.5", "-.5", "3.", "0.0001", "-0.0"]
FLOATS = [*DECIMALS, "1e3", "-2.5E-3", "inf", "-inf", "nan", "1e400", "-1e400", "1e-400"]
KINDS: dict[str, tuple[list[str], Callable[[str], Any]]] = {
    "bytes": (WORDS, str.encode),
    "fold": (WORDS, lambda text: bytes(c - 32 if 97 <= c <= 122 else c for c in text.encode())),
    "int": (INTEGERS, int),
    "num": (DECIMALS, Decimal),
    "float": (FLOATS, lambda text: (float(text) != float(text), 0.0 if text == "nan" else float(text))),
}


@dataclass(frozen=True)
class CsvKey:
    """A column and its comparison."""

    column: int
    kind: str
    descending: bool
    empty_first: bool

    def text(self, name: str) -> str:
        """Return the key as it is typed."""
        words = [name, self.kind, *["desc"] * self.descending, *["first"] * self.empty_first]
        return ":".join(words)

    def ordered(self, rows: list[tuple[list[str], bytes]]) -> list[tuple[list[str], bytes]]:
        """Return rows sorted by this key, equal values in input order."""
        convert = KINDS[self.kind][1]
        full = [row for row in rows if row[0][self.column]]
        full.sort(key=lambda row: convert(row[0][self.column]), reverse=self.descending)
        empty = [row for row in rows if not row[0][self.column]]
        return empty + full if self.empty_first else full + empty

    def value(self, row: list[str]) -> Any:
        """Return the value in which equal rows agree."""
        return KINDS[self.kind][1](row[self.column]) if row[self.column] else None


@dataclass(frozen=True)
class CsvCase:
    """A CSV file and an order."""

    names: list[str]
    rows: list[tuple[list[str], bytes]]
    keys: list[CsvKey]
    delimiter: str
    end: str
    header: bytes
    ends_with_newline: bool
    quote: str = '"'

    @property
    def text(self) -> bytes:
        """The whole file."""
        text = self.header + b"".join(row for _, row in self.rows)
        return text if self.ends_with_newline else text.removesuffix(self.end.encode())

    def expected(self, *, unique: bool = False) -> bytes:
        """The sorted file."""
        rows = self.rows
        for key in reversed(self.keys):
            rows = key.ordered(rows)
        if unique:
            firsts: dict[Any, bytes] = {}
            for values, row in rows:
                firsts.setdefault(tuple(key.value(values) for key in self.keys), row)
            return self.header + b"".join(firsts.values())
        return self.header + b"".join(row for _, row in rows)


def quoted(value: str, delimiter: str, chance: random.Random, quote: str = '"') -> str:
    """Return a value in CSV form, quoted if necessary or by chance."""
    if chance.random() < 0.2 or any(character in value for character in f"{quote}\r\n{delimiter}"):
        return quote + value.replace(quote, quote * 2) + quote
    return value


def random_csv(chance: random.Random, *, quote: str = '"') -> CsvCase:
    """Return a small file with awkward values."""
    kinds = [chance.choice(list(KINDS)) for _ in range(chance.randint(1, 5))]
    delimiter, end = chance.choice(",;\t|"), chance.choice(["\n", "\r\n"])
    names = [chance.choice(["id", "the name", 'a "b"', "c,d", "e:f", "g\nh"]) + str(i) for i in range(len(kinds))]

    def line(values: list[str]) -> bytes:
        return (delimiter.join(quoted(value, delimiter, chance, quote) for value in values) + end).encode()

    table = [[chance.choice(KINDS[form][0]) for form in kinds] for _ in range(chance.randint(0, 40))]
    columns = chance.sample(range(len(kinds)), chance.randint(1, len(kinds)))
    keys = [CsvKey(i, kinds[i], chance.random() < 0.5, chance.random() < 0.5) for i in columns]
    return CsvCase(
        names,
        [(values, line(values)) for values in table],
        keys,
        delimiter,
        end,
        line(names),
        # without its newline, a last empty value would not be a row
        quote=quote,
        ends_with_newline=chance.random() < 0.7 or table[-1:] == [[""]] or not table,
    )
