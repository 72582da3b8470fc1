"""Users' CSV files whose columns may have any usual name."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from planner.config.user_files import read_user_file
from planner.errors import BadInputError, PlannerError, bad_input
from planner.schemas.request_forms import OwnPrice
from planner.units import parse_number

PRICE_NAMES: Final = (
    "priceusdperhour", "usdperhour", "usdh", "priceperhour", "hourlyprice", "hourlyrate", "hourly", "usd", "price",
    "rate", "cost", "$",
)  # fmt: skip
"""What columns of prices are called, in small letters and digits alone."""
_PRICES: Final = {
    "type": ("instancetype", "instance", "type", "machinetype", "machine", "vmsize", "sku", "model", "name", "size"),
    "price": PRICE_NAMES,
    "region": ("region", "location"),
}  # fmt: skip
"""What columns of price sheets are called."""
_OTHER_PRICES: Final = {
    "eur", "gbp", "inr", "jpy", "cny", "chf", "aud", "cad", "month", "monthly", "year", "yearly", "annual", "day",
    "daily", "upfront", "gb", "gib",
}  # fmt: skip
"""Words of columns that are no US dollars per hour of a machine."""
_NEGOTIATED: Final = {"company", "contract", "discounted", "effective", "internal", "negotiated", "net", "our", "own"}
"""Words of the column that counts where several have prices."""
_UNIT: Final = r"(?:[kmgtpe]i?)?b(?:it|yte)?s?(?:/s|ps)?|(?:usd|\$)(?:\s*(?:/|per)\s*h(?:ou)?r?)?"
_WITH_UNIT: Final = re.compile(rf"(.+?)[\s_-]*(?:[(\[]\s*({_UNIT})\s*[)\]]|[\s_-]({_UNIT}))", re.IGNORECASE)
"""Headings such as `Memory (GiB)`, `network [Gbit/s]` and `disk_size_tb`."""


def read_called(
    file: Path, called: Mapping[str, Sequence[str]], *, in_words: bool = False
) -> tuple[dict[str, dict[str, str]], dict[str, str], list[str]]:
    """Return the texts of each row by its place, `FILE:LINE`, the column that each was taken from, and those left.

    `called` has the names of each column in small letters and digits alone, the likeliest first. A heading may end with
    a unit, which bare numbers below it then have. If `in_words`, else the one column counts that has such a name among
    its words. Raises BadInputError for a file that cannot be read, or has none of the columns or no rows.
    """
    text = read_user_file(file)
    head = text.partition("\n")[0]
    rows = csv.DictReader(text.splitlines(keepends=True), delimiter=max(",;\t", key=head.count))
    try:
        columns = {_squeezed(name): name for name in rows.fieldnames or ()}
        units: dict[str, str] = {}
        for name in [] if in_words else [*columns.values()]:
            if with_unit := _WITH_UNIT.fullmatch(name.strip()):
                units[columns.setdefault(_squeezed(with_unit[1]), name)] = with_unit[2] or with_unit[3]
        found = {key: next((columns[name] for name in names if name in columns), "") for key, names in called.items()}
        for key, names in called.items() if in_words else ():
            left = [name for name in columns.values() if name not in found.values()]
            words = {name: {*re.findall(r"[a-z0-9]+|\$", name.casefold())} for name in left}
            if key == "price":
                words = {name: said for name, said in words.items() if said.isdisjoint(_OTHER_PRICES)}
            alike = [name for name, said in words.items() if not said.isdisjoint(names)]
            if key == "price" and len(alike) > 1:
                alike = [name for name in alike if not words[name].isdisjoint(_NEGOTIATED)]
            found[key] = found[key] or (alike[0] if len(alike) == 1 else "")
        taken = {key: name for key, name in found.items() if name}
        texts = {
            f"{file}:{rows.line_num}": {key: _with(row[name], units.get(name, "")) for key, name in taken.items()}
            for row in rows
        }
    except csv.Error as error:
        text = f"{file}:{rows.line_num}: {error}; is a quote not closed?"
        raise BadInputError(text, code="malformed") from error
    if not taken:
        expected = ", ".join(called)
        raise BadInputError(f"{file}: no column is called as expected: {expected}", code="unknown-column")
    if not texts:
        raise BadInputError(f"{file}: there is no row below the names of its columns", code="no-rows")
    return texts, taken, [name for name in rows.fieldnames or () if name not in taken.values()]


def _squeezed(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.casefold())


def _with(text: str | None, unit: str) -> str:
    """Return a text without blanks around it, a bare number with the unit of its column: `memory_gb` has bytes, but
    small letters in a rate, as `mb/s`, stay a question.
    """
    said = (text or "").strip()
    if re.fullmatch("[kmgt]bits?", unit, re.IGNORECASE):
        unit = f"{unit[0].upper()}bit/s"  # a size has no bits
    if re.fullmatch("[kmgtp]i?b", unit):
        unit = f"{unit[0].upper()}{unit[1:-1]}B"
    return f"{said} {unit}" if unit and re.fullmatch(r"[\d.,_]+", said) else said


def price_sheet(file: Path) -> list[OwnPrice]:
    """Return a company's prices: US dollars per hour of each type, perhaps in a region. A note names the columns that
    were taken. Raises BadInputError for a file without them, and for all rows without a price at once.
    """
    rows, taken, left = read_called(file, _PRICES, in_words=True)
    if missing := [key for key in ("type", "price") if key not in taken]:
        what = {"type": "instance types", "price": "US dollars per hour"}[missing[0]]
        raise BadInputError(
            f"{file}: no column, or no single one, is clearly that of the {missing[0]}",
            [f"call the one of {what} '{missing[0]}'; it has {', '.join(map(repr, [*taken.values(), *left]))}"],
            code="unknown-column",
        )
    note = f"--own-price {file}, columns {' and '.join(taken.values())}"
    prices, problems = [], []
    for where, row in rows.items():
        try:
            if not row["type"]:
                raise BadInputError("the row names no type", code="empty")
            usd = parse_number(row["price"].removeprefix("$"))
            prices.append(
                OwnPrice(instance=row["type"], region=row.get("region") or "*", price_usd_per_hour=usd, note=note)
            )
        except PlannerError as error:
            problems.append(f"{where}: {row['price']!r}: {error.message}")
    if problems:
        raise bad_input(file, problems, ": the price of each type is US dollars per hour")
    return prices
