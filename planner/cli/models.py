"""`planner models`: the cost models there are."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from planner.cli.console import show, show_json


def models(*, json: Annotated[bool, Option("--json", help="Print as JSON.")] = False) -> None:
    """List the cost models, what durability each buys and where its equations are from.

    Example: planner models
    """
    from planner.config.model_files import model_names
    from planner.cost_model.model_reader import load_model

    shipped = [load_model(name) for name in model_names()]
    if json:
        show_json([{"name": m.name, "title": m.title, "durability": m.durability, "source": m.source} for m in shipped])
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in ("model", "what it is", "durability", "source"):
        table.add_column(column)
    for model in shipped:
        table.add_row(model.name, model.title, model.durability, model.source)
    show(table)
