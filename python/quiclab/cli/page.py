"""`quiclab page`: replay of a recorded page load over any network and stacks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quiclab._base.files import write_atomically
from quiclab._base.native import MAX_SEED
from quiclab._base.progress import CountProgress
from quiclab.cli.output import ForceOption, check_new
from quiclab.cli.values import JsonOption, integer, options_for
from quiclab.errors import QuiclabError, not_one_of
from quiclab.report import show
from quiclab.scenario import load
from quiclab.scenario.tree import to_json
from quiclab.sources.page import replay
from quiclab.sources.page.har_reader import read_har
from quiclab.sources.page.html import render
from quiclab.sources.page.rules import told

MAX_RUNS = 1000


def page_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="HAR file of a page load, recorded by a browser.")],
    network: Annotated[Path, typer.Option(metavar="SCENARIO", help="Scenario file: its links, hosts and routes.")],
    stacks: Annotated[
        str, typer.Option(metavar="A,B,...", help="Stacks and profiles, as in `quiclab stack list`.")
    ] = "lab-tcp,lab-quic",
    flow: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Flow whose routes and hosts are used; required if the scenario has several."
        ),
    ] = None,
    tls: Annotated[
        str, typer.Option(metavar="USE", help="TLS: `full` handshakes, `resumed` sessions, 0-RTT `early_data` (QUIC).")
    ] = "full",
    seed: Annotated[
        int, typer.Option(parser=integer(0, MAX_SEED - MAX_RUNS), metavar="N", help="Seed of the first run.")
    ] = 1,
    runs: Annotated[int, typer.Option(parser=integer(1, MAX_RUNS), metavar="N", help="Number of loads per stack.")] = 5,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="HTML file to write (default: page-FILE.html)."),
    ] = None,
    as_json: JsonOption = False,
    force: ForceOption = False,
) -> None:
    """Carry out `quiclab page`."""
    target = out or Path(f"page-{file.stem}.html")
    if out is not None or not as_json:
        check_new(target, force, [file, network])
    uses = [use for use in replay.TLS_USES if use == tls]
    if not uses:
        raise not_one_of("--tls", tls, replay.TLS_USES)
    with options_for("stacks"):
        chosen = replay.stacks_of(stacks)
    page = read_har(file)
    scenario = load(network)
    with options_for("flow"):
        taken = replay.flow_of(scenario, flow)
    name = flow or next(iter(scenario.value("flows")))
    workload = replay.workload(page)
    loads = [replay.scenario_of(scenario, taken, workload, stack, uses[0]).resolved() for stack in chosen]
    results = []
    with CountProgress(f"page {file.name}", len(chosen) * runs) as progress:
        for stack, one in zip(chosen, loads, strict=True):
            results.append(replay.load_page(one, stack, range(seed, seed + runs), progress.advance))
    document = replay.document(page, (scenario.name, name), seed, uses[0], results)
    if out is not None or not as_json:
        write_atomically(target, render(document).encode())
    if as_json:
        print(to_json(document))
    else:
        show.page_loads(document, told(page.entries, page.left_out))
        print(target)
    problems = [item.problem for item in results if item.problem]
    if problems:
        raise QuiclabError("; ".join(problems))
