"""`quiclab pacing`: pacing and acknowledgements of captures from any source."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quiclab._base.files import write_atomically
from quiclab._base.progress import BeatingProgress, ReadingProgress
from quiclab.analysis import pacing
from quiclab.analysis.pacing import table
from quiclab.analysis.pacing.html import PARTS, render
from quiclab.cli.output import ForceOption, check_new
from quiclab.cli.values import JsonOption, bits_per_second, bytes_of, integer, nanoseconds
from quiclab.errors import QuiclabError, unexpected
from quiclab.scenario.tree import to_json

MAX_FLOWS = 1000
NS_PER_S, NS_PER_MS = 10**9, 10**6


def analyse_command(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help="Captures (pcapng, pcap), qlog files, or directories of `run --out` with either."
        ),
    ],
    keys: Annotated[
        list[Path] | None,
        typer.Option("--keys", metavar="FILE", help="Key log (SSLKEYLOGFILE) for QUIC; can be repeated."),
    ] = None,
    bottleneck: Annotated[
        str | None, typer.Option(metavar="RATE", help="Rate of the bottleneck, for expected intervals.")
    ] = None,
    link: Annotated[
        str | None, typer.Option(metavar="RATE", help="Rate of the captured link, for its utilisation.")
    ] = None,
    gain: Annotated[
        list[str] | None,
        typer.Option(metavar="N", help="Pacing gain of an expected interval (default: 1); `bbr`: 1.25, 1 and 0.75."),
    ] = None,
    skip: Annotated[str, typer.Option(metavar="TIME", help="Skip this much at the start of each flow.")] = "0 s",
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Ignore packets of each flow after this time.")
    ] = None,
    burst_gap: Annotated[str, typer.Option(metavar="TIME", help="Maximum gap between packets of a burst.")] = "100 us",
    window: Annotated[
        str, typer.Option(metavar="TIME", help="Half the width of a window around an expected interval.")
    ] = "100 us",
    clocked: Annotated[
        str, typer.Option(metavar="TIME", help="Maximum delay after an ACK of a burst that it clocks.")
    ] = "100 us",
    rate_step: Annotated[str, typer.Option(metavar="TIME", help="Step of the rate over time.")] = "100 ms",
    frame_limit: Annotated[
        str,
        typer.Option(
            metavar="SIZE", help="Maximum frame of one packet: of IP, and 18 B. Longer ones were merged by an offload."
        ),
    ] = "1518 B",
    flows: Annotated[
        int,
        typer.Option(parser=integer(1, MAX_FLOWS), metavar="N", help="Number of flows per file, in order of bytes."),
    ] = pacing.FLOWS,
    as_json: JsonOption = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Also write an HTML report that works offline.")
    ] = None,
    force: ForceOption = False,
) -> None:
    """Carry out `quiclab pacing analyse`."""
    settings = pacing.Settings(
        bottleneck_mbps=None if bottleneck is None else _mbps("--bottleneck", bottleneck),
        link_mbps=None if link is None else _mbps("--link", link),
        gains=gains_of(gain or ["1"]),
        window_ms=_ms("--window", window),
        burst_gap_ms=_ms("--burst-gap", burst_gap),
        clocked_ms=_ms("--clocked", clocked),
        skip_s=_s("--skip", skip),
        until_s=None if until is None else _s("--until", until),
        rate_step_s=_s("--rate-step", rate_step),
        frame_limit_bytes=bytes_of("--frame-limit", frame_limit),
    )
    if out is not None:
        if out.suffix not in (".html", ".htm"):
            raise unexpected("--out", "a file name that ends with `.html`", out)
        check_new(out, force, [*files, *(keys or ())])
    with ReadingProgress("reading") as progress:
        found = pacing.analyse(files, settings, keys or (), flows=flows, progress=progress)
    if out is not None:
        with BeatingProgress(f"writing {out}", PARTS, "parts") as parts:
            page = render(found, parts.advance)
        write_atomically(out, page.encode())
    if as_json:
        print(to_json(found.document()))
    else:
        table.analysis(found)
        if out is not None:
            print(out)
    if reasons := found.without():
        raise QuiclabError("; ".join(reasons))


def gains_of(texts: list[str]) -> tuple[float, ...]:
    """Read pacing gains; `bbr` represents those of BBR; duplicates count once.

    Raises
    ------
    RequestError
        If one is no number.
    """
    gains: list[float] = []
    for text in texts:
        if text.lower() == "bbr":
            gains += pacing.BBR_GAINS
            continue
        try:
            gains.append(float(text))
        except ValueError as error:
            raise unexpected("--gain", "a number such as 1.25, or `bbr`", text) from error
    return tuple(dict.fromkeys(gains))


def _mbps(option: str, text: str) -> float:
    return bits_per_second(option, text) / 1e6


def _ms(option: str, text: str) -> float:
    return nanoseconds(option, text) / NS_PER_MS


def _s(option: str, text: str) -> float:
    return nanoseconds(option, text) / NS_PER_S
