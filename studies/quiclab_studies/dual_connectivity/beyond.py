"""Beyond the papers: splitters that adapt, t-Reordering, partial duplication, the split below and above, BBR.

Each choice of an operator is a configuration; the links are a factor. Links keep the order of their
packets here, as RLC does, so that what reorders is the split alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from quiclab.result import RunResult
from quiclab.study import (
    Changes,
    Configuration,
    Engine,
    Factor,
    Figure,
    Measures,
    Metric,
    Study,
    Value,
)
from quiclab_studies.dual_connectivity.alone import EXPIRIES
from quiclab_studies.dual_connectivity.common import (
    ASSUMPTIONS,
    FLOWS,
    LARGE_BUFFER_BYTES,
    PROXIES,
    PROXIES_MS,
    SOURCE,
    client,
    design,
    file_over,
    loss,
    presentation,
    quic_flow,
    split_by_ratio,
)
from quiclab_studies.dual_connectivity.fairness import FLOW, delivered_mbps, metrics
from quiclab_studies.dual_connectivity.lte import FILE, MARK
from quiclab_studies.remarks import assumed

RUNS = 5
SECONDS = 60
ENGINES = (Engine("lab-quic"),)
FEEDBACK = {"interval": "5 ms", "delay": "1 ms", "desired_buffer": "15 ms"}
ADAPTIVE = {"kind": "adaptive"}
PUBLISHED = "published"


@dataclass(frozen=True)
class Choice:
    """Choice of an operator for the bearer: splitter, batch size, t-Reordering, duplication."""

    label: str
    splitter: str = "batches"
    batch_packets: int = 100
    timer: str | Mapping[str, str] = "200 ms"
    duplication: str = "0 %"

    def bearer(self) -> dict[str, object]:
        """Return the bearer of the scenario."""
        whole: dict[str, object] = {
            "links": ["down1", "down2"],
            "batch_packets": self.batch_packets,
            "reordering": {"timer": self.timer, "sequence_bits": 18},
        }
        if self.splitter != "batches":
            whole["splitter"] = {"kind": self.splitter}
        if float(self.duplication.split()[0]):
            whole["duplication"] = self.duplication
        return whole

    def changes(self) -> Changes:
        """Return the changes of the choice; adaptive splitters get reports from the links."""
        feedback = {f"links.{link}.feedback": FEEDBACK for link in ("down1", "down2")}
        return {"bearers.dc": self.bearer(), **({} if self.splitter == "batches" else feedback)}


CHOICES: Mapping[str, Choice] = {
    PUBLISHED: Choice("published default: batches of 100, 200 ms"),
    "batches_10": Choice("batches of 10, 200 ms", batch_packets=10),
    "batches_10_40ms": Choice("batches of 10, 40 ms", batch_packets=10, timer="40 ms"),
    "batches_10_adaptive": Choice("batches of 10, adaptive timer", batch_packets=10, timer=ADAPTIVE),
    "proportional": Choice("shares after measured rates, batches of 10", "proportional", 10, ADAPTIVE),
    "least_expected_arrival": Choice("least expected arrival, adaptive timer", "least_expected_arrival", 1, ADAPTIVE),
    "flow_control": Choice("flow control, adaptive timer", "flow_control", 1, ADAPTIVE),
}


@dataclass(frozen=True)
class Network:
    """Two downlinks: rates [Mbit/s], delays [ms], random loss [%], outages [ms], or a trace in place of the rates."""

    rates: tuple[float, float] = (20.0, 20.0)
    delays_ms: tuple[float, float] = (10.0, 10.0)
    loss_percent: float = 0.0
    outage_ms: int = 0
    rate: Mapping[str, str] | None = None

    def changes(self) -> Changes:
        """Return the changes of the network; delays vary by a tenth and keep the order."""
        found: dict[str, object] = dict(loss(self.loss_percent))
        for link, rate, delay in zip(("down1", "down2"), self.rates, self.delays_ms, strict=True):
            found[f"links.{link}.rate"] = self.rate or f"{rate} Mbit/s"
            found[f"links.{link}.delay"] = in_order(delay)
        if self.outage_ms:
            found["events"] = outages(self.outage_ms)
        return {**found, "links.up1.delay": in_order(10.0)}


def outages(length_ms: int) -> list[dict[str, object]]:
    """Return outages of this length, every five seconds, of each link in turn: packets wait."""
    return [
        {
            "when": {"kind": "time", "at": f"{start_s} s"},
            "links": [("down1", "down2")[number % 2]],
            "up": False,
            "duration": f"{length_ms} ms",
        }
        for number, start_s in enumerate(range(5, SECONDS, 5))
    ]


def in_order(mean_ms: float) -> dict[str, object]:
    """Return a normal delay whose packets do not overtake one another."""
    spread = {"deviation": f"{0.1 * mean_ms} ms", "distribution": "normal"}
    return {"mean": f"{mean_ms} ms", **spread, "reorder": False}


UP2 = {"rate": "20 Mbit/s", "overhead_per_packet": "14 B", "delay": in_order(10.0)}
"""Multipath QUIC acknowledges on each path: its second path requires a separate uplink."""
TRACE = {"kind": "trace", "file": FILE, "format": "csv", "at_end": "loop"}
NETWORKS: Mapping[str, Network] = {
    "20 + 20 Mbit/s": Network(),
    "30 + 10 Mbit/s": Network(split_by_ratio(3.0, 40.0)),
    "35 + 5 Mbit/s": Network(split_by_ratio(7.0, 40.0)),
    "10 + 40 ms": Network(delays_ms=(10.0, 40.0)),
    "0.1 % loss": Network(loss_percent=0.1),
    "1 % loss": Network(loss_percent=1.0),
    "outages of 100 ms": Network(outage_ms=100),
    MARK: Network(rate=TRACE),
}
NETWORK = Factor("network", "network", "Links", "", tuple(NETWORKS), lambda name: NETWORKS[str(name)].changes())

BEYOND_ASSUMPTIONS = (
    *ASSUMPTIONS,
    *assumed(__file__, "beyond"),
)


def chosen(name: str, choice: Choice) -> Configuration:
    """Return a choice as a configuration."""
    return Configuration(name, choice.label, {**client(LARGE_BUFFER_BYTES), **choice.changes()})


def controlled(control: str, changes: Changes) -> Callable[[Changes], Changes]:
    """Run another congestion control at the sender."""

    def replaced(given: Changes) -> Changes:
        merged = {**given, **client(LARGE_BUFFER_BYTES), **changes}
        for name in FLOWS:
            flow = merged.get(f"flows.{name}")
            if isinstance(flow, Mapping):
                merged[f"flows.{name}"] = {**flow, "sender": {**flow["sender"], "congestion_control": control}}
        return merged

    return replaced


def over_paths(control: str) -> Callable[[Changes], Changes]:
    """Split above in place of below: Multipath QUIC with a path on each link, and no bearer."""

    def replaced(given: Changes) -> Changes:
        merged = {**given, **client(LARGE_BUFFER_BYTES), "bearers": without_bearer(given)}
        flow = cast("Mapping[str, Any]", given["flows.dc"])
        options = {"path_scheduler": "lowest_rtt"}
        sender = {**flow["sender"], "congestion_control": control, "quic": options}
        merged |= {"links.proxies2": {"delay": f"{PROXIES_MS} ms"}, "links.up2": UP2}
        paths = [{"down": ["proxies2", "down2"], "up": ["up2"]}]
        merged["flows.dc"] = {**flow, "down": ["proxies", "down1"], "paths": paths, "sender": sender}
        return {path: value for path, value in merged.items() if not path.startswith("bearers.")}

    return replaced


def without_bearer(changes: Changes) -> dict[str, object]:
    """Return the bearers that a setting adds, but for that of Dual Connectivity."""
    return {
        path.removeprefix("bearers."): value
        for path, value in changes.items()
        if path.startswith("bearers.") and path != "bearers.dc"
    }


SPLITS = tuple(chosen(name, choice) for name, choice in CHOICES.items())
ABOVE = tuple(
    Configuration(f"multipath_{control}", f"Multipath QUIC, {label}", over_paths(control))
    for control, label in (("newreno", "uncoupled"), ("lia", "LIA"), ("olia", "OLIA"), ("balia", "BALIA"))
)
TIMERS = ("0 ms", "5 ms", "10 ms", "20 ms", "40 ms", "60 ms", "100 ms", "200 ms", "400 ms", "adaptive")
DUPLICATIONS = (0, 5, 10, 20, 35, 50, 75, 100)


def timer(value: Value) -> Changes:
    """Set t-Reordering."""
    return {"bearers.dc.reordering.timer": ADAPTIVE if value == "adaptive" else value}


def copies(percent: Value) -> Changes:
    """Send a share of the packets over both links."""
    return {"bearers.dc.duplication": f"{percent} %"} if percent else {}


def linked(name: str, label: str, network: Network, choice: Choice) -> Configuration:
    """Return a network as a configuration."""
    return Configuration(name, label, {**client(LARGE_BUFFER_BYTES), **network.changes(), **choice.changes()})


def for_a_minute(engine: str, flows: Mapping[str, str]) -> Changes:
    """Run flows over links or bearers that never end, for a minute."""
    changes: dict[str, object] = {**PROXIES, "duration": f"{SECONDS} s", "until": "duration_over"}
    for flow, link in flows.items():
        changes[f"flows.{flow}"] = {**quic_flow(engine, link), "workload": file_over("quic", "1 GB")}
    return changes


def single(engine: str) -> Changes:
    """Run the bearer's flow alone."""
    return for_a_minute(engine, {"dc": "dc"})


def with_competing_flows(engine: str) -> Changes:
    """Run the bearer's flow and one over each link, which keeps order and needs no bearer."""
    return for_a_minute(engine, {"dc": "dc", "sc1": "down1", "sc2": "down2"})


def single_mbps(result: RunResult) -> float:
    """Sum of the two single-connectivity flows [Mbit/s]."""
    return delivered_mbps(result, "sc1") + delivered_mbps(result, "sc2")


ALONE = Metric("throughput_mbps", "Throughput", "Mbit/s", lambda result: delivered_mbps(result, "dc"))
SINGLE = Metric("single_connectivity_mbps", "Both flows with single connectivity", "Mbit/s", single_mbps)
_main, *_further = metrics(delivered_mbps)


def experiment(
    name: str,
    title: str,
    abstract: str,
    *,
    configurations: tuple[Configuration, ...],
    factors: tuple[Factor, ...],
    engine_changes: Callable[[str], Changes] = single,
    metric: Metric = ALONE,
    further: tuple[Metric, ...] = (EXPIRIES,),
) -> Study:
    """Return an experiment without a publication, with a figure of its metric over its first factor."""
    factor = factors[0]
    over = f"{metric.label} over the {factor.label.lower()}"
    return Study(
        f"dual_connectivity/beyond_{name}",
        design(
            configurations=configurations,
            factors=factors,
            engines=ENGINES,
            engine_changes=engine_changes,
            runs=RUNS,
        ),
        Measures(metric=metric, further=further),
        presentation(
            title=f"Dual Connectivity, beyond the papers: {title}",
            abstract=abstract,
            source=f"quiclab, on the links of {SOURCE}",
            figures=(Figure(over, "not published", factor.name, "Mean and standard deviation over the runs."),),
            assumptions=BEYOND_ASSUMPTIONS,
        ),
    )


TEN = CHOICES["batches_10"]

BEYOND = (
    experiment(
        "splitters",
        "splitters",
        "Throughput by splitter, batch and timer on links of unequal rate, delay and loss.",
        configurations=SPLITS,
        factors=(NETWORK,),
    ),
    experiment(
        "fairness",
        "splitters with competing single-connectivity flows",
        "The same choices with a flow of single connectivity on each link: impact of the gain on competing flows.",
        configurations=(*SPLITS, *ABOVE[:2]),
        factors=(NETWORK, FLOW),
        engine_changes=with_competing_flows,
        metric=_main,
        further=(*_further, SINGLE),
    ),
    experiment(
        "timer",
        "t-Reordering",
        "How long the receiver should wait: a short wait gives overtaken packets up, a long one stalls at each loss.",
        configurations=(
            linked("equal", "equal links", NETWORKS["20 + 20 Mbit/s"], TEN),
            linked("delays", "10 and 40 ms", NETWORKS["10 + 40 ms"], TEN),
            linked("loss", "0.1 % loss", NETWORKS["0.1 % loss"], TEN),
        ),
        factors=(Factor("timer", "t_reordering", "t-Reordering", "", TIMERS, timer),),
    ),
    experiment(
        "duplication",
        "partial duplication",
        "A share of the packets goes over both links: capacity for losses.",
        configurations=(
            linked("loss_01", "0.1 % loss", NETWORKS["0.1 % loss"], TEN),
            linked("loss_1", "1 % loss", NETWORKS["1 % loss"], TEN),
            linked("loss_5", "5 % loss", Network(loss_percent=5.0), TEN),
        ),
        factors=(Factor("copies", "duplication_percent", "Packets sent over both links", "%", DUPLICATIONS, copies),),
    ),
    experiment(
        "multipath",
        "the split below and above",
        "Dual Connectivity against Multipath QUIC with uncoupled and coupled control on the same links.",
        configurations=(SPLITS[0], SPLITS[-1], *ABOVE),
        factors=(NETWORK,),
        further=(),
    ),
    experiment(
        "bbr",
        "BBR",
        "NewReno, CUBIC and BBR over the published bearer and over flow control.",
        configurations=tuple(
            Configuration(
                f"{control}_{name}", f"{label}, {CHOICES[name].label}", controlled(control, CHOICES[name].changes())
            )
            for name in (PUBLISHED, "flow_control")
            for control, label in (("newreno", "NewReno"), ("cubic", "CUBIC"), ("bbr-chromium", "BBR"))
        ),
        factors=(NETWORK,),
    ),
)
