"""Draw docs/architecture.svg: the folders of `planner/` and the arrows of their imports.

Usage: python scripts/draw_architecture.py [--check]; with --check the picture is compared instead of written.

The layout is Sugiyama's. Rows follow levels. An arrow has a way point in each row that it crosses. The mean position of
the neighbours orders a row. Least squares with a minimal distance give the positions.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from html import escape
from itertools import pairwise

from package_imports import CHECKOUT, FLOORS, room_arrows

PICTURE = CHECKOUT / "docs" / "architecture.svg"
WIDTH, BAND_LEFT, BOX_WIDTH, BOX_HEIGHT, ROW_HEIGHT = 960, 96, 128, 32, 66
GAP, WAY_POINT_WIDTH, BAND_PADDING, CAPTION_HEIGHT = 14, 10, 16, 64
SWEEPS = 60
THICKNESS = ((15, 4.5), (5, 2.75), (1, 1.25))
"""Fewest imports of an arrow, and its width in pixels."""
HUES = {"interface": 210, "effects": 150, "planning": 45, "data": 275, "base": 0}

Node = tuple[str, str, int]
"""A box (room, "", row), or the way point of an arrow in a row (start, end, row)."""

STYLE = """
svg { font: 14px system-ui, sans-serif; --paper: #fff; --ink: #1c1e21; --line: #5b6470; --tint: 94%; --edge: 40%; }
@media (prefers-color-scheme: dark) {
  svg { --paper: #16181c; --ink: #eceef0; --line: #a3abb5; --tint: 17%; --edge: 65%; }
}
.paper { fill: var(--paper); } text { fill: var(--ink); text-anchor: middle; } .left { text-anchor: start; }
.small { font-size: 12.5px; } .box { fill: var(--paper); stroke: hsl(var(--hue) 45% var(--edge)); stroke-width: 1.5; }
.band { fill: hsl(var(--hue) 45% var(--tint)); }
.arrow { fill: none; stroke: var(--line); } .head { fill: var(--line); }
"""


def drawn_arrows() -> dict[tuple[str, str], int]:
    """Return the imports that are drawn: none to the base, none that others already lead to, none for types alone."""
    arrows = {pair: count for pair, count in room_arrows(for_types=False).items() if pair[1] not in FLOORS["base"]}
    below: dict[str, set[str]] = {}
    for start, end in arrows:
        below.setdefault(start, set()).add(end)
    try:
        TopologicalSorter(below).prepare()
    except CycleError as error:
        raise SystemExit(
            f"these folders import each other, so none stands above: {' -> '.join(error.args[1])}"
        ) from None

    def leads_to(start: str, end: str) -> bool:
        return any(room == end or leads_to(room, end) for room in below.get(start, ()))

    return {
        (start, end): count
        for (start, end), count in arrows.items()
        if not any(leads_to(room, end) for room in below[start] - {end})
    }


def rows_of_rooms(arrows: dict[tuple[str, str], int]) -> dict[str, int]:
    """Return each room's row, 0 at the top; within a floor a room stands above those that it imports."""
    row_of: dict[str, int] = {}
    top = 0
    for rooms in FLOORS.values():
        present = [room for room in rooms if (CHECKOUT / "planner" / room).is_dir() or is_module(room)]
        depth: dict[str, int] = {}
        while len(depth) < len(present):
            for room in present:
                importers = [start for start, end in arrows if end == room and start in present]
                if all(start in depth for start in importers):
                    depth[room] = 1 + max((depth[start] for start in importers), default=-1)
        row_of |= {room: top + depth[room] for room in present}
        top = 1 + max(row_of.values())
    return row_of


def is_module(room: str) -> bool:
    return (CHECKOUT / "planner" / f"{room}.py").is_file()


class Layout:
    """Boxes and way points in rows, their order in each row and their horizontal positions."""

    def __init__(self, row_of: dict[str, int], arrows: dict[tuple[str, str], int]) -> None:
        self.trails = {
            (start, end): [
                (start, "", row_of[start]),
                *((start, end, row) for row in range(row_of[start] + 1, row_of[end])),
                (end, "", row_of[end]),
            ]
            for start, end in sorted(arrows)
        }
        boxes: list[Node] = [(room, "", row) for room, row in row_of.items()]
        points = [node for trail in self.trails.values() for node in trail[1:-1]]
        self.rows: list[list[Node]] = [[] for _ in range(1 + max(row_of.values()))]
        for node in sorted([*boxes, *points]):
            self.rows[node[2]].append(node)
        self.neighbours: dict[Node, list[Node]] = {node: [] for row in self.rows for node in row}
        for trail in self.trails.values():
            for upper, lower in pairwise(trail):
                self.neighbours[upper].append(lower)
                self.neighbours[lower].append(upper)
        self.x: dict[Node, float] = {}
        self._order()
        for _ in range(SWEEPS):
            for row in [*self.rows, *reversed(self.rows)]:
                self._place(row)

    def _order(self) -> None:
        best, fewest = [list(row) for row in self.rows], self._crossings()
        for sweep in range(SWEEPS):
            downwards = sweep % 2 == 0
            for row in self.rows if downwards else reversed(self.rows):
                self._sort(row, towards=-1 if downwards else 1)
            if self._crossings() < fewest:
                best, fewest = [list(row) for row in self.rows], self._crossings()
        self.rows = best
        self._spread()

    def _spread(self) -> None:
        for row in self.rows:
            for index, node in enumerate(row):
                self.x[node] = BAND_LEFT + (WIDTH - BAND_LEFT) * (index + 0.5) / len(row)

    def _sort(self, row: list[Node], *, towards: int) -> None:
        self._spread()

        def mean(node: Node) -> float:
            beside = [self.x[other] for other in self.neighbours[node] if other[2] == node[2] + towards]
            return sum(beside) / len(beside) if beside else self.x[node]

        row.sort(key=lambda node: (mean(node), node))

    def _crossings(self) -> int:
        place = {node: index for row in self.rows for index, node in enumerate(row)}
        count = 0
        for row in self.rows:
            lines = [
                (place[node], place[other]) for node in row for other in self.neighbours[node] if other[2] > node[2]
            ]
            count += sum((a[0] - b[0]) * (a[1] - b[1]) < 0 for i, a in enumerate(lines) for b in lines[:i])
        return count

    def _place(self, row: list[Node]) -> None:
        """Move the nodes of a row near their neighbours' mean, in their order, boxes and way points apart."""
        offsets = [0.0]
        for left, right in pairwise(row):
            offsets.append(offsets[-1] + (width(left) + width(right)) / 2 + GAP)
        targets = []
        for node, offset in zip(row, offsets, strict=True):
            beside = [self.x[other] for other in self.neighbours[node]]
            targets.append((sum(beside) / len(beside) if beside else self.x[node]) - offset)
        lowest = BAND_LEFT + GAP + width(row[0]) / 2
        highest = WIDTH - GAP - width(row[-1]) / 2 - offsets[-1]
        for node, offset, start in zip(row, offsets, non_decreasing(targets), strict=True):
            self.x[node] = min(max(start, lowest), highest) + offset


def width(node: Node) -> int:
    return WAY_POINT_WIDTH if node[1] else BOX_WIDTH


def non_decreasing(values: list[float]) -> list[float]:
    """Return the non-decreasing values nearest to the given ones by least squares (pool adjacent violators)."""
    pools: list[list[float]] = []
    for value in values:
        pools.append([value])
        while len(pools) > 1 and mean_of(pools[-2]) > mean_of(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    return [mean_of(pool) for pool in pools for _ in pool]


def mean_of(values: list[float]) -> float:
    return sum(values) / len(values)


def top_of(row: int, floor_of_row: list[int]) -> float:
    """Return the upper edge of the boxes of a row."""
    return CAPTION_HEIGHT + row * ROW_HEIGHT + BAND_PADDING * (1 + 2 * floor_of_row[row])


def picture() -> str:
    """Return the picture as SVG."""
    arrows = drawn_arrows()
    row_of = rows_of_rooms(arrows)
    floor_of_row = [0] * (1 + max(row_of.values()))
    for floor, rooms in enumerate(FLOORS.values()):
        for room in rooms:
            if room in row_of:
                floor_of_row[row_of[room]] = floor
    layout = Layout(row_of, arrows)
    height = top_of(len(floor_of_row) - 1, floor_of_row) + BOX_HEIGHT + BAND_PADDING + GAP
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img">',
        "<title>The folders of planner/ on their five floors, with the arrows of their imports</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{height:.0f}"/>',
        f'<text class="left" x="{GAP}" y="24">An arrow leads from a folder or module to one that it imports; '
        "the more imports, the thicker.</text>",
        f'<text class="left small" x="{GAP}" y="46">Left out: arrows to the base, which all use, and arrows to what '
        "other arrows already lead to.</text>",
        *bands(floor_of_row),
        *(line for pair, count in sorted(arrows.items()) for line in arrow(pair, count, layout, floor_of_row)),
        *(box(room, layout.x[room, "", row], top_of(row, floor_of_row)) for room, row in sorted(row_of.items())),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def bands(floor_of_row: list[int]) -> Iterator[str]:
    for floor, name in enumerate(FLOORS):
        rows = [row for row, of in enumerate(floor_of_row) if of == floor]
        top = top_of(rows[0], floor_of_row) - BAND_PADDING
        bottom = top_of(rows[-1], floor_of_row) + BOX_HEIGHT + BAND_PADDING
        yield (
            f'<rect class="band" style="--hue: {HUES[name]}" x="{GAP / 2}" y="{top}" width="{WIDTH - GAP}" '
            f'height="{bottom - top}" rx="6"/>'
        )
        yield f'<text class="left" x="{2 * GAP}" y="{(top + bottom) / 2 + 5}">{name}</text>'


def arrow(pair: tuple[str, str], count: int, layout: Layout, floor_of_row: list[int]) -> Iterator[str]:
    """Yield the line of an arrow and its head."""
    trail = layout.trails[pair]
    starts = sorted(
        (other for other in layout.trails if other[0] == pair[0]), key=lambda o: layout.x[layout.trails[o][1]]
    )
    ends = sorted(
        (other for other in layout.trails if other[1] == pair[1]), key=lambda o: layout.x[layout.trails[o][-2]]
    )
    points = [(layout.x[node], top_of(node[2], floor_of_row)) for node in trail]
    x, y = port(points[0][0], starts.index(pair), len(starts)), points[0][1] + BOX_HEIGHT
    path = [f"M{x:.0f} {y:.0f}"]
    last = port(points[-1][0], ends.index(pair), len(ends))
    for through, top in [*points[1:-1], (last, points[-1][1] - 7)]:
        middle = (y + top) / 2
        path.append(f"C{x:.0f} {middle:.0f} {through:.0f} {middle:.0f} {through:.0f} {top:.0f}")
        x, y = through, top
        if (through, top) in points:
            y = top + BOX_HEIGHT
            path.append(f"V{y:.0f}")
    thick = next(pixels for fewest, pixels in THICKNESS if count >= fewest)
    yield f'<path class="arrow" stroke-width="{thick}" d="{"".join(path)}"/>'
    yield f'<path class="head" d="M{last:.0f} {points[-1][1]:.0f}l-5 -9h10z"/>'


def port(middle: float, index: int, count: int) -> float:
    """Return where on a box's edge the arrow of an index begins or ends."""
    return middle + (index - (count - 1) / 2) * min(22, (BOX_WIDTH - 2 * GAP) / count)


def box(room: str, middle: float, top: float) -> str:
    name = f"{room}.py" if is_module(room) else f"{room}/"
    hue = next(HUES[floor] for floor, rooms in FLOORS.items() if room in rooms)
    return (
        f'<rect class="box" style="--hue: {hue}" x="{middle - BOX_WIDTH / 2:.0f}" y="{top:.0f}" width="{BOX_WIDTH}" '
        f'height="{BOX_HEIGHT}" rx="4"/>'
        f'<text x="{middle:.0f}" y="{top + BOX_HEIGHT / 2 + 5:.0f}">{escape(name)}</text>'
    )


def main() -> None:
    """Write the picture, or compare it."""
    wanted = picture()
    if "--check" in sys.argv[1:]:
        if not PICTURE.exists() or PICTURE.read_text("utf-8") != wanted:
            raise SystemExit(f"{PICTURE} is not current: run python scripts/draw_architecture.py")
        return
    PICTURE.write_text(wanted, "utf-8")


if __name__ == "__main__":
    main()
