"""Renders one self-contained page: a template, its style and script, and the charting library, all inline."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from importlib.metadata import version
from typing import Any

from planner.extras import optional
from planner.report.plots import theme

_FOLDER = "planner.report.page"


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A chart with equivalent text for readers who cannot see it."""

    name: str
    title: str
    text: str
    chart: Any

    @property
    def specification(self) -> dict[str, Any]:
        """The chart's Vega-Lite, as wide as the page allows; the page sets colours and title."""
        specification: dict[str, Any] = self.chart.to_dict(validate=False)
        specification.pop("config", None)
        specification.pop("title", None)
        return specification | {"width": "container", "description": f"{self.title}. {self.text}"}


KeyFigure = tuple[str, str, str]
"""One of a page's first figures: its name, the figure, and a note on it."""


def script_json(values: Any) -> str:
    """Return values as JSON that cannot end the script element it is in."""
    return json.dumps(values, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def render(template: str, *, figures: list[Figure], **values: Any) -> str:
    """Return the page made from `template`. Raises PlannerError if the charting packages are not installed."""
    import jinja2

    loader = jinja2.PackageLoader(_FOLDER, "")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    embedded = {
        "figures": {figure.name: figure.specification for figure in figures},
        "config": {"light": theme.config() | {"background": "transparent"}, "dark": theme.config(dark=True)},
    }
    text: str = environment.get_template(template).render(
        figures={figure.name: figure for figure in figures},
        style=inline("page.css"),
        script=inline("page.js"),
        library=_library() if figures else "",
        embedded=script_json(embedded),
        version=version("sortplanner"),
        **values,
    )
    return text


@lru_cache(maxsize=1)
def _library() -> str:
    """Return Vega, Vega-Lite and their embedding as one script (0.9 MB), from the package that carries them. The script
    cannot end the element it is in, or hide the element's end.
    """
    bundler = optional("vl_convert", extra="plots", purpose="the HTML report")
    vega_lite = ".".join(theme.altair().SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    script = bundler.javascript_bundle(vl_version=vega_lite)
    return re.sub(r"<(?=/script|script|!--)", r"\\x3C", script, flags=re.IGNORECASE)


def inline(name: str) -> str:
    """Return the text of a file of this folder."""
    return resources.files(_FOLDER).joinpath(name).read_text(encoding="utf-8")
