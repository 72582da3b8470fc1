"""The picture architecture.svg: the folders of `planner/` by layer, from the import-linter contract."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import grimp

PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"
WIDTH, ROW, GAP, HEIGHT = 960, 60, 10, 44
STYLE = """
svg { font: 14px system-ui, sans-serif; --paper: #fff; --ink: #1c1e21; --tint: 94%; --edge: 40%; }
@media (prefers-color-scheme: dark) { svg { --paper: #16181c; --ink: #eceef0; --tint: 17%; --edge: 65%; } }
text { fill: var(--ink); text-anchor: middle; } .small { font-size: 11.5px; } .paper { fill: var(--paper); }
.floor { fill: hsl(var(--hue) 45% var(--tint)); }
.box { fill: var(--paper); stroke: hsl(var(--hue) 45% var(--edge)); stroke-width: 1.5; }
"""


def floors() -> list[list[str]]:
    """Return the folders and top modules of each layer, top layer first."""
    contracts = tomllib.loads(PYPROJECT.read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [re.split(r"\s*[|:]\s*", layer) for layer in layers if layer != "__main__"]


def picture() -> str:
    """Return the picture as SVG."""
    graph = grimp.build_graph("planner", cache_dir=None)
    rows = floors()
    height = GAP + ROW * len(rows)
    lines = [line for index, rooms in enumerate(rows) for line in floor(graph, rooms, index=index, count=len(rows))]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">'
    title = "<title>The folders of planner/ on their floors; imports only go down</title>"
    paper = f'<rect class="paper" width="{WIDTH}" height="{height}"/>'
    return "\n".join([head, title, f"<style>{STYLE}</style>", paper, *lines, "</svg>\n"])


def floor(graph: grimp.ImportGraph, rooms: list[str], *, index: int, count: int) -> Iterator[str]:
    """Yield a layer's band and a box for each of its parts: name, modules, and how many parts import it."""
    top, hue = GAP + ROW * index, 210 + 150 * index // count
    yield f'<g style="--hue: {hue}">'
    yield f'<rect class="floor" x="{GAP}" y="{top}" width="{WIDTH - 2 * GAP}" height="{ROW - GAP}" rx="6"/>'
    wide = min(200, (WIDTH - 3 * GAP) // len(rooms) - GAP)
    left = (WIDTH - len(rooms) * (wide + GAP) + GAP) / 2
    for place, room in enumerate(rooms):
        x = left + place * (wide + GAP)
        yield f'<rect class="box" x="{x}" y="{top + 3}" width="{wide}" height="{HEIGHT}" rx="4"/>'
        yield f'<text x="{x + wide / 2}" y="{top + 21}">{label(graph, room)}</text>'
        yield f'<text class="small" x="{x + wide / 2}" y="{top + 38}">{size(graph, room)}</text>'
    yield "</g>"


def label(graph: grimp.ImportGraph, room: str) -> str:
    return f"{room}/" if graph.find_children(f"planner.{room}") else f"{room}.py"


def size(graph: grimp.ImportGraph, room: str) -> str:
    package = f"planner.{room}"
    modules = {package, *graph.find_descendants(package)}
    importers = {importer for module in modules for importer in graph.find_modules_that_directly_import(module)}
    users = {name.split(".")[1] for name in importers - modules if "." in name}
    return f"{len(modules)} modules, used by {len(users)}" if len(modules) > 1 else f"used by {len(users)}"
