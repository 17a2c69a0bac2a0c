"""`quiclab path`: networks with names."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from quiclab.cli import completion
from quiclab.cli.figure import FigureOption, check_figure, draw_figure
from quiclab.cli.output import ForceOption
from quiclab.cli.values import JsonOption
from quiclab.report import show
from quiclab.scenario.tree import to_json, toml_value
from quiclab.sources import paths
from quiclab.sources.paths import figure
from quiclab.sources.paths.library import DIRECTIONS


def list_command(as_json: JsonOption = False) -> None:
    """Carry out `quiclab path list`."""
    found = [paths.read(name) for name in paths.names()]
    if as_json:
        listed = [{"name": path.name, "description": path.description} for path in found]
        print(to_json({"schema": "quiclab.paths/1", "paths": listed}))
        return
    rows = ((path.name, path.description) for path in found)
    show.console().print(show.table("", ["path", "description"], rows, left=2))


def show_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of a path.", autocompletion=completion.paths)],
    as_json: JsonOption = False,
    picture: FigureOption = None,
    force: ForceOption = False,
) -> None:
    """Carry out `quiclab path show`."""
    path = paths.read(name)
    if picture is not None:
        check_figure(picture, force)
        draw_figure(picture, figure.specification(path))
    if as_json:
        links = {link: definition.plain for link, definition in path.links.items()}
        document = {"name": path.name, "description": path.description, "sources": path.sources, "links": links}
        print(to_json({"schema": "quiclab.path/1", **document}))
        return
    out = show.console()
    out.print(f"paths/{path.name}", style="bold", soft_wrap=True)
    out.print(path.description, soft_wrap=True)
    rows = (
        (f"{link}.{field}", _shortened(value), source)
        for link in DIRECTIONS
        for field, value in path.links[link].plain.items()
        if (source := path.source(link, field)) is not None
    )
    out.print(show.table("", ["field", "value", "source"], rows, left=3))


def _shortened(value: Any) -> str:
    """Return a value as TOML; of many rows their number."""
    if isinstance(value, dict) and len(value.get("rows") or []) > 4:
        value = {**value, "rows": f"{len(value['rows'])} rows"}
    return str(toml_value(value))
