"""Many loads of a page behind the network of a scenario: one run of the kernel lane."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from quiclab._base.files import write_atomically
from quiclab.errors import QuiclabError, RequestError, alternatives, missing_field, not_one_of, unexpected
from quiclab.lane.adapter import load_adapters
from quiclab.lane.browser.load import LOAD_LISTS, PROTOCOLS, PageLoad
from quiclab.lane.browser.site import Page
from quiclab.lane.choices import CLOCKS, EMULATIONS
from quiclab.lane.run import Lane
from quiclab.scenario import Scenario
from quiclab.scenario.quantity import seconds

if TYPE_CHECKING:
    from quiclab.result import RunResult

#: The stack whose commands are started; it serves both protocols.
_STACK: Final = "chromium"
#: Seconds that programs take to start and to stop, on a busy machine.
_START_S: Final = 60.0
MAX_LOADS: Final = 1000

Progress = Callable[[float, int, float], None]


@dataclass(frozen=True)
class PageLoads:
    """The loads of a run.

    Parameters
    ----------
    counted
        Loads that count, in the order in which they were made.
    discarded
        The first load over each protocol.
    left_out
        Those over HTTP/3 that had no ticket, and were made up for.
    hars
        HAR by protocol, of all loads.
    clients
        Name and version of the client by protocol.
    result
        The run: links, lateness, versions.
    lengthened
        Number of objects of the page that are longer than those of the scenario (`quiclab.lane.browser.site.Page`).
    """

    counted: list[PageLoad]
    discarded: list[PageLoad]
    left_out: list[PageLoad]
    hars: dict[str, dict[str, Any]] = field(repr=False)
    clients: dict[str, str]
    result: RunResult = field(repr=False)
    lengthened: int = 0

    def of(self, protocol: str) -> list[PageLoad]:
        """Return the loads over a protocol that count."""
        return [load for load in self.counted if load.protocol == protocol]


def load_pages(
    scenario: Scenario,
    loads: int = 20,
    *,
    protocols: Sequence[str] = PROTOCOLS,
    seed: int = 1,
    flow: str | None = None,
    pause_s: float = 0.5,
    clock: str = "real",
    emulation: str = "engine",
    base_dir: str | Path = ".",
    progress: Progress | None = None,
) -> PageLoads:
    """Load the page of a scenario many times, over each protocol in turns, in one browser context for each.

    The scenario defines links, bearers and taps, routes and page of the flow, and its duration as the longest time of
    one load; its stacks are ignored. One additional first load over each protocol is discarded.

    Parameters
    ----------
    scenario
        The scenario.
    loads
        Number of loads that count, for each protocol.
    protocols
        `h2`, `h3`, or both.
    seed
        Seed of the elements. Programs draw their own numbers.
    flow
        The flow (default: the first flow with a page).
    pause_s
        Pause after each load [s].
    clock
        `real`; `virtual`: in a guest, in which computing takes no time.
    emulation
        `engine` or `netem`.
    base_dir
        Directory that files named in the scenario are relative to.
    progress
        Called periodically, as by `Lane.run`.

    Raises
    ------
    RequestError
        If the request is wrong, or a program is missing.
    QuiclabError
        If a load failed or was invalid; nothing is returned in this case.
    """
    check_request(loads, protocols, clock, emulation)
    single, timeout_s = page_scenario(scenario, flow, loads * len(protocols), pause_s)
    page = Page.of(_workload(single))
    words = ["--protocols", ",".join(protocols), "--loads", str(loads)]
    words += ["--pause", f"{pause_s:g}", "--timeout", f"{timeout_s:g}"]
    _need_programs()
    lane = Lane(
        clock="virtual" if clock == "virtual" else "real",
        emulation="netem" if emulation == "netem" else "engine",
        client_words=tuple(words),
    )
    whole_bytes = (loads + 1) * len(protocols) * page.total_bytes

    def tell(time_s: float, delivered_bytes: int, _: float) -> None:
        if progress is not None:  # the duration is a distant bound; the bytes include headers
            progress(time_s, delivered_bytes, min(1.0, delivered_bytes / whole_bytes))

    with tempfile.TemporaryDirectory(prefix="quiclab-") as scratch:
        result = lane.run(single, seed, base_dir=base_dir, record_dir=scratch, progress=tell)
        return _read(Path(scratch), next(iter(result.flows)), result, page.lengthened)


def _workload(scenario: Scenario) -> dict[str, Any]:
    workload: dict[str, Any] = next(iter(scenario.to_dict()["flows"].values()))["workload"]
    return workload


def _need_programs() -> None:
    """Report missing programs of the adapter, before anything starts."""
    missing = load_adapters()[_STACK].missing()
    if missing:
        raise RequestError("; ".join(missing))


def page_scenario(scenario: Scenario, flow: str | None, loads: int, pause_s: float) -> tuple[Scenario, float]:
    """Return the scenario with only the flow of the page, long enough for all loads; and the time limit of a load [s].

    Raises
    ------
    RequestError
        If the flow does not exist, or a real server cannot serve its page.
    """
    plain = scenario.to_dict()
    pages = [name for name, table in plain["flows"].items() if table["workload"]["kind"] == "page"]
    if not pages:
        raise missing_field("flows", "a flow with workload `page`")
    name = flow if flow is not None else pages[0]
    if name not in pages:
        raise unexpected("flow", f"a flow with workload `page` ({alternatives(pages)})", name)
    table = plain["flows"][name]
    Page.of(table["workload"], f"flows.{name}.workload")
    kept = {key: table[key] for key in ("down", "up", "workload") if table.get(key) is not None}
    timeout_s = seconds(plain["duration"])
    whole_s = _START_S + 2 * (loads + 2) * (timeout_s + pause_s + 1.0)
    plain["flows"] = {name: {**kept, "stack": _STACK}}
    for group in ("hosts", "tunnels", "plugins"):
        plain.pop(group, None)
    plain |= {"duration": f"{whole_s:.3f} s", "until": "workloads_done", "record": {}}
    return Scenario.from_dict(plain), timeout_s


def check_request(loads: int, protocols: Sequence[str], clock: str, emulation: str) -> None:
    """Check the parameters of `load_pages`.

    Raises
    ------
    RequestError
        If one is wrong.
    """
    if not 1 <= loads <= MAX_LOADS:
        raise unexpected("loads", f"1 to {MAX_LOADS}", loads)
    for value, name, known in (
        *((protocol, "protocols", PROTOCOLS) for protocol in protocols),
        (clock, "clock", CLOCKS),
        (emulation, "emulation", EMULATIONS),
    ):
        if value not in known:
            raise not_one_of(name, value, known)
    if not protocols or len(set(protocols)) != len(protocols):
        raise unexpected("protocols", "each protocol at most once", ",".join(protocols))


def _read(directory: Path, flow: str, result: RunResult, lengthened: int) -> PageLoads:
    """Read the files of the client; it writes loads only if all of them are valid."""
    file = directory / f"{flow}.loads.json"
    if not file.exists():
        report = directory / f"{flow}.client.json"
        failure = json.loads(report.read_text(encoding="utf-8"))["failure"] if report.exists() else None
        raise QuiclabError(failure or next(iter(result.data["warnings"]), "the client wrote no loads"))
    said = json.loads(file.read_text(encoding="utf-8"))
    hars = {
        protocol: json.loads((directory / f"{flow}.{protocol}.har").read_text(encoding="utf-8"))
        for protocol in said["clients"]
    }
    parts = {name: [page_load(entry) for entry in said[key]] for key, name in LOAD_LISTS.items()}
    return PageLoads(hars=hars, clients=said["clients"], result=result, lengthened=lengthened, **parts)


def page_load(entry: Mapping[str, Any]) -> PageLoad:
    """Return a load from its table; fields of other versions are ignored."""
    known = {part.name for part in fields(PageLoad)}
    return PageLoad(**{name: value for name, value in entry.items() if name in known})


def write_hars(loads: PageLoads, directory: Path) -> list[Path]:
    """Write a HAR file for each protocol to an existing directory; returns them."""
    written = []
    for protocol, har in loads.hars.items():
        written.append(directory / f"{protocol}.har")
        write_atomically(written[-1], (json.dumps(har, indent=1) + "\n").encode())
    return written
