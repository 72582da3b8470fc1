"""`planner models`: list of the cost models."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from planner.cli.shell.console import show, show_json, table


def models(*, json: Annotated[bool, Option("--json", help="Print as JSON.")] = False) -> None:
    """List the cost models, what durability each buys and where its equations are from.

    Example: planner models
    """
    from planner.config.paths import model_names
    from planner.cost_model.model_reader import load_model

    shipped = [load_model(name) for name in model_names()]
    if json:
        fields = ("name", "title", "durability", "source")
        show_json({"models": [{field: getattr(model, field) for field in fields} for model in shipped]})
        return
    rows = [(model.name, model.title, model.durability, model.source) for model in shipped]
    show(table(("model", "what it is", "durability", "source"), rows))
