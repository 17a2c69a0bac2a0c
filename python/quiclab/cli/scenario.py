"""`quiclab scenario`, `quiclab stack` and `quiclab qlog`."""

from __future__ import annotations

import json
import sys
import tomllib
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from quiclab._base.files import GZIP, compress_file, reported
from quiclab._base.native import extension, resolve_file
from quiclab.cli import completion
from quiclab.cli.output import MAX_LISTED, ForceOption, beside, check_new, show_written
from quiclab.cli.values import JsonOption, SetOption, parse_sets
from quiclab.errors import RequestError, unexpected, unknown
from quiclab.report import show
from quiclab.result.formats import counted
from quiclab.result.recordings import RECORDINGS, plain_file
from quiclab.scenario.examples import example, examples
from quiclab.scenario.fields import at
from quiclab.scenario.tree import to_json
from quiclab.stacks.controls import controls_of
from quiclab.stacks.registry import catalogue, unavailable

QLOG_FILE = "a qlog file of a run (.sqlog, .sqlog.gz)"
#: Points of a series, the fewest there are, where a file is read only to say what it is.
MIN_POINTS = 100


def qlog_export_command(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="qlog files (.sqlog, .sqlog.gz) of a run.")],
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Output file; compressed with gzip if its name ends with `.gz`.")
    ],
    as_json: JsonOption = False,
    force: ForceOption = False,
) -> None:
    """Carry out `quiclab qlog export`."""
    check_new(out, force, files)
    for file in files:
        if file.is_dir():
            raise unexpected("", QLOG_FILE, got=_contents(file), where=f"cannot read {file}", kind="WrongType")
    with beside(out.parent) as folder, ExitStack() as unpacked:
        written = folder / out.name.removesuffix(GZIP)
        plain: dict[str, Path] = {}
        for file in files:
            with reported(f"cannot read {file}"):
                plain[str(unpacked.enter_context(plain_file(file)))] = file
        try:
            traces, events, truncated = extension().export_qlog(list(plain), str(written))
        except OSError as error:
            wrong = f"read {plain[error.filename]}" if error.filename in plain else f"write {out}"
            raise RequestError(f"cannot {wrong}: {error.strerror}") from error
        except ValueError as error:
            # a compressed file was read from a plain copy
            name, _, sentence = str(error).partition(": ")
            raise RequestError(f"{plain[name]}: {_why_not(name) or sentence}") from error
        truncated = [str(plain[name]) for name in truncated]
        (compress_file(written) if out.suffix == GZIP else written).replace(out)
    if as_json:
        show_written([out], as_json, traces=traces, events=events, truncated=truncated)
    else:
        print(f"{out}: {counted(traces, 'trace')}, {counted(events, 'event')}")
    for file in truncated:
        print(f"{file} is truncated: its last record was dropped", file=sys.stderr)


def _contents(folder: Path) -> str:
    """Return what a directory is, with the names of its qlog files."""
    try:
        names = sorted(file.name for file in folder.iterdir() if file.name.endswith(RECORDINGS["qlog"]))
    except OSError as error:
        return f"a directory that cannot be read: {error.strerror}"
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return f"a directory with {', '.join(names[:MAX_LISTED]) + more if names else 'no qlog file'}"


def _why_not(plain: str) -> str:
    """Return why a file is not one of qlog of any program; empty if it is."""
    try:
        extension().inspect_qlog(plain, MIN_POINTS)
    except (OSError, ValueError) as error:
        return str(error)
    return ""


def scenario_list(as_json: JsonOption = False) -> None:
    """Carry out `quiclab scenario list`."""
    if as_json:
        found = [{"name": it.name, "description": it.description, "file": str(it.file)} for it in examples().values()]
        print(to_json({"schema": "quiclab.examples/1", "examples": found}))
    else:
        show.examples(examples().values())


def scenario_new(
    name: Annotated[
        str,
        typer.Argument(
            metavar="[NAME]",
            help="Example of `quiclab scenario list`.",
            show_default="a template",
            autocompletion=completion.examples,
        ),
    ] = "",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to write, with the files that an example names beside it.")
    ] = None,
    as_json: JsonOption = False,
    force: ForceOption = False,
) -> None:
    """Carry out `quiclab scenario new`."""
    chosen = example(name) if name else None
    if out is not None:
        check_new(out, force)
        if chosen is None:
            with reported(f"cannot write {out}"):
                out.write_text(extension().template(), encoding="utf-8")
        show_written([out] if chosen is None else chosen.write(out), as_json)
        return
    text = extension().template() if chosen is None else chosen.text
    if as_json:
        print(to_json(tomllib.loads(text)))
    else:
        print(text, end="")
    if chosen is not None and chosen.files:
        print(f"note: it names {', '.join(chosen.files)}; --out FILE writes them, too", file=sys.stderr)


def scenario_show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Scenario file.")],
    sets: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Carry out `quiclab scenario show`."""
    scenario = resolve_file(file, parse_sets(sets))
    for note in extension().unused(scenario):
        print(f"note: {note}", file=sys.stderr)
    if as_json:
        print(to_json(json.loads(scenario)))
    else:
        print(extension().to_toml(scenario), end="")


def scenario_schema(as_json: JsonOption = False) -> None:
    """Carry out `quiclab scenario schema`."""
    del as_json  # it is JSON with and without it
    print(extension().schema())


def scenario_fields(
    path: Annotated[
        str, typer.Argument(metavar="[PATH]", help="Field, such as `links.down1.queue`.", show_default="the whole file")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Carry out `quiclab scenario fields`."""
    found = at(path)
    if as_json:
        print(to_json({"schema": "quiclab.fields/1", "path": path, "tables": [asdict(table) for table in found]}))
    else:
        show.fields(found)


def stack_list(as_json: JsonOption = False) -> None:
    """Carry out `quiclab stack list`."""
    if as_json:
        print(to_json({"schema": "quiclab.stacks/1", "stacks": catalogue()}))
    else:
        show.stacks(catalogue())
        for reason in unavailable().values():
            print(reason)


def stack_show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of a stack.", autocompletion=completion.stacks)],
    as_json: JsonOption = False,
) -> None:
    """Carry out `quiclab stack show`."""
    stacks = {stack["name"]: stack for stack in catalogue()}
    if name not in stacks:
        reason = unavailable().get(name)
        raise RequestError(reason) if reason else unknown("stack", name, stacks, listing="quiclab stack list")
    if as_json:
        print(to_json({"schema": "quiclab.stack/1", **stacks[name], "controls": controls_of(stacks[name])}))
    else:
        show.stack(stacks[name], controls_of(stacks[name]))
