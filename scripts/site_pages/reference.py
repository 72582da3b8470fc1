"""The reference pages: commands.md, python.md, and most of data-sources.md."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import typer.main

import planner
from planner.catalog import catalog_names, load_catalog
from planner.catalog.manifest import Billing, Boot, Manifest, Placement, Spot
from planner.catalog.schema import ALL
from planner.catalog.tables import Column, Schema
from planner.cli.app import build
from planner.report import plots
from planner.report.answer import Answer
from planner.schemas.plan import Candidate, Plan, Rejection, Request
from planner.schemas.run_report import RunReport

EVERYWHERE = ("evidence", "source", "as_of", "note")
"""Columns that every file has."""
NOTE = "Made from the code when the site is built.\n"


def commands_page() -> str:
    """Return every command: its description, examples, arguments and options."""
    root = typer.main.get_command(build())
    return "\n".join(["# Commands\n", NOTE, *(line for path, leaf in leaves(root) for line in command(path, leaf))])


def leaves(group: Any, path: str = "planner") -> Iterator[tuple[str, Any]]:
    for name, member in group.commands.items():
        if hasattr(member, "commands"):
            yield from leaves(member, f"{path} {name}")
        else:
            yield f"{path} {name}", member


def command(path: str, of: Any) -> Iterator[str]:
    paragraphs = [text for text in (of.help or "").split("\n\n") if not text.startswith("Example: ")]
    yield f"## {path}\n"
    yield "\n\n".join(" ".join(text.split()) for text in paragraphs) + "\n"
    yield from (f"    {example}" for example in of.examples)
    yield "\n| | |\n|---|---|"
    for parameter in of.params:
        yield f"| {spelt(parameter)} | {cell(getattr(parameter, 'help', '') or '')}{default(parameter)} |"
    yield ""


def spelt(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.name.upper()}`" + ("" if parameter.required else ", optional")
    return f"`{parameter.opts[0]}`" + (", required" if parameter.required else "")


def default(parameter: Any) -> str:
    shown = getattr(parameter, "show_default", True)
    if isinstance(shown, str):
        return f" Otherwise {cell(shown)}."
    plain = parameter.default
    return f" Default: {plain}." if isinstance(plain, str | int | float) and not isinstance(plain, bool) else ""


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def interface_page() -> str:
    """Return the Python interface: signatures and docstrings of everything that users call or receive."""
    parts = ["# Python interface\n", NOTE]
    parts += [
        "## planner\n",
        *entry("planner.recommend", planner.recommend),
        *entry("planner.generate", planner.generate),
        *entry("planner.sort", planner.sort),
        *entry("planner.abandon_sort", planner.abandon_sort),
        *entry("planner.find_disorder", planner.find_disorder),
        *entry("planner.validate", planner.validate),
        *entry("planner.validate_rows", planner.validate_rows),
        *entry("planner.validate_on_ray", planner.validate_on_ray),
        *entry("planner.measure", planner.measure),
        *entry("planner.up", planner.up),
        *entry("planner.down", planner.down),
        *entry("planner.calibrate", planner.calibrate),
    ]
    for documented in (planner.Recommendation, Answer, Request, Plan, Candidate, Rejection, RunReport):
        parts += [f"## {documented.__module__}.{documented.__name__}\n", doc(documented), *members(documented)]
    parts += ["## planner.report.plots\n", doc(plots)]
    parts += [line for name in plots.__all__ for line in entry(f"plots.{name}", getattr(plots, name))]
    return "\n".join(parts)


def members(owner: type) -> Iterator[str]:
    lines = [f"* `{name}: {hint}`{meaning(owner, name)}" for name, hint in inspect.get_annotations(owner).items()]
    yield "\n".join(lines) + "\n"
    for name, member in vars(owner).items():
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            yield f"### {owner.__name__}.{name}\n\n{doc(member)}"
        elif inspect.isfunction(member) or isinstance(member, classmethod):
            yield from entry(f"{owner.__name__}.{name}", getattr(owner, name))


def meaning(owner: Any, name: str) -> str:
    """Return a field's description, if it has one."""
    text = owner.__dataclass_fields__[name].metadata.get("meaning", "")
    return f": {text}" if text else ""


def entry(name: str, of: Callable[..., Any]) -> Iterator[str]:
    yield f"### {name}\n"
    yield f"```text\n{name.rpartition('.')[2]}({', '.join(parameters(of))})\n```\n"
    yield doc(of)


def parameters(of: Callable[..., Any]) -> Iterator[str]:
    for name, parameter in inspect.signature(of).parameters.items():
        if name != "self":
            plain = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
            yield f"{name}: {parameter.annotation}{plain}"


def doc(of: Any) -> str:
    """Return a docstring, its examples as code."""
    parts = (inspect.getdoc(of) or "").split("\n\n")
    return "\n\n".join(f"```python\n{part}\n```" if part.startswith(">>> ") else part for part in parts) + "\n"


def sources_page() -> str:
    """Return every source of every catalog with its licence."""
    lines = [
        "# Sources of the data, and their licences\n",
        NOTE,
        "Every row of a catalog names its source. The figures are facts, and restated here.",
        "The table has each source's licence.\n",
    ]
    for name in catalog_names():
        catalog = load_catalog(name)
        lines += [f"## {name}: {catalog.title}\n", "| source | what | licence |", "|---|---|---|"]
        for key, source in catalog.sources.items():
            url = getattr(source, "url", "") or ""
            title = f"[{cell(source.title)}]({url})" if url else cell(source.title)
            lines.append(f"| `{key}` | {title} | {cell(source.licence)} |")
        lines.append("")
    return "\n".join(lines)


def files_page() -> str:
    """Return every file of a catalog with its columns, as the loader reads them."""
    files = (line for schema in ALL for line in file_of(schema))
    return "\n".join(["# Files of a catalog\n", *head_of_catalog(), *files])


def head_of_catalog() -> Iterator[str]:
    """Yield the keys of catalog.toml, as its reader declares them."""
    yield "## catalog.toml\n\n| table | keys | meaning |\n|---|---|---|"
    for owner in (Manifest, Billing, Boot, Placement, Spot):
        table = "top" if owner is Manifest else f"`[{owner.__name__.lower()}]`, optional"
        keys = (f"`{name}`: {key_type(hint)}" for name, hint in inspect.get_annotations(owner).items())
        yield f"| {table} | {', '.join(keys)} | {cell(inspect.getdoc(owner) or '')} |"
    yield ""


def key_type(hint: str) -> str:
    """Return the plain type of an annotation, without its bounds."""
    return cell(re.sub(r"^Annotated\[(\w+),.*", r"\1", hint))


def file_of(schema: Schema) -> Iterator[str]:
    yield f"## {schema.name}.csv\n"
    yield f"{schema.meaning[0].upper()}{schema.meaning[1:]}. One row per {', '.join(schema.key)}.\n"
    yield "| column | cell | meaning |\n|---|---|---|"
    yield from (column_row(column) for column in schema.columns if column.name not in EVERYWHERE)
    yield ""


def column_row(column: Column) -> str:
    """Return a column's row; a blank cell is allowed only where stated."""
    blank, unit = "" if column.required else ", or blank", f" ({column.unit})" if column.unit else ""
    return f"| `{column.name}` | {column.expected}{blank} | {column.meaning}{unit} |"
