"""Charts of measured nodes: how they differ, and how they change between runs."""

from __future__ import annotations

from typing import Any

import pandas as pd

from planner.report.plots.theme import BLUE, VERMILLION, altair, dressed

_KEPT, _DROPPED = "kept", "dropped"


def across_nodes(frame: pd.DataFrame, *, metric: str, limit: float) -> Any:
    """Chart every run of every node for one metric, the nodes ordered by their median; the line is the limit.

    `frame` has the columns `node`, `run`, `value` and `dropped`.
    """
    alt = altair()
    order = frame.groupby("node").value.median().sort_values().index.tolist()
    dots = (
        alt.Chart(_with_words(frame))
        .mark_point(filled=True, size=45, opacity=0.8)
        .encode(
            alt.X("node:N", title="node, by its median", sort=order, axis=alt.Axis(labelOverlap=True)),
            alt.Y("value:Q", title=metric, scale=alt.Scale(type="log", nice=False, padding=8)),
            color=_colour(alt),
            shape=alt.Shape(
                "verdict:N", title=None, scale=alt.Scale(domain=[_KEPT, _DROPPED], range=["circle", "cross"])
            ),
            tooltip=["node:N", "run:O", alt.Tooltip("value:Q", format=".4~g"), "verdict:N"],
        )
    )
    line = (
        alt.Chart(pd.DataFrame({"value": [limit]})).mark_rule(color=VERMILLION, strokeDash=[4, 3]).encode(y="value:Q")
    )
    return dressed(alt.layer(dots, line) if limit > 0 else dots, title=f"{metric}: across instances", height=280)


def over_time(frame: pd.DataFrame, *, metric: str) -> Any:
    """Chart every node's runs in order, a line for each node; the columns are those of `across_nodes`."""
    alt = altair()
    chart = (
        alt.Chart(_with_words(frame))
        .mark_line(point=True, opacity=0.7)
        .encode(
            alt.X("run:O", title="run"),
            alt.Y("value:Q", title=metric, scale=alt.Scale(type="log", nice=False, padding=8)),
            detail="node:N",
            color=_colour(alt),
            tooltip=["node:N", "run:O", alt.Tooltip("value:Q", format=".4~g")],
        )
    )
    return dressed(chart, title=f"{metric}: over time", height=280)


def _with_words(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(verdict=[_DROPPED if dropped else _KEPT for dropped in frame.dropped])


def _colour(alt: Any) -> Any:
    return alt.Color("verdict:N", title=None, scale=alt.Scale(domain=[_KEPT, _DROPPED], range=[BLUE, VERMILLION]))
