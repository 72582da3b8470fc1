"""Section of papers.md: TritonSort's published runs next to the equations' predictions for its testbed."""

from __future__ import annotations

from dataclasses import dataclass

from planner import recommend
from planner.schemas.plan import Candidate

SEQUENTIAL, SCATTERED = "dl380g6", "dl380g6-scattered"
RECORDS = 1e12
"""Records of 100 bytes in 100 TB."""
INDY_S = 1e14 / 0.938e12 * 60
SERVER_J, SWITCH_J = 2.109e6, 8.332e6
PAPER_RECORDS_PER_J, PAPER_DEVIATION = 9703.0, 351

HEAD = """# TritonSort's runs, recomputed

The runs are those of Rasmussen et al., "TritonSort", ACM TOCS 31(1), 2013. Every
prediction is a call of `plan --paper` on the catalog
`tritonsort-2011`, which holds the rates of the paper's Figure 9 and nothing else. Phase 1 writes to logical disks all
over the platters (601 MB/s a node). Phase 2 writes long runs (717 MB/s). So the first phase is taken from the type
`dl380g6-scattered`, the second from `dl380g6`.

"""

MISSES = """
## Each miss explained

* **Indy and its energy.** The equations stop when the last disk stops. The run waits at a barrier for the slowest of
  52 nodes, and the paper names 30 to 35 s at the end of phase 1 in which the last bytes of each logical disk are
  written. Figure 9's rates are also those of stages at work, not of whole phases.
* **Daytona** is not in the table. TritonSort's Daytona sort (2.764 MJ a server) samples its input so that any keys
  sort well, and keeps one copy of the output. The model `daytona` is SoCC 2015's replication, another thing.
* **MinuteSort** comes out twice too fast. The equations have {read:.1f} s for reading and shuffling, and {write:.1f}
  s for writing. The paper prints no stage rates for this configuration, so where the other {other:.0f} s go cannot be
  said from it. A minute's job begins with starting processes, opening 66 x 66 connections and touching 20.5 GB of
  memory for the first time; none of these is in the equations. Plan a job of a minute with a profile of the software
  that runs it, not with the papers' equations.
* **Records per joule.** The paper contradicts itself. It prints {paper:,.0f} records/J (standard deviation
  {deviation}). Its own E(N) = N x 2.109 MJ + 8.332 MJ gives {own_mj:.1f} MJ for 52 nodes and so {own:,.0f} records/J.
  {paper:,.0f} records/J would need {needed:.1f} MJ. The difference of {gap:.0%} is {deviations:.1f} standard
  deviations. The planner's figure follows the energies.
"""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One published figure and its prediction."""

    what: str
    published: float
    computed: float
    unit: str
    inputs: str

    def line(self) -> str:
        """Return the row of the table."""
        off = self.computed / self.published - 1
        shown = [f"{value:,.4g} {self.unit}".strip() for value in (self.published, self.computed)]
        return f"| {self.what} | {shown[0]} | {shown[1]} | {off:+.1%} | {self.inputs} |"


def replay(instance: str, *, model: str, data: str, nodes: int) -> Candidate:
    """Plan a run of the testbed by the papers' rules."""
    best = recommend(
        data=data, model=model, catalogs=("tritonsort-2011",), instances=(instance,), nodes=nodes, paper=True
    ).best
    if best is None:
        raise SystemExit(f"{model} on {instance}: nothing feasible")
    return best


def two_phases_s(*, model: str, data: str, nodes: int) -> float:
    """Return the seconds of phase 1 with scattered writes and of phase 2 with sequential ones."""
    scattered = replay(SCATTERED, model=model, data=data, nodes=nodes)
    sequential = replay(SEQUENTIAL, model=model, data=data, nodes=nodes)
    return scattered.phases[0].time_s + sequential.phases[1].time_s


def rows() -> list[Row]:
    """Return the published figures in the order of the paper's sections."""
    indy_s = two_phases_s(model="indy", data="100TB", nodes=52)
    minute = replay(SEQUENTIAL, model="minutesort", data="1353GB", nodes=66)
    server_w = SERVER_J / INDY_S
    predicted_j = indy_s * (52 * server_w + SWITCH_J / INDY_S)
    figure_9 = "Figure 9"
    return [
        Row(what="100 TB Indy, 52 nodes", published=INDY_S, computed=indy_s, unit="s", inputs=figure_9),
        Row(what="its rate", published=0.938, computed=6000 / indy_s, unit="TB/min", inputs=figure_9),
        Row(
            what="MB/s for each node",
            published=1e8 / 52 / INDY_S,
            computed=1e8 / 52 / indy_s,
            unit="MB/s",
            inputs=figure_9,
        ),
        Row(
            what="MinuteSort, 1353 GB, 66 nodes",
            published=59.2,
            computed=minute.time_s.equation,
            unit="s",
            inputs="Figure 9, phase 2; all sixteen disks one way",
        ),
        Row(
            what="JouleSort, 100 TB Indy",
            published=(52 * SERVER_J + SWITCH_J) / 1e6,
            computed=predicted_j / 1e6,
            unit="MJ",
            inputs=f"{server_w:.0f} W a server, {SWITCH_J / INDY_S:,.0f} W the switch: the paper's energies by time",
        ),
        Row(
            what="records for each joule",
            published=PAPER_RECORDS_PER_J,
            computed=RECORDS / predicted_j,
            unit="",
            inputs="the same",
        ),
    ]


def page() -> str:
    """Return the whole page as Markdown."""
    minute = replay(SEQUENTIAL, model="minutesort", data="1353GB", nodes=66)
    own_j = 52 * SERVER_J + SWITCH_J
    misses = MISSES.format(
        read=minute.phases[0].time_s,
        write=minute.phases[1].time_s,
        other=59.2 - minute.time_s.equation,
        paper=PAPER_RECORDS_PER_J,
        own_mj=own_j / 1e6,
        own=RECORDS / own_j,
        needed=RECORDS / PAPER_RECORDS_PER_J / 1e6,
        deviation=PAPER_DEVIATION,
        deviations=(PAPER_RECORDS_PER_J - RECORDS / own_j) / PAPER_DEVIATION,
        gap=PAPER_RECORDS_PER_J / (RECORDS / own_j) - 1,
    )
    table = [
        "| figure | paper | computed | difference | inputs |",
        "|---|--:|--:|--:|---|",
        *(r.line() for r in rows()),
    ]
    return HEAD + "\n".join(table) + "\n" + misses.rstrip() + "\n"
