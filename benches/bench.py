"""Speed of quiclab as one flat JSON object.

CPU figures are medians of five runs, CPU seconds of this process (user and system). Pairs that
are compared alternate, so that a change of the machine's speed hits both. A key that cannot be
measured on this machine is null, with the reason in `<key>_why`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import quiclab
import quiclab._base.native
from quiclab.lane.run import Lane
from quiclab.scenario import load
from quiclab.sources.page import read_har, replay
from quiclab.study.registry import find_all

ROOT = Path(__file__).resolve().parent.parent
RUNS = 5
SEED = 1
#: One flow over one link, 20 Mbit/s, 100 MB, UDP payload 1280, TLS, no logs.
SCENARIO = Path(__file__).with_name("bulk.toml")
#: One TCP flow over the same link.
TCP_SCENARIO = Path(__file__).with_name("bulk_tcp.toml")
#: One flow of lab-quic over the same link.
QUIC_SCENARIO = Path(__file__).with_name("bulk_quic.toml")
#: A recorded page, and the network it is loaded over.
PAGE_RECORDING, PAGE_NETWORK = ROOT / "scenarios/pages/shop.har", ROOT / "scenarios/page_http2.toml"
#: Ten thousand short downloads by arrivals, in a minute.
ARRIVALS_SCENARIO = Path(__file__).with_name("short_flows.toml")
#: One TCP flow, for programs and models.
GUEST_SCENARIO = ROOT / "scenarios/lanes.toml"
GUEST_DOWNLOAD = (
    ("flows.main.stack", "linux"),
    ("flows.main.workload", '{ kind = "download", size = "100 MB" }'),
)
#: Connections for `idle_connection_bytes`, each of two ends.
IDLE_FLOWS = 2000
#: Runs of each setting of the published programme of Dual Connectivity: tables of throughput and of fairness.
PUBLISHED_RUNS = 10
#: The VPN beside OpenVPN, between network namespaces: needs root.
TUNNEL_BENCH = ROOT / "tunnel/bench/tunnel_bench.py"
#: Figure -> VPN of that benchmark, and what is measured of it.
TUNNEL_FIGURES = {
    "tunnel_tcp_mbps": ("quiclab", "tcp_mbps"),
    "openvpn_tcp_mbps": ("openvpn-aes128", "tcp_mbps"),
    "tunnel_idle_added_latency_ms": ("quiclab", "idle_added_latency_ms"),
    "tunnel_cpu_s_per_gbit": ("quiclab", "cpu_s_per_gbit"),
}
#: A capture of TCP headers for the analyser.
HEADER_CAPTURE = ROOT / "tools/header_capture.py"
ANALYSED_PACKETS = 2_000_000
#: Studies of the pacing thesis, with lab stacks, quinn and noq.
PACING = ("pacing/utilisation", "pacing/intervals", "pacing/acks", "pacing/clusters")
NOT_IN_PROGRAMME = ("proxy", "fairness_default", "beyond_fairness")


def main() -> int:
    """Measure everything, print the JSON and write it to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "bench.json")
    arguments = parser.parse_args()
    base = quiclab.load(SCENARIO)
    figures: dict[str, Any] = {}

    say("quinn against a bare loop around it")
    bare = ROOT / "target/release/examples/bare_loop"
    rates, overheads = [], []
    for _ in range(RUNS):
        loop = json.loads(subprocess.run([bare], check=True, capture_output=True, text=True).stdout)
        seconds, packets = run(base)
        rates.append(packets / seconds)
        overheads.append(100 * (seconds / packets) / (loop["cpu_seconds"] / loop["data_packets"]) - 100)
    figures["quinn_data_packets_per_cpu_second"] = round(statistics.median(rates))
    figures["driver_overhead_percent"] = round(statistics.median(overheads), 1)

    say("noq")
    noq = base.with_value("flows.flow.stack", "noq")
    figures["noq_data_packets_per_cpu_second"] = round(median(lambda: rate(*run(noq))))

    say("lab-tcp, one flow and 1000 flows")
    tcp = quiclab.load(TCP_SCENARIO)
    figures["lab_tcp_data_packets_per_cpu_second"] = round(median(lambda: rate(*run(tcp))))
    thousand = many_flows(tcp, 1000)
    figures["lab_1000_flows_data_packets_per_cpu_second"] = round(median(lambda: rate(*run(thousand))))

    say("10,000 short flows that arrive in 60 s, and memory")
    figures |= short_flow_figures() | memory_figures(tcp)

    say("lab-quic")
    modelled = quiclab.load(QUIC_SCENARIO)
    figures["lab_quic_data_packets_per_cpu_second"] = round(median(lambda: rate(*run(modelled))))

    say("a recorded page of 120 resources over HTTP/3")
    figures["page_replay_seconds"] = round(page_seconds(), 3)

    say("qlog at both ends and pcapng")
    logged = base.with_value("record.qlog", True).with_value("record.pcapng", True)
    figures["qlog_pcap_slowdown"] = round(median(lambda: run(logged)[0] / run(base)[0]), 2)

    say("1 GB against 100 MB")
    large = base.with_value("flows.flow.workload.size", "1 GB")
    figures["cpu_ratio_1gb_to_100mb"] = round(median(lambda: run(large)[0] / run(base)[0]), 2)

    say("events of the engine")
    events = ROOT / "target/release/examples/engine_events"
    figures["engine_events_per_cpu_second"] = round(median(lambda: engine_events(events)))

    for key, engine in (("dc_programme_minutes_lab", "lab-quic"), ("dc_programme_minutes_quinn", "quinn")):
        say(f"the programme of Dual Connectivity with {engine}: one run of each setting")
        figures[key] = round(programme_minutes(engine), 1)

    say("the studies of page load and pacing, and the analyser of captures")
    figures |= study_figures()

    say("a TCP download of the virtual-clock lane, in real time")
    figures |= guest_figures()

    say("the VPN beside OpenVPN, in real time")
    figures |= tunnel_figures()

    text = json.dumps(figures, indent=2)
    arguments.out.write_text(text + "\n")
    print(text)
    return 0


def run(scenario: quiclab.Scenario) -> tuple[float, float]:
    """CPU seconds of a run, and data packets that its sender sent."""
    with tempfile.TemporaryDirectory() as folder:
        recorded = scenario.value("record.qlog") or scenario.value("record.pcapng")
        start = time.process_time()
        result = quiclab.run(scenario, SEED, record_dir=Path(folder) if recorded else None)
        seconds = time.process_time() - start
    return seconds, sum(flow.sender["packets_sent"] for flow in result.flows.values())


def short_flow_figures() -> dict[str, float]:
    """CPU seconds and memory [MiB] of a run with connections that arrive."""
    scenario = quiclab.load(ARRIVALS_SCENARIO)
    return {
        "short_flows_cpu_seconds": round(median(lambda: run(scenario)[0]), 2),
        "short_flows_peak_memory_mib": round(peak_memory_mib(ARRIVALS_SCENARIO), 1),
    }


def memory_figures(tcp: quiclab.Scenario) -> dict[str, float]:
    """Memory of a run [MiB], and of a connection [B]."""
    return {
        "peak_memory_mib": round(peak_memory_mib(SCENARIO), 1),
        "idle_connection_bytes": idle_connection_bytes(tcp),
    }


def page_seconds() -> float:
    """CPU seconds of a load of a recorded page."""
    network = quiclab.load(PAGE_NETWORK)
    page, stack = replay.workload(read_har(PAGE_RECORDING)), replay.stacks_of("chromium-quic1")[0]
    load = replay.scenario_of(network, replay.flow_of(network, None), page, stack, "full").resolved()
    return median(lambda: run(load)[0])


def programme_minutes(engine: str) -> float:
    """Minutes that the published programme takes: each setting and configuration once, times the runs published.

    Wall-clock time with a worker process on each CPU.
    """
    alone = [
        study.name for study in find_all("dual_connectivity") if study.measures.table.file or "fairness" in study.name
    ]
    names = [name for name in alone if name.rpartition("/")[2] not in NOT_IN_PROGRAMME and "ngtcp2" not in name]
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        for name in names:
            command = ["-m", "quiclab", "study", "run", name, "--runs", "1", "--engines", engine, "--out", folder]
            subprocess.run([sys.executable, *command], check=True, capture_output=True)
        return PUBLISHED_RUNS * (time.monotonic() - start) / 60


def group_minutes(*names: str) -> float:
    """Minutes that studies take, all runs; wall-clock time with a worker process on each CPU."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        for name in names:
            command = ["-m", "quiclab", "study", "run", name, "--out", folder]
            subprocess.run([sys.executable, *command], check=True, capture_output=True)
        return (time.monotonic() - start) / 60


def study_figures() -> dict[str, float]:
    """Minutes of two studies, and packets that the analyser reads in a CPU second."""
    return {
        "page_load_minutes": round(group_minutes("page_load"), 1),
        "pacing_study_minutes": round(group_minutes(*PACING), 1),
        "pacing_analyser_packets_per_cpu_second": round(median(analyser_rate)),
    }


def analyser_rate() -> float:
    """Packets per CPU second that the analyser reads of a capture of TCP headers."""
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "headers.pcap"
        command = [sys.executable, HEADER_CAPTURE, capture, "--packets", str(ANALYSED_PACKETS)]
        packets = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        start = time.process_time()
        quiclab._base.native.extension().analyse_packets(str(capture), "{}", [], 1)
        return packets / (time.process_time() - start)


def guest_figures() -> dict[str, Any]:
    """Seconds of a download by Linux in the kernel lane with the virtual clock, start of its guest included.

    Wall-clock time, as a wake-up across CPUs costs little CPU time: run nothing else at the same time.
    """
    key, lane = "virtual_clock_seconds", Lane(clock="virtual")
    if (problem := lane.problem()) is not None:
        return {key: None, f"{key}_why": problem}
    scenario = load(GUEST_SCENARIO, GUEST_DOWNLOAD, lane.stacks())

    def seconds() -> float:
        start = time.monotonic()
        lane.run(scenario, SEED)
        return time.monotonic() - start

    return {key: round(median(seconds), 1)}


def tunnel_figures() -> dict[str, Any]:
    """Throughput and added latency of the VPN; null with the reason where it cannot be measured."""
    names = ",".join(sorted({name for name, _ in TUNNEL_FIGURES.values()}))
    command = [sys.executable, TUNNEL_BENCH, "--parts", "speed", "--only", names]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    whole = json.loads(done.stdout) if done.returncode == 0 else {"speed_why": "tunnel_bench failed"}
    speed = whole.get("speed") or {"results_why": whole.get("speed_why")}
    results: dict[str, dict[str, Any]] | None = speed.get("results")
    figures: dict[str, Any] = {}
    for key, (name, measured) in TUNNEL_FIGURES.items():
        found = results[name] if results else {f"{measured}_why": speed["results_why"]}
        figures[key] = (found.get(measured) or {}).get("median")
        if figures[key] is None:
            figures[f"{key}_why"] = found[f"{measured}_why"]
    return figures


def many_flows(scenario: quiclab.Scenario, count: int) -> quiclab.Scenario:
    """Flows of 1 MB each over a link of 1 Gbit/s, started a microsecond apart."""
    (flow,) = scenario.value("flows").values()
    one = {**flow, "workload": {"kind": "download", "size": "1 MB"}}
    flows = {f"flow{index}": {**one, "start": f"{index} us"} for index in range(count)}
    fast = {"links.down.rate": "1 Gbit/s", "links.up.rate": "1 Gbit/s", "links.down.queue.packets": 5000}
    return scenario.with_values({**fast, "flows": flows})


def idle_connection_bytes(scenario: quiclab.Scenario) -> int:
    """Memory of one end of a connection that has received 100 kB and then waits.

    The difference between processes in which all connections wait and in which none has started.
    """
    flows = many_flows(scenario, IDLE_FLOWS)
    pause = {"kind": "request_response", "count": 2, "response": "100 kB", "pause": "1000 s"}
    waiting = {
        name: {**flow, "workload": pause, "start": f"{index} ms"}
        for index, (name, flow) in enumerate(flows.value("flows").items())
    }
    used = []
    for duration in ("1 us", "100 s"):
        begins = {"start": "0 ns"} if duration == "1 us" else {}
        of_all = {name: {**flow, **begins} for name, flow in waiting.items()}
        idle = flows.with_values({"flows": of_all, "duration": duration, "until": "duration_over"})
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(idle.to_json())
            file.flush()
            used.append(peak_memory_mib(Path(file.name)))
    return round((used[1] - used[0]) * 2**20 / (2 * IDLE_FLOWS))


def rate(seconds: float, packets: float) -> float:
    """Packets per CPU second."""
    return packets / seconds


def median(measure: Callable[[], float]) -> float:
    """Median of `RUNS` measurements."""
    return statistics.median(measure() for _ in range(RUNS))


def engine_events(program: Path) -> float:
    """Events per CPU second of the engine with endpoints that do nothing."""
    figures = json.loads(subprocess.run([program], check=True, capture_output=True, text=True).stdout)
    return float(figures["events"] / figures["cpu_seconds"])


def peak_memory_mib(file: Path) -> float:
    """Largest resident memory of a process that runs the scenario once, in MiB."""
    code = (
        "import quiclab, re, sys\n"
        "quiclab.run(quiclab.load(sys.argv[1]), 1)\n"
        # not ru_maxrss: a child inherits that of its parent
        "print(re.search(r'VmHWM:\\s+(\\d+) kB', open('/proc/self/status').read())[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", code, file], check=True, capture_output=True, text=True)
    return int(done.stdout) / 1024


def say(what: str) -> None:
    """Progress on stderr."""
    print(f"measuring: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
