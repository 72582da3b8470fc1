"""The whole bill in a few items that add up to the cent, as the terminal, notebooks and pages show it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from planner.report.section import Section
from planner.schemas.plan import BillLine, Candidate
from planner.units import format_duration, usd_decimals

BILL_GROUPS: Final = {
    "sort": ("job",),
    "boot, install, screen, tear down": ("boot", "install", "screen", "teardown"),
    "generate, load, validate, fetch": ("generate", "load", "validate", "fetch"),
    "stage in, stage out": ("stage in", "stage out"),
    "spare nodes": ("spares", "rounding"),
    "requests and traffic": (
        "requests",
        "stage in: requests",
        "stage in: traffic",
        "stage out: requests",
        "stage out: egress",
        "traffic between zones",
    ),
}
"""Groups of the bill's lines; any other line, and any without a known price, is an item of its own."""


@dataclass(frozen=True, kw_only=True)
class BillItem:
    """One item: the time for which all nodes are paid (None: it has no time), and US dollars in whole cents, or in
    hundredths of a cent if the bill is below ten cents; None if the price is unknown.
    """

    name: str
    time_s: float | None
    usd: float | None


@dataclass(frozen=True, kw_only=True, repr=False)
class Bill:
    """Items whose known amounts add up to the displayed `total_usd`, in cents or hundredths of them; `total_name` says
    whether that is all.
    """

    items: tuple[BillItem, ...]
    total_usd: float
    total_name: str

    @property
    def time_s(self) -> float:
        """Seconds of the whole run."""
        return sum(item.time_s or 0.0 for item in self.items)

    def shown(self, usd: float | None) -> str:
        """Return an amount of this bill, without the dollar sign, in as many decimals as the total has."""
        return "unknown" if usd is None else f"{usd:,.{usd_decimals(self.total_usd)}f}"

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """Name, time and cost of each item as text, and those of the total."""
        total = BillItem(name=self.total_name, time_s=self.time_s, usd=self.total_usd)
        times = [format_duration(item.time_s) if item.time_s else "" for item in (*self.items, total)]
        costs = [f"{'' if item.usd is None else '$'}{self.shown(item.usd)}" for item in (*self.items, total)]
        return [*zip((item.name for item in (*self.items, total)), times, costs, strict=True)]

    def __iter__(self) -> Iterator[BillItem]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        return "\n".join(f"{name:<36}{time:>14}{cost:>14}" for name, time, cost in self.rows)


def bill_of(best: Candidate) -> Bill:
    """Return the bill of a cluster; rounding differences go to the largest item."""
    named = {line: group for group, lines in BILL_GROUPS.items() for line in lines}
    groups: dict[str, list[BillLine]] = {}
    for line in best.bill:
        own = line.name.replace("_", " ")
        groups.setdefault(own if line.usd is None else named.get(line.name, own), []).append(line)
    total, items = best.cost_usd.total, []
    per_usd = 10 ** usd_decimals(total)
    amounts = [sum(line.usd or 0.0 for line in lines) for lines in groups.values()]
    for (name, lines), amount in zip(groups.items(), _parts(amounts, total, per_usd=per_usd), strict=True):
        times = [line.time_s for line in lines if line.time_s is not None]
        usd = None if all(line.usd is None for line in lines) else amount / per_usd
        items.append(BillItem(name=_group_name(name, lines), time_s=sum(times) if times else None, usd=usd))
    total_name = "all that is known" if best.cost_usd.unknown else "in all"
    return Bill(items=tuple(items), total_usd=round(total * per_usd) / per_usd, total_name=total_name)


def bill_section(best: Candidate) -> Section:
    """Return the bill as a table whose last row is the total."""
    rows = bill_of(best).rows
    columns = ("item", "time", "cost")
    title = "The whole bill, for all nodes"
    return Section(title=title, columns=columns, rows=rows, numbers=(1, 2), chosen=(len(rows) - 1,))


def _group_name(name: str, lines: Sequence[BillLine]) -> str:
    """Return the group's name from its lines; a list of several charges would be too long."""
    if name == "requests and traffic" and len(lines) > 1:
        return name
    present = [step_word(line.name) for line in lines]
    return ", ".join(present) if name in BILL_GROUPS else name


def step_word(name: str) -> str:
    """Return the displayed name of a step of a run, or of a line of its bill."""
    named = {"teardown": "tear down", "job": "sort", "spares": "spare nodes"}
    return named.get(name, name.replace("_", " "))


def _parts(amounts: Sequence[float], total: float, *, per_usd: int) -> list[int]:
    """Round amounts in parts of a dollar so that they add up to the rounded total; the largest takes the difference."""
    parts = [round(amount * per_usd) for amount in amounts]
    if parts:
        parts[amounts.index(max(amounts))] += round(total * per_usd) - sum(parts)
    return parts
