"""The page measurements.md: each measurement with its command, place and date, from `benchmarks/results/`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final, Self

RESULTS: Final = Path(__file__).resolve().parents[2] / "benchmarks" / "results"
MACHINES: Final = {"xeon": "Xeon", "epyc": "EPYC"}

HEAD: Final = """# Measurements

This page is made from `benchmarks/results/` when the site is built. Each topic has a file there; each heading leads to
the page that explains it. **Spread** is the range, with the number of runs in brackets. **Aim** is the project's
goal. Both **machines** are virtual, with two cores on shared hosts. Their rates swing by a third from minute to
minute, so alternatives run in turn. The Xeon (Sapphire Rapids) has 23 GB of memory, and a disk of 1.7 to 2.4 GB/s for
reads and writes together. The EPYC is a Zen 5.
"""


@dataclass(frozen=True, kw_only=True)
class Run:
    """A command and the figures that it gave: what, figure, spread and aim, as text."""

    command: str
    machine: str
    date: date
    conditions: str
    figures: list[tuple[str, str, str, str]]

    @property
    def line(self) -> str:
        """Return the line with the command that reproduces the figures."""
        conditions = f": {self.conditions}" if self.conditions else ""
        return f"`{self.command}`, {MACHINES[self.machine]}, {self.date:%Y-%m-%d}{conditions}"


@dataclass(frozen=True, kw_only=True)
class Topic:
    """The runs behind one heading; `page` explains them."""

    title: str
    page: str
    runs: tuple[Run, ...]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the topic of a file."""
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        return cls(title=content["title"], page=content["page"], runs=tuple(Run(**run) for run in content["runs"]))

    @property
    def lines(self) -> Iterator[str]:
        """Yield the heading, a row for each figure, and the commands that reproduce them, by number."""
        yield from (
            f"\n## [{self.title}]({self.page})\n",
            "| what | figure | spread | aim | run |",
            "|---|---|---|---|--:|",
        )
        for number, run in enumerate(self.runs, 1):
            yield from (f"| {' | '.join(figure)} | {number} |" for figure in run.figures)
        yield ""
        yield from (f"{number}. {run.line}" for number, run in enumerate(self.runs, 1))


def page() -> str:
    """Return the page, its topics by file name."""
    topics = [Topic.read(path) for path in sorted(RESULTS.glob("*.toml"))]
    return "\n".join([HEAD.rstrip("\n"), *(line for topic in topics for line in topic.lines), ""])
