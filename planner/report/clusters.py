"""A cluster in reports: its usual name, its figures as texts, the same in every table, and the whole bill in a few
items that add up to the cent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from planner.report.section import Section
from planner.report.words import bottleneck_word, phase_word, region_text, region_word
from planner.schemas.plan import ADDRESS_LINE, HEAD_LINE, ROOTS_LINE, BillLine, Candidate, FrontierPoint, Plan
from planner.units import format_duration, format_usd, usd_decimals

Column = Callable[[Candidate], str]


def cluster_name(of: Candidate | FrontierPoint, *, several_models: bool = False, several_pricings: bool = False) -> str:
    """Return a cluster's usual name: `79 x i8g.8xlarge`, with its bandwidth weighting if it is not the default, and
    with the model, or a note that its nodes are spot ones, where several models or ways to pay are compared.
    """
    weighting = f" ({of.bandwidth_weighting})" if of.bandwidth_weighting else ""
    spot = ", spot" if several_pricings and of.pricing == "spot" else ""
    name = f"{of.nodes} x {of.instance_type}{weighting}{spot}"
    return f"{name}, {of.model}" if several_models else name


def place_suffix(plan: Plan, point: FrontierPoint) -> str:
    """Return the region of a cluster of the frontier, to follow its name, if the frontier has several of a cloud."""
    regions = {other.region for other in plan.frontier if other.cloud == point.cloud}
    return f", {region_word(point.region)}" if len(regions) > 1 else ""


def advice(best: Candidate) -> str:
    """Return what to do: `Rent 79 x i8g.8xlarge`, or to use machines of one's own."""
    return f"{'Use' if best.is_own else 'Rent'} {cluster_name(best)}"


def total_text(best: Candidate) -> str:
    """Return the whole bill in words: a lower bound if part of it is unknown."""
    return f"{'at least ' if best.cost_usd.at_least else ''}{format_usd(best.cost_usd.total)}"


FIGURES: Final[dict[str, Column]] = {
    "cluster": cluster_name,
    "model": lambda of: of.model,
    "where": region_text,
    "instance type": lambda of: cluster_name(of).partition(" x ")[2],
    "nodes": lambda of: f"{of.nodes}",
    "$/h each": lambda of: f"{of.price_usd_per_hour:.4g}",
    "a node-hour": lambda of: format_usd(of.price_usd_per_hour),
    "storage": lambda of: of.storage,
    "disks data:interm.": lambda of: (
        "shared" if of.shared else f"{split.data}:{split.intermediate}" if (split := of.disk_split) else "-"
    ),
    "equation": lambda of: format_duration(of.time_s.equation),
    "expected": lambda of: format_duration(of.time_s.expected),
    "95 of 100": lambda of: format_duration(of.time_s.p95),
    "whole run": lambda of: format_duration(of.whole_run_s),
    "sort $": lambda of: format_usd(of.cost_usd.expected),
    "total $": lambda of: format_usd(of.cost_usd.total),
    "total, 95 of 100": lambda of: format_usd(of.cost_usd.total_p95),
    "the bill": total_text,
    "bottleneck": bottleneck_word,
    "bottlenecks": lambda of: ", ".join(dict.fromkeys(phase_word(phase.bottleneck) for phase in of.phases)),
    "place": lambda of: f"{region_word(of.region)}, {of.pricing}",
    "evidence": lambda of: of.evidence,
    "durability": lambda of: of.durability,
}
"""The figures of a cluster by their usual headings."""

_WORDS: Final = {"", "cluster", "model", "where", "instance type", "storage", "disks data:interm.", "evidence",
                 "durability", "bottleneck", "bottlenecks"}  # fmt: skip


def cluster_table(
    columns: Mapping[str, str | Column], clusters: Iterable[Candidate], *, chosen: Candidate | None = None, **more: Any
) -> Section:
    """Return a row for each cluster. The columns are headings, each with the name of a figure or a function."""
    rows = list(clusters)
    shown = [FIGURES[column] if isinstance(column, str) else column for column in columns.values()]
    return Section(
        columns=list(columns),
        rows=[[column(of) for column in shown] for of in rows],
        numbers=[place for place, name in enumerate(columns) if columns[name] not in _WORDS and name not in _WORDS],
        chosen=[place for place, of in enumerate(rows) if of == chosen],
        **more,
    )


def side_by_side(figures: Mapping[str, str | Column], clusters: Mapping[str, Candidate | None]) -> Section:
    """Return a column for each cluster and a row for each figure; 'none' and empty cells where there is no cluster."""
    rows = []
    for name, figure in figures.items():
        show = FIGURES[figure] if isinstance(figure, str) else figure
        nothing = "none" if figure == "cluster" else ""
        rows.append([name, *(nothing if of is None else show(of) for of in clusters.values())])
    return Section(columns=["", *clusters], rows=rows)


BILL_GROUPS: Final = {
    "sort": ("job",),
    "boot, install, screen, tear down": ("boot", "compile", "install", "screen", "teardown"),
    "generate, load, validate, fetch": ("generate", "load", "validate", "fetch"),
    "stage in, stage out": ("stage in", "stage out"),
    "spare nodes, root volumes, head": ("spares", "rounding", HEAD_LINE, ROOTS_LINE, ADDRESS_LINE),
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
    """Return the bill of a cluster in groups."""
    return bill_of_lines(best.bill)


def bill_of_lines(bill: Sequence[BillLine]) -> Bill:
    """Return the bill with these lines in groups; rounding differences go to the largest item."""
    named = {line: group for group, lines in BILL_GROUPS.items() for line in lines}
    groups: dict[str, list[BillLine]] = {}
    for line in bill:
        own = line.name.replace("_", " ")
        groups.setdefault(own if line.usd is None else named.get(line.name, own), []).append(line)
    total, items = math.fsum(line.usd or 0.0 for line in bill), []
    per_usd = 10 ** usd_decimals(total)
    amounts = [sum(line.usd or 0.0 for line in lines) for lines in groups.values()]
    for (name, lines), amount in zip(groups.items(), _parts(amounts, total, per_usd=per_usd), strict=True):
        times = [line.time_s for line in lines if line.time_s is not None]
        usd = None if all(line.usd is None for line in lines) else amount / per_usd
        items.append(BillItem(name=_group_name(name, lines), time_s=sum(times) if times else None, usd=usd))
    total_name = "all that is known" if any(line.usd is None for line in bill) else "in all"
    return Bill(items=tuple(items), total_usd=round(total * per_usd) / per_usd, total_name=total_name)


def items_text(bill: Bill) -> str:
    """Return the items of a bill in one line: sort $0.25, spares $0.01."""
    return ", ".join(f"{item.name} {'' if item.usd is None else '$'}{bill.shown(item.usd)}" for item in bill)


def bill_section(best: Candidate) -> Section:
    """Return the bill as a table whose last row is the total."""
    rows = bill_of(best).rows
    columns = ("item", "time", "cost")
    title = "The whole bill, for all nodes"
    return Section(title=title, columns=columns, rows=rows, numbers=(1, 2), chosen=(len(rows) - 1,))


def _group_name(name: str, lines: Sequence[BillLine]) -> str:
    """Return the group's name from its lines; a list of several charges would be too long."""
    if name in ("requests and traffic", "spare nodes, root volumes, head") and len(lines) > 1:
        return name
    present = [step_word(line.name) for line in lines]
    return ", ".join(present) if name in BILL_GROUPS else name


def step_word(name: str) -> str:
    """Return the displayed name of a step of a run, or of a line of its bill."""
    named = {"teardown": "tear down", "job": "sort", "spares": "spare nodes"}
    return named.get(name, name.replace("_", " "))


def ratios(cluster: Candidate, than: Candidate) -> tuple[float, float]:
    """Return a cluster's whole run and whole bill as multiples of another's."""
    bill = cluster.cost_usd.total / than.cost_usd.total if than.cost_usd.total else 1.0
    return cluster.whole_run_s / than.whole_run_s, bill


def _parts(amounts: Sequence[float], total: float, *, per_usd: int) -> list[int]:
    """Round amounts in parts of a dollar so that they add up to the rounded total; the largest takes the difference."""
    parts = [round(amount * per_usd) for amount in amounts]
    if parts:
        parts[amounts.index(max(amounts))] += round(total * per_usd) - sum(parts)
    return parts
