"""The testbed, stacks and pages of the page-load thesis, and what its studies measure.

First part of the study of page load times; `page_load` has the studies themselves. What the thesis does not say is
read in the scripts of its testbed (repository 99Alphapriority/long-look-quic at 6f20404e: `test_src/engineWrapper.py`,
`doTrafficStuff.py`, `engineChrome_harCapturer.py`, `getTimes.py`, `quic/`, `tcp/`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from quiclab.scenario.quantity import megabits_per_second, milliseconds
from quiclab.study import Changes, Configuration, Engine, Factor, Metric, Table, Value
from quiclab.study.published import csv_rows
from quiclab.study.ran import option_of, profile_of, stack_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from quiclab.result import RunResult

SCENARIO = "scenarios/page_load.toml"
REFERENCE = "page_load/reference"
SOURCE = "Muthuraj, Benchmarks and Analysis of QUIC Performance on Emulab, thesis, University of Alberta, 2024"
RUNS = 20
RATES_MBPS = (10, 50, 100)
SIZES_KB = (5, 10, 100, 200, 500, 1000, 10000)
PAGES = {
    "1000x1": (1000, 1),
    "500x2": (500, 2),
    "200x5": (200, 5),
    "100x10": (100, 10),
    "10x100": (10, 100),
    "5x200": (5, 200),
}

# --- stacks

RESUMED = {"version": "1.3", "resumption": True}
EARLY = {**RESUMED, "early_data": "accepted"}
BROWSER: dict[str, object] = {"hosts.browser": {}}
"""The browser's process, which reads QUIC's packets itself: Linux does so for TCP."""
BROWSER_TIMES = {"issue_time": "issue_ms", "request_time": "request_ms", "object_time": "object_ms"}
"""Options of a page for the browser's own work, which the scenario sets, and their columns in `browser_objects.csv`."""
CLIENT = 0.785
"""Time that the testbed's client needs, of that of the machine on which `browser_objects.csv` was measured (HTTP/2, 200
images): from one published cell, 5 kB x 200 over TCP at 100 Mbit/s."""
BROWSER_TIME = {"mean": "27 ms", "deviation": "2 ms", "distribution": "normal"}


def quic(profile: str, tls: Mapping[str, object], **sender: object) -> dict[str, Any]:
    """Return both ends of a page over QUIC; further options are those of the server."""
    end: dict[str, Any] = {"profile": profile, "tls": dict(tls)}
    if "early_data" in tls:
        # the address is validated by a token of the connection before (RFC 9000 section 8.1.3)
        end["quic"] = {"amplification_factor": 0}
    return {"stack": QUIC, "sender": {**end, **sender}, "receiver": {**end, "host": "browser"}}


def tcp(profile: str, tls: Mapping[str, object], control: str = "cubic") -> dict[str, Any]:
    """Return both ends of a page over HTTP/2, TLS and Linux' TCP, with the socket buffers of the testbed."""
    buffers = {"receive_buffer": "30 MB", "max_receive_buffer": "50 MB", "max_send_buffer": "50 MB"}
    end = {"profile": profile, "tls": dict(tls), "tcp": buffers}
    return {"stack": TCP, "sender": {**end, "congestion_control": control}, "receiver": end}


QUIC, TCP = "lab-quic", "lab-tcp"
QUIC1 = "chromium-quic1"
ENDS = {
    "quic1": quic(QUIC1, EARLY),
    "tcp": tcp("linux-5.15", RESUMED),
    "gquic37": quic("chromium-gquic37", EARLY),
    "tcp_replicated": tcp("linux-4.15", {"version": "1.2", "resumption": True}),
    "quic1_1rtt": quic(QUIC1, {"version": "1.3"}),
    "quic1_n1": quic(QUIC1, EARLY, emulated_connections=1),
    "quic1_bbr": quic(QUIC1, EARLY, congestion_control="bbr-chromium"),
    "tcp_bbr": tcp("linux-5.15", RESUMED, "bbr-linux"),
}
LABELS = {
    "quic1": "QUICv1",
    "tcp": "TCP",
    "gquic37": "gQUIC 37",
    "tcp_replicated": "TCP with gQUIC 37",
    "quic1_1rtt": "QUICv1, 1-RTT",
    "quic1_n1": "QUICv1, N = 1",
    "quic1_bbr": "QUICv1, BBR",
    "tcp_bbr": "TCP, BBR",
}
SETUPS = {"gquic37": "replicated", "tcp_replicated": "replicated"}

# --- networks

NETWORKS: dict[str, tuple[int, float, int]] = {
    "base": (36, 0, 0),
    "loss": (36, 1, 0),
    "lat": (112, 0, 0),
    "jit": (112, 0, 50),
}
"""Round trip time [ms], loss [%], jitter [ms]."""
BRIDGE_RTT_MS = 36
"""Share of the round-trip time at the bridge when the client's interface adds the jitter."""


COMMAND_MS = 20
"""Duration of a command `sudo tc qdisc change`."""
JITTER_EVERY_MS = (100 + 2 * COMMAND_MS + 3 * (100 + 4 * COMMAND_MS)) // 4
"""A change waits for 100 ms after a command for each direction; in two steps, with two more, where "
"one delay falls: 3 of 4."""


def jitter(jitter_ms: int) -> dict[str, object]:
    """Return the link that emulates `tc-netem` at the client in one direction, whose delay a script changes."""
    # whole milliseconds, below the end of the range
    mean_ms = (NETWORKS["jit"][0] - BRIDGE_RTT_MS) / 2 - 0.5
    return {
        "delay": {
            "mean": f"{mean_ms:g} ms",
            "deviation": f"{jitter_ms / 2:g} ms",
            "distribution": "uniform",
            "reorder": True,
            "every": f"{JITTER_EVERY_MS} ms",
            "steps": 2,
        }
    }


def network(value: Value) -> Changes:
    """Return delay, loss and jitter of a network; the queue follows from the rate."""
    rtt_ms, loss_percent, jitter_ms = NETWORKS[str(value)]
    at_bridge_ms = BRIDGE_RTT_MS if jitter_ms else rtt_ms
    changes: dict[str, object] = {}
    for name in ("down1", "up1"):
        changes[f"links.{name}.delay"] = f"{at_bridge_ms / 2:g} ms"
        if loss_percent:
            changes[f"links.{name}.loss"] = f"{loss_percent:g} %"
    if jitter_ms:
        changes |= {"links.jitter_down": jitter(jitter_ms), "links.jitter_up": jitter(jitter_ms)}
        changes |= {"flows.page.down": ["down1", "jitter_down"], "flows.page.up": ["jitter_up", "up1"]}
    return changes


def rate(value: Value) -> Changes:
    """Return the rate in both directions."""
    return {f"links.{name}.rate": f"{value} Mbit/s" for name in ("down1", "up1")}


def page(size_kb: int, count: int) -> Changes:
    """Return a page of equal images."""
    return {"flows.page.workload.objects": [{"count": count, "size": f"{size_kb} kB"}]}


HTML_BYTES, LINE_BYTES = 116, {QUIC: 71, TCP: 36}
"""HTML without images, and its line for each of them: with the whole address, or with the path alone."""


def rtt(changes: Changes) -> str:
    """Return the round trip time of a network: which a browser stores for a server, and sends to it."""
    jitter_ms = NETWORKS["jit"][0] - BRIDGE_RTT_MS if "links.jitter_down" in changes else 0
    bridge_ms = 2 * milliseconds(str(changes["links.down1.delay"]))
    return f"{bridge_ms + jitter_ms:g} ms"


def with_rest(changes: Changes) -> Changes:
    """Add the bridge's queues of twice the product of its rate and delay, and the HTML, which names each image."""
    merged = dict(changes)
    (objects,) = cast("list[dict[str, int]]", merged["flows.page.workload.objects"])
    html_bytes = HTML_BYTES + LINE_BYTES[str(merged["flows.page.stack"])] * objects["count"]
    merged["flows.page.workload.html"] = f"{html_bytes} B"
    for end in ("sender", "receiver"):
        own: Mapping[str, Any] = merged[f"flows.page.{end}"]  # type: ignore[assignment]
        if "early_data" in own["tls"]:
            merged[f"flows.page.{end}"] = {**own, "initial_rtt": rtt(changes)}
    for name in ("down1", "up1"):
        rate_mbps = megabits_per_second(str(merged[f"links.{name}.rate"]))
        delay_ms = milliseconds(str(merged[f"links.{name}.delay"]))
        queue_bytes = 2 * rate_mbps * 1e6 * 2 * delay_ms * 1e-3 / 8
        merged.setdefault(f"links.{name}.queue", {"kind": "drop_tail", "waiting_bytes": f"{queue_bytes:.0f} B"})
    return merged


def configuration(name: str, changes: Changes | None = None) -> Configuration:
    """Return a page over one of the stacks, with what follows from network, rate and page together."""
    ends = ENDS[name]
    own = {
        **(changes or {}),
        **(BROWSER if ends["stack"] == QUIC else {}),
        **{f"flows.page.{key}": value for key, value in ends.items()},
    }
    return Configuration(name, LABELS[name], lambda given: with_rest({**given, **own}))


def configurations(*names: str) -> tuple[Configuration, ...]:
    """Return several of them; all without a name."""
    return tuple(configuration(name) for name in names or ENDS)


def networks(*names: str) -> Factor:
    """Return the factor of the networks."""
    return Factor("network", "network", "Network", "", names, network)


def rates(*rates_mbps: int) -> Factor:
    """Return the factor of the rates."""
    return Factor("rate", "bandwidth_mbps", "Bandwidth", "Mbit/s", rates_mbps, rate)


def pages(*names: str) -> Factor:
    """Return the factor of the pages with several images."""
    return Factor("page", "page", "Object size [kB] x objects", "", names, lambda value: page(*PAGES[str(value)]))


NETWORK, RATE, PAGE = networks(*NETWORKS), rates(*RATES_MBPS), pages(*PAGES)
SIZE = Factor("size", "object_size_kb", "Object size", "kB", SIZES_KB, lambda value: page(int(value), 1))

# --- metrics


def plt_ms(result: RunResult) -> float:
    """Page load time: from the first request to the last byte."""
    return float(result.flows["page"].receiver["page_load_ms"])


PLT = Metric("plt_ms", "Page load time", "ms", plt_ms)
ENGINES = (Engine("lab-quic"),)


def describe(scenario: Mapping[str, Any], labels: Mapping[str, Value]) -> dict[str, object]:
    """Return the columns of the published tables."""
    name = str(labels["configuration"])
    rtt_ms, loss_percent, jitter_ms = NETWORKS[str(labels["network"])]
    whole = labels.get("object_size_kb", "")  # a transfer that is watched for a time has no size
    size_kb, count = PAGES[str(labels["page"])] if "page" in labels else (whole, 1)
    flow = next(iter(scenario["flows"].values()))
    stack, profile = stack_of(flow, "sender"), profile_of(flow)
    emulated = option_of(flow, "sender", "emulated_connections")
    return {
        "stack": "tcp" if stack == TCP else str(profile).removeprefix("chromium-") if profile else stack,
        "cc": option_of(flow, "sender", "congestion_control"),
        "rtt_ms": rtt_ms,
        "jitter_ms": jitter_ms,
        "loss_percent": loss_percent,
        "object_size_kb": size_kb,
        "object_count": count,
        "cubic_emulated_connections": "" if stack != QUIC or emulated is None else int(emulated),
        "setup": SETUPS.get(name, "extended"),
    }


def table(name: str, *numbers: int) -> Table:
    """Return the published tables of these numbers; further ones need not be there."""
    if not numbers:
        return Table("", f"{SOURCE}, {name}")
    return Table(f"{REFERENCE}/table_b01_plt.csv", f"{SOURCE}, {name}", lambda path: read(path, numbers))


def read(path: Path, numbers: Sequence[int]) -> Sequence[Mapping[str, str]]:
    """Return the rows of the published tables of these numbers with the columns of the study."""
    files = [file for number in numbers if (file := path.with_name(f"table_b{number:02}_plt.csv")).exists()]
    networks = {value: name for name, value in NETWORKS.items()}
    rows = []
    for row in (row for file in files for row in csv_rows(file)):
        condition = (int(row["rtt_ms"]), float(row["loss_percent"]), int(row["jitter_ms"]))
        replicated = row["setup"] == "replicated"
        name = "tcp_replicated" if replicated and row["stack"] == "tcp" else row["stack"]
        page_name = f"{row['object_size_kb']}x{row['object_count']}"
        rows.append({**row, "network": networks[condition], "configuration": name, "page": page_name})
    return rows
