"""`quiclab browse`: the page of a scenario, loaded by a real browser over HTTP/2 and HTTP/3."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from quiclab._base.native import MAX_SEED
from quiclab._base.progress import RunProgress
from quiclab.cli.lane import ClockOption, EmulationOption, load_either
from quiclab.cli.output import ForceOption, claim_directory
from quiclab.cli.values import JsonOption, SetOption, integer, options_for, parse_sets
from quiclab.errors import QuiclabError
from quiclab.lane.browser.compare import compared
from quiclab.lane.browser.load import LOAD_LISTS
from quiclab.lane.browser.runner import MAX_LOADS, PageLoads, check_request, load_pages, write_hars
from quiclab.report import show
from quiclab.result.tables import text
from quiclab.scenario.tree import to_json
from quiclab.sources.page.har_reader import read_har
from quiclab.sources.page.replay import browsed
from quiclab.sources.page.rules import told

SCHEMA = "quiclab.browse/1"


def browse_command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Scenario file with a page, or with --network a HAR file.")
    ],
    network: Annotated[
        Path | None,
        typer.Option(metavar="SCENARIO", help="Scenario file for the page of a HAR file: its links and routes."),
    ] = None,
    loads: Annotated[
        int, typer.Option(parser=integer(1, MAX_LOADS), metavar="N", help="Number of measured loads per protocol.")
    ] = 20,
    protocols: Annotated[
        str, typer.Option("--protocols", metavar="h2,h3", help="Protocols, in the order to load them.")
    ] = "h2,h3",
    sets: SetOption = None,
    flow: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Flow whose page to load (default: first), or whose routes a HAR file takes."
        ),
    ] = None,
    pause: Annotated[float, typer.Option(metavar="S", min=0.0, max=3600.0, help="Pause after each load [s].")] = 0.5,
    clock: ClockOption = None,
    emulation: EmulationOption = None,
    seed: Annotated[
        int, typer.Option(parser=integer(0, MAX_SEED), metavar="N", help="Seed of the network's random streams.")
    ] = 1,
    har: Annotated[
        Path | None, typer.Option("--har", metavar="DIR", help="Directory for h2.har and h3.har, with all loads.")
    ] = None,
    as_json: JsonOption = False,
    force: ForceOption = False,
) -> None:
    """Carry out `quiclab browse`."""
    names = [name.strip() for name in protocols.split(",")]
    clock, emulation = clock or "real", emulation or "engine"
    with options_for("loads", "protocols", "clock", "emulation"):
        check_request(loads, names, clock, emulation)
    scenario_file = network or file
    scenario = load_either(scenario_file, parse_sets(sets))
    left_out = None
    if network is not None:
        recorded = read_har(file)
        with options_for("flow"):
            scenario, flow = browsed(scenario, flow, recorded), None
        left_out = told(recorded.entries, recorded.left_out)
    if har is not None:
        claim_directory(har, [f"{protocol}.har" for protocol in names], force, "--har", [file, scenario_file])
    with options_for("flow"), RunProgress(scenario.name) as progress:
        found = load_pages(
            scenario,
            loads,
            protocols=names,
            seed=seed,
            flow=flow,
            pause_s=pause,
            clock=clock,
            emulation=emulation,
            base_dir=os.path.abspath(scenario_file.parent),  # noqa: PTH100 (`..` stays as it is behind a link)
            progress=progress,
        )
    if har is not None:
        write_hars(found, har)
    document = to_document(found)
    if as_json:
        print(to_json(document))
    else:
        _show(document)
        if left_out:
            print(left_out)
    if problem := found.result.invalid_reason:
        raise QuiclabError(problem)


def to_document(found: PageLoads) -> dict[str, Any]:
    """Return loads and their statistics, as `--json` prints them."""
    return {
        "schema": SCHEMA,
        "clients": found.clients,
        "versions": found.result.data["versions"],
        "protocols": {protocol: summary.to_dict() for protocol, summary in compared(found).protocols.items()},
        "difference": compared(found).difference,
        "lateness": found.result.data["run"]["kernel"]["lateness"],
        "kept_up": found.result.data["run"]["kernel"]["kept_up"],
        "lengthened": found.lengthened,
        **{key: [asdict(entry) for entry in getattr(found, name)] for key, name in LOAD_LISTS.items()},
    }


def _show(document: dict[str, Any]) -> None:
    columns = ["protocol", "loads", "page load [ms]", "sd", "95 % interval", "first byte [ms]", "0-RTT sent", "taken"]
    shown = show.table(f"Pages by {', '.join(sorted(set(document['clients'].values())))}", columns, left=1)
    for protocol, entry in document["protocols"].items():
        low, high = _number(entry["page_load_low_ms"]), _number(entry["page_load_high_ms"])
        shown.add_row(
            protocol,
            str(entry["loads"]),
            text(entry["page_load_ms"]),
            _number(entry["page_load_sd_ms"]),
            f"{low} to {high}",
            text(entry["first_byte_ms"]),
            _of(entry["early_data_sent"]),
            _of(entry["early_data_accepted"]),
        )
    show.console().print(shown)
    difference = document["difference"]
    if difference is not None:
        verdict = "significant" if difference["significant"] else "not significant"
        told = "too few loads for a test" if difference["p"] is None else f"p = {difference['p']:.2g}: {verdict}"
        print(f"HTTP/3 compared with HTTP/2: {difference['percent']:+.1f} % (positive: HTTP/3 is faster), {told}")
    if document["lengthened"]:
        print(f"{document['lengthened']} objects are longer than recorded: images and the HTML have a least length")
    if document["left_out"]:
        print(f"{len(document['left_out'])} loads had no ticket for 0-RTT: they were excluded and repeated")


def _of(number: int | None) -> str:
    return "–" if number is None else str(number)


def _number(value: float | None) -> str:
    return "–" if value is None else text(value)
