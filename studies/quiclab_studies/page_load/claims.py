"""Findings of the page-load thesis: the predicates of the reference, and what their names mean here.

`reference/claims.yaml` holds each finding with its predicate, a Python expression over means of the repeated
runs, and the vocabulary in its header. Here are the functions that these expressions call, each of which reads one of
the studies, and where a claim is reported. Significance is Welch's test on the runs of the resample in turn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from quiclab.result.stats import SIGNIFICANT, percent_difference, spearman, welch_p_values
from quiclab.study.findings import Sample
from quiclab.study.predicates import Note, Reference, Vocabulary
from quiclab_studies.page_load.traces import SRTT_TIMES_MS
from quiclab_studies.reductions import jain
from quiclab_studies.remarks import remarks

if TYPE_CHECKING:
    from quiclab.result.stats import Array, Statistic
    from quiclab.study.findings import Key

GROUP = "page_load"
FILE = Path(__file__).parent / "reference" / "claims.yaml"
BW = (10, 50, 100)
S = (5, 10, 100, 200, 500, 1000, 10000)
FEW, MANY = ((1000, 1), (500, 2), (200, 5), (100, 10)), ((10, 100), (5, 200))
M = FEW + MANY
EXTRA_RTT_MS = 112 - 36

PLACES: Mapping[str, tuple[str, ...]] = {
    "sizes": (
        *("PL01", "PL02", "PL04", "PL05", "PL07", "PL08", "PL10", "PL11", "PL22", "PL25", "PL28", "PL34"),
        *("PL38", "PL40", "PL50", "PL52"),
    ),
    "counts": ("PL13", "PL14", "PL16", "PL23", "PL26", "PL29", "PL32", "PL35", "PL43", "PL49", "PL65"),
    "hystart": ("PL17", "PL19", "PL20"),
    "loss_window": ("PL31",),
    "reordering": ("PL46", "PL47", "PL53"),
    "fairness": ("PL55", "PL56", "PL58", "PL59", "PL62"),
}
"""Study that reports a claim, without the group."""

BY_CONSTRUCTION = ("PL02", "PL08", "PL38")


@dataclass(frozen=True)
class Window:
    """Samples of a window that a predicate reduces to a mean or a quantile: runs are reduced before."""

    stack: str
    where: str
    start_s: float
    end_s: float | None


class Names(Vocabulary):
    """The names that a predicate may use, over one sample."""

    group = GROUP

    def __init__(self, sample: Sample, home: str, note: Note | None = None) -> None:
        # computed for all resamples at once: there are 2000, and up to a few hundred terms in a predicate
        self._series: dict[tuple[Any, ...], list[float]] = {}
        super().__init__(sample, home, note)

    def names(self) -> Mapping[str, Any]:
        """Return the definitions of the names."""
        return {
            **{name: self.noted(name) for name in MEASURED},
            **{name: getattr(self, name) for name in ("W", "L", "tput", "cwnd_kb", "avg", "quantile")},
            "BW": BW,
            "S": S,
            "FEW": FEW,
            "MANY": MANY,
            "M": M,
            "spearman": spearman,
            "share": lambda rates: rates[0] / math.fsum(rates),
            "jain": jain,
        }

    # --- what is read

    def _key(self, view: Sample, configuration: str, point: Mapping[str, Any]) -> Key:
        """Return the key of a setting; factors that a claim does not name have one value only."""
        return (configuration, *(point.get(name, values[0]) for name, values in view.factors.items()))

    def _at(self, study: str, configuration: str, point: Mapping[str, Any], metric: str = "") -> float:
        """Read a value of the resample in turn."""
        view = self.view(study, metric)
        return view.at(self._key(view, configuration, point))

    def _once(self, asked: tuple[Any, ...], compute: Callable[[], Array]) -> float:
        """Return a number of the resample in turn, of those computed for all; NaN if there is none."""
        found = self._series.get(asked)
        if found is None:
            found = self._series[asked] = compute().tolist()
        return found[self._sample.index]

    def _place(self, net: str, bw: int, kb: int, n: int) -> tuple[str, dict[str, Any]]:
        """Return study and point of a page; that of 1 MB in one object is in both studies."""
        if n == 1 and not (self._home == "counts" and kb == 1000):
            return "sizes", {"network": net, "rate": bw, "size": kb}
        return "counts", {"network": net, "rate": bw, "page": f"{kb}x{n}"}

    def _means(self, net: str, stack: str, bw: int, kb: int, n: int, statistic: Statistic = "mean") -> Array:
        study, point = self._place(net, bw, kb, n)
        view = self.view(study, "", statistic)
        return view.series(self._key(view, stack, point))

    def _side(self, net: str, stack: str, bw: int, kb: int, n: int) -> tuple[Array, Array, int]:
        page = (net, stack, bw, kb, n)
        study, point = self._place(net, bw, kb, n)
        view = self.view(study)
        return self._means(*page), self._means(*page, "std"), view.count(self._key(view, stack, point))

    # --- the vocabulary

    def mean(self, net: str, stack: str, bw: int, kb: int, n: int = 1) -> float:
        """Mean page load time [ms]."""
        found = self._once(("mean", net, stack, bw, kb, n), lambda: self._means(net, stack, bw, kb, n))
        if math.isnan(found):
            study, point = self._place(net, bw, kb, n)
            raise self.not_measured((stack, *point.values()), study)
        return found

    def D(self, net: str, a: str, b: str, bw: int, kb: int, n: int = 1) -> float:  # noqa: N802 - name in the reference
        """Difference in percent of the first; positive where it is faster."""

        def computed() -> Array:
            first, second = self._means(net, a, bw, kb, n), self._means(net, baseline_of(a, b), bw, kb, n)
            return (second - first) / first * 100

        found = self._once(("D", net, a, b, bw, kb, n), computed)
        if math.isnan(found):  # one of the two says which
            return percent_difference(self.mean(net, a, bw, kb, n), self.mean(net, baseline_of(a, b), bw, kb, n))
        return found

    def gap(self, net: str, a: str, b: str, bw: int, kb: int, n: int = 1) -> float:
        """Difference of the means [ms]."""
        return self.mean(net, baseline_of(a, b), bw, kb, n) - self.mean(net, a, bw, kb, n)

    def W(self, net: str, a: str, b: str, bw: int, kb: int, n: int = 1) -> bool:  # noqa: N802
        """Whether the first is significantly faster."""
        return self._significant(net, a, b, bw, kb, n, 1)

    def L(self, net: str, a: str, b: str, bw: int, kb: int, n: int = 1) -> bool:  # noqa: N802
        """Whether the first is significantly slower."""
        return self._significant(net, a, b, bw, kb, n, -1)

    def _significant(self, net: str, a: str, b: str, bw: int, kb: int, n: int, sign: int) -> bool:
        difference = self.mapping["D"](net, a, b, bw, kb, n)
        if not difference * sign > 0:
            return False
        p = self._once(
            ("p", net, a, b, bw, kb, n),
            lambda: welch_p_values(self._side(net, a, bw, kb, n), self._side(net, baseline_of(a, b), bw, kb, n)),
        )
        if math.isnan(p):
            study, point = self._place(net, bw, kb, n)
            raise self.not_measured((a, *point.values(), "its runs and TCP's are all the same: no p-value"), study)
        return p < SIGNIFICANT

    def rtt_slope(self, stack: str, bw: int, kb: int, n: int = 1) -> float:
        """Round trips in the page load time, from the two latencies."""
        return (self.mean("lat", stack, bw, kb, n) - self.mean("base", stack, bw, kb, n)) / EXTRA_RTT_MS

    def handshake_slope(self, stack: str) -> float:
        """Round trips before the request."""
        point = {"rate": BW[-1], "size": S[0]}
        base, far = (self._at("sizes", stack, {**point, "network": net}, "html_ms") for net in ("base", "lat"))
        return (far - base) / EXTRA_RTT_MS - 1

    def rate(self, scenario: str, flow: int) -> float:
        """Mean rate of a flow with the others [Mbit/s]."""
        return self._at("fairness", scenario, {"flow": flow})

    def tput(self, scenario: str) -> list[float]:
        """Mean rates of all flows, QUIC first [Mbit/s]."""
        return [self.mapping["rate"](scenario, flow) for flow in range(1, flows_of(scenario) + 1)]

    def _page(self, stack: str, kb: int, n: int, metric: str) -> float:
        return self._at("hystart", stack, {"network": "base", "rate": BW[-1], "page": f"{kb}x{n}"}, metric)

    def hystart_exit_s(self, stack: str, kb: int, n: int) -> float:
        """When Hybrid Slow Start ends, after the request [s]."""
        return self._page(stack, kb, n, "hystart_exit_s")

    def left_slow_start(self, stack: str, kb: int, n: int) -> float:
        """Part of the runs that leave slow start before the page is there."""
        return self._page(stack, kb, n, "left_slow_start")

    def losses_before(self, stack: str, kb: int, n: int, at_s: float) -> float:
        """Packets declared lost until the same stack leaves slow start."""
        del at_s  # that time, in each run
        return self._page(stack, kb, n, "losses_before_exit")

    def srtt_ms(self, stack: str, kb: int, n: int, at_s: float) -> float:
        """Smoothed RTT: of TCP at a time, of QUIC when it has left slow start [ms]."""
        if stack != "tcp":
            return self._page(stack, kb, n, "srtt_after_exit_ms")
        later = [time for time in SRTT_TIMES_MS if time >= 1e3 * at_s - 1e-9]
        return self._page(stack, kb, n, f"srtt_{later[0] if later else SRTT_TIMES_MS[-1]}_ms")

    def ca_fraction(self, stack: str, kb: int, n: int) -> float:
        """Part of the transfer in congestion avoidance."""
        return self._page(stack, kb, n, "ca_fraction")

    def cwnd_kb(self, stack: str, where: str, start_s: float, end_s: float | None) -> Window:
        """Return samples of a window, for `avg` and `quantile`."""
        return Window(stack, where, start_s, end_s)

    def window_kb(self, stack: str, where: str, metric: str) -> float:
        """Return a number over the samples of a window, in a network or with other flows [kB]."""
        if "+" in where:
            return self._at("fairness", where, {"flow": flow_of(stack)}, metric)
        return self._at("loss_window" if where == "loss" else "reordering", stack, {"network": where}, metric)

    def avg(self, values: Iterable[float] | Window) -> float:
        """Arithmetic mean."""
        if not isinstance(values, Window):
            return fmean(values)
        part = "mean" if values.end_s is None else f"{values.start_s:g}_{values.end_s:g}"
        return float(self.mapping["window_kb"](values.stack, values.where, f"cwnd_{part}_kb"))

    def quantile(self, values: Window, q: float) -> float:
        """Quantile of the samples of a window [kB]."""
        return float(self.mapping["window_kb"](values.stack, values.where, f"cwnd_p{100 * q:g}_kb"))

    def lost_pkts(self, stack: str, where: str, start_s: float, end_s: float) -> float:
        """Packets declared lost between two times."""
        return self._at("reordering", stack, {"network": where}, f"lost_{start_s:g}_{end_s:g}")

    def declared_lost(self, stack: str, where: str) -> float:
        """Packets declared lost in the whole transfer."""
        return self._at("reordering", stack, {"network": where}, "declared_lost")

    def declared_falsely(self, stack: str, where: str) -> float:
        """Those of them that were acknowledged later."""
        return self._at("reordering", stack, {"network": where}, "declared_falsely")

    def seconds_with_losses(self, stack: str, where: str) -> float:
        """Seconds of the first 150 in which a packet is declared lost."""
        return self._at("reordering", stack, {"network": where}, "seconds_with_losses")

    def reorder_threshold(self, stack: str, where: str, at_s: float) -> float:
        """Reordering that is permitted at a time [packets]."""
        return self._at("reordering", stack, {"network": where}, f"threshold_{at_s:g}s")

    def cwnd_updates_per_s(self, stack: str, scenario: str) -> float:
        """Changes of the window per second."""
        return self._at("fairness", scenario, {"flow": flow_of(stack)}, "cwnd_updates_per_s")


MEASURED = (
    "mean",
    "D",
    "gap",
    "rtt_slope",
    "handshake_slope",
    "rate",
    "hystart_exit_s",
    "left_slow_start",
    "losses_before",
    "srtt_ms",
    "ca_fraction",
    "window_kb",
    "lost_pkts",
    "declared_lost",
    "declared_falsely",
    "seconds_with_losses",
    "reorder_threshold",
    "cwnd_updates_per_s",
)


def baseline_of(first: str, second: str) -> str:
    """Return the configuration that a stack is compared with: gQUIC with the TCP of its own period."""
    return "tcp_replicated" if first == "gquic37" and second == "tcp" else second


def flows_of(scenario: str) -> int:
    """Return the number of flows in a scenario such as `Q2+4T`."""
    return sum(int(part[:-1] or 1) if part.endswith("T") else 1 for part in scenario.split("+"))


def flow_of(stack: str) -> int:
    """Return the number of a stack's first flow: QUIC's is the first."""
    return 2 if stack.startswith("tcp") else 1


REFERENCE = Reference(
    FILE,
    Names,
    PLACES,
    **remarks(Path(__file__).with_name("claims.toml")),
    by_construction=BY_CONSTRUCTION,
)
