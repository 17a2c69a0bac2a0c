"""`quiclab kernel`: builds the virtual-clock kernel and reports the features of this machine."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from typing import Annotated

import typer

from quiclab._base.progress import StepProgress
from quiclab.cli.output import show_written
from quiclab.cli.values import JsonOption, integer
from quiclab.errors import QuiclabError
from quiclab.lane import doctor
from quiclab.lane.kernel.build import NEEDED_BYTES, Plan, build, check_space, check_tools
from quiclab.lane.kernel.cache import cache_directory
from quiclab.lane.kernel.source import SUITES, Apt, find_source
from quiclab.report import show
from quiclab.scenario.tree import to_json

MAX_JOBS = 256


def build_command(
    source: Annotated[
        str,
        typer.Option(
            metavar="NAME|PATH",
            help="newest, a package such as linux-source-6.12, a .deb, a tarball, or a directory with the source.",
        ),
    ] = "newest",
    jobs: Annotated[
        int | None,
        typer.Option(parser=integer(1, MAX_JOBS), metavar="N", help="Parallel compile jobs (default: one per CPU)."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing build: rebuild from scratch.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Carry out `quiclab kernel build`."""
    cache = cache_directory()
    check_tools()
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise QuiclabError(f"cannot write to {cache}: {error.strerror}") from error
    say(f"disk space: {NEEDED_BYTES / 1e9:.1f} GB in {cache} while building, 30 MB afterwards")
    say(f"searching for a source: {source}")
    found, archive = find_source(source, [Apt(suite, cache / "apt") for suite in (None, *SUITES)], say)
    say(f"source: {found}")
    plan = Plan(found, archive, cache, jobs or len(os.sched_getaffinity(0)))
    if not plan.work.exists() and not plan.target.exists():
        check_space(cache)
    with StepProgress() as progress:
        kernel = build(plan, progress, force)
    show_written([kernel.path], as_json)


def doctor_command(
    as_json: JsonOption = False,
    boot: Annotated[bool, typer.Option("--boot", help="Also start the virtual-clock kernel.")] = False,
) -> None:
    """Carry out `quiclab kernel doctor`."""
    findings = doctor.examine(boot=boot)
    if as_json:
        print(to_json({"schema": doctor.SCHEMA, "checks": [asdict(finding) for finding in findings]}))
        return
    rows = (("yes" if finding.ok else "no", finding.title, finding.found, finding.advice) for finding in findings)
    show.console().print(show.table("", ["", "what", "found", "what to do"], rows, left=4))


def say(text: str) -> None:
    """Write a line to stderr."""
    print(text, file=sys.stderr, flush=True)
