"""Replay of a recorded page over the network of a scenario, with several stacks."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from quiclab.errors import RequestError, alternatives, not_one_of, unexpected, unknown
from quiclab.result import RunResult, run
from quiclab.result.recordings import ENDS
from quiclab.result.stats import Summary, summarise
from quiclab.scenario import Scenario
from quiclab.stacks.registry import catalogue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from quiclab.sources.page.har_reader import RecordedPage, Resource

PAGE_SCHEMA: Final = "quiclab.page/1"
FLOW: Final = "page"
#: Tables that are taken from the scenario of the network.
NETWORK: Final = ("links", "bearers", "hosts", "taps", "tunnels")
#: A page that needs longer is not loaded.
MAX_DURATION: Final = "600 s"
#: Results that are kept on either side of the median while further runs may move it.
REACH: Final = 4

TlsUse: TypeAlias = Literal["full", "resumed", "early_data"]
TLS_USES: Final[tuple[TlsUse, ...]] = ("full", "resumed", "early_data")


@dataclass(frozen=True)
class Stack:
    """A stack that loads the page.

    Attributes
    ----------
    name
        Name as requested, such as `lab-quic/quic-go`.
    stack, profile
        The stack and its profile; `None` without a profile.
    protocol
        `tcp`, `quic` or `udp`.
    workloads
        The workloads that the stack supports.
    """

    name: str
    stack: str
    profile: str | None
    protocol: str
    workloads: tuple[str, ...]


@dataclass(frozen=True)
class Loads:
    """The loads with one stack.

    Attributes
    ----------
    stack
        The stack.
    page_load_ms
        Load time of each run [ms]; `None` if the page was not loaded.
    problems
        Error of each run; empty if the page was loaded.
    typical
        Index of the run with the median load time, the lower of two; `None` if no run loaded the page.
    result
        Result of that run.
    """

    stack: Stack
    page_load_ms: tuple[float | None, ...]
    problems: tuple[str, ...]
    typical: int | None
    result: RunResult | None

    @property
    def summary(self) -> Summary:
        """Mean and deviation over the runs that loaded the page."""
        return summarise([value for value in self.page_load_ms if value is not None])

    @property
    def problem(self) -> str | None:
        """Message with the reason why runs did not load the page; `None` if all did."""
        failed = [problem for problem in self.problems if problem]
        if not failed:
            return None
        return f"{self.stack.name} did not load the page in {len(failed)} of {len(self.problems)} runs: {failed[0]}"


@cache
def known_stacks() -> dict[str, Stack]:
    """Return all stacks and profiles by the names that `quiclab stack list` has."""
    found: dict[str, Stack] = {}
    entries = catalogue()
    for entry in entries:
        stack = entry["name"]
        found[stack] = Stack(stack, stack, None, entry["protocol"], tuple(entry["workloads"]))
    for engine_of in list(found.values()):
        for profile in next(entry["profiles"] for entry in entries if entry["name"] == engine_of.name):
            name = profile if isinstance(profile, str) else profile["name"]
            for written in (name, f"{engine_of.name}/{name}"):  # stacks take precedence over profiles
                found.setdefault(written, replace(engine_of, name=written, profile=name))
    return found


def stacks_of(text: str) -> list[Stack]:
    """Read a list of stacks and profiles, divided by commas.

    Raises
    ------
    RequestError
        If one does not exist or is named twice.
    """
    known = known_stacks()
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise unexpected("stacks", "at least one stack", text, "`quiclab stack list` lists all")
    for name in names:
        if name not in known:
            raise unknown("stack", name, known, "stacks", "quiclab stack list")
        if "page" not in known[name].workloads:
            able = [key for key, stack in known.items() if "page" in stack.workloads and "/" not in key]
            raise unexpected("stacks", f"a stack that loads pages ({alternatives(able)})", name)
        if names.count(name) > 1:
            raise unexpected("stacks", "each stack at most once", text)
    return [known[name] for name in names]


def workload(page: RecordedPage) -> dict[str, Any]:
    """Return the workload that loads a recorded page."""
    document, *others = page.resources
    return {
        "kind": "page",
        "html": _bytes(document.body_bytes),
        "html_think_time": _ms(document.think_time_ms),
        "request": _bytes(document.request_bytes),
        "response": _bytes(document.response_bytes),
        "resources": [_resource(resource) for resource in others] or None,
    }


def browsed(network: Scenario, name: str | None, page: RecordedPage) -> Scenario:
    """Return the scenario of a recorded page that a real browser loads: the network with one flow.

    Of each resource it has size, kind, server, and the resource that leads to its request. Redirects to the document
    are left out; delays, think times and header sections are those of the browser and the server.

    Parameters
    ----------
    network, name
        The scenario, and the flow whose routes the page takes, as for `flow_of`.
    page
        The page.

    Raises
    ------
    RequestError
        If the flow is ambiguous or unknown.
    """
    flow = flow_of(network, name)
    document, redirects = page.chain[-1], set(page.chain[:-1])
    kept = [document, *(n for n in range(len(page.resources)) if n != document and n not in redirects)]
    position = {number: index for index, number in enumerate(kept)}
    chosen = [page.resources[number] for number in kept]
    origins = {origin: index for index, origin in enumerate(dict.fromkeys(resource.origin for resource in chosen))}
    resources = [
        {
            "size": _bytes(resource.body_bytes),
            "kind": resource.kind,
            # what follows a redirect follows the document
            "after": [position.get(resource.after or 0, 0)],
            "origin": origins[resource.origin],
        }
        for resource in chosen[1:]
    ]
    workload = {"kind": "page", "html": _bytes(chosen[0].body_bytes), "resources": resources}
    routes = {name: flow.get(name) for name in ("down", "up")}
    taken = {name: network.value(name) for name in ("version", "name", "duration", *NETWORK)}
    flows = {FLOW: {"stack": flow["stack"], **routes, "workload": workload}}
    return Scenario({**taken, "flows": flows}, network.base_dir)


def _resource(resource: Resource) -> dict[str, Any]:
    return {
        "size": _bytes(resource.body_bytes),
        "kind": resource.kind,
        "after": [resource.after or 0],
        "delay": _ms(resource.delay_ms),
        "origin": resource.origin,
        "think_time": _ms(resource.think_time_ms),
        "request": _bytes(resource.request_bytes),
        "response": _bytes(resource.response_bytes),
    }


def _bytes(count: int) -> str:
    return f"{count} B"


def _ms(milliseconds: float) -> str:
    return f"{round(milliseconds * 1000)} us"


def flow_of(network: Scenario, name: str | None) -> dict[str, Any]:
    """Return the flow whose routes and hosts the page takes.

    Raises
    ------
    RequestError
        If the flow is ambiguous or unknown.
    """
    if network.value("wires"):
        raise RequestError("the network defines `wires`; a page requires a flow with routes `down` and `up`")
    flows: dict[str, dict[str, Any]] = network.value("flows")
    if name is not None:
        if name not in flows:
            raise not_one_of("flow", name, sorted(flows))
        return flows[name]
    if len(flows) != 1:
        raise unexpected("flow", f"one of the {len(flows)} flows of the network ({', '.join(sorted(flows))})")
    return next(iter(flows.values()))


def scenario_of(
    network: Scenario, flow: Mapping[str, Any], page: Mapping[str, Any], stack: Stack, tls: TlsUse
) -> Scenario:
    """Return the scenario in which a stack loads the page: links, hosts and routes of the network, nothing else."""
    session = _tls(stack, tls)

    def on(end: str) -> dict[str, Any]:
        return {"profile": stack.profile, "tls": session, "host": flow.get(end, {}).get("host")}

    taken = {name: network.value(name) for name in ("version", "name", *NETWORK)}
    routes = {name: flow.get(name) for name in ("down", "up", "paths")}
    ends = {end: on(end) for end in ENDS}
    flows = {FLOW: {"stack": stack.stack, **ends, **routes, "workload": page}}
    return Scenario({**taken, "duration": MAX_DURATION, "flows": flows, "record": {"requests": True}}, network.base_dir)


def _tls(stack: Stack, use: TlsUse) -> dict[str, Any] | None:
    """Return the TLS of a stack; over TCP there is no early data: browsers do not send any there.

    A real stack has its own, full handshakes.
    """
    if not stack.stack.startswith("lab-"):
        if use != "full":
            reason = f"the real stack `{stack.name}` makes full handshakes only"
            raise unexpected("--tls", '"full"', use, reason)
        return None
    early = "accepted" if use == "early_data" and stack.protocol == "quic" else None
    return {"version": "1.3", "resumption": use != "full", "early_data": early}


def load_page(scenario: Scenario, stack: Stack, seeds: Iterable[int], done: Callable[[], None]) -> Loads:
    """Load a page once with each seed; `done` is called after each."""
    seeds = tuple(seeds)
    times: list[float | None] = []
    problems: list[str] = []
    loaded: list[tuple[float, int]] = []
    # a thousand results of a large page do not fit into memory: those in the middle are kept
    results: dict[int, RunResult] = {}
    for number, seed in enumerate(seeds):
        result = run(scenario, seed, base_dir=scenario.base_dir)
        flow = result.flows[FLOW]
        time_ms = flow.receiver.get("page_load_ms") if flow.completed else None
        times.append(time_ms)
        problems.append("" if time_ms is not None else _why(result))
        if time_ms is not None:
            insort(loaded, (time_ms, number))
            results[number] = result
            middle = _middle(loaded)
            near = {number for _, number in loaded[max(middle - REACH, 0) : middle + REACH + 1]}
            results = {number: kept for number, kept in results.items() if number in near}
        done()
    if not loaded:
        return Loads(stack, tuple(times), tuple(problems), None, None)
    typical = loaded[_middle(loaded)][1]
    # the same seed gives the same run
    found = results[typical] if typical in results else run(scenario, seeds[typical], base_dir=scenario.base_dir)
    return Loads(stack, tuple(times), tuple(problems), typical, found)


def _middle(values: Sequence[object]) -> int:
    """Return the position of the median of sorted values, the lower one of two."""
    return (len(values) - 1) // 2


def _why(result: RunResult) -> str:
    warnings: list[str] = list(result.data.get("warnings", []))
    return warnings[0] if warnings else f"not complete after {MAX_DURATION}"


def request_rows(page: RecordedPage, loads: Loads) -> list[dict[str, Any]]:
    """Return the times of each request of the typical run, with its values from the file; times in ms."""
    if loads.result is None:
        return []
    rows = []
    for row in loads.result.requests.sort("resource").iter_rows(named=True):
        resource = page.resources[row["resource"]]
        times = {name: _rounded(value) for name, value in row.items() if name.endswith("_ms")}
        kind = page.role(row["resource"]) or resource.kind
        about = {"resource": row["resource"], "entry": resource.entry, "url": resource.url, "kind": kind}
        rows.append({**about, "origin": page.origins[resource.origin], "size_bytes": row["size_bytes"], **times})
    return rows


def _html_ms(page: RecordedPage, result: RunResult) -> float | None:
    """Return when the document was complete [ms], after the redirects to it."""
    requests = result.requests.filter(result.requests["resource"] == page.chain[-1])
    return _rounded(requests["complete_ms"].item()) if requests.height else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def document(
    page: RecordedPage, network: tuple[str, str], seed: int, tls: TlsUse, loads: Sequence[Loads]
) -> dict[str, Any]:
    """Return everything as the JSON that `quiclab page --json` prints (`docs/page.md` describes it)."""
    return {
        "schema": PAGE_SCHEMA,
        "page": {
            "file": page.file,
            "url": page.url,
            "resources": len(page.resources),
            "origins": list(page.origins),
            "depth": page.depth,
            "body_bytes": page.body_bytes,
            "recorded_on_load_ms": page.on_load_ms,
            "entries": page.entries,
            "left_out": dict(page.left_out),
            "counts": dict(page.counts),
        },
        "network": {"scenario": network[0], "flow": network[1]},
        "seed": seed,
        "tls": tls,
        "stacks": [_stack_document(page, item, seed) for item in loads],
    }


def _stack_document(page: RecordedPage, loads: Loads, seed: int) -> dict[str, Any]:
    summary = loads.summary
    result = loads.result
    receiver = result.flows[FLOW].receiver if result else {}
    return {
        "name": loads.stack.name,
        "stack": loads.stack.stack,
        "profile": loads.stack.profile,
        "page_load_ms_mean": _rounded(summary.mean) if summary.n else None,
        "page_load_ms_std": _rounded(summary.std) if summary.n > 1 else None,
        "n_runs": summary.n,
        "page_load_ms": [_rounded(value) for value in loads.page_load_ms],
        "problem": loads.problem,
        "typical": None
        if result is None or loads.typical is None
        else {
            "seed": seed + loads.typical,
            "html_ms": _html_ms(page, result),
            "connections": int(receiver.get("connections", 1)),
            "events": result.events,
            "digest": result.digest,
            "requests": request_rows(page, loads),
        },
    }
