"""Findings of the pacing thesis: the predicates of the reference, and what their names mean here.

`reference/claims.yaml` holds each finding with its predicate, a Python expression over distributions of a
variant at a rate. Here these are names of metrics, each reduced in a run (`_pacing_metrics`); a predicate reads the
means of the runs of the resample in turn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quiclab.study.predicates import Reference, Vocabulary
from quiclab_studies.pacing.metrics import EVEN_PARTS, LARGE_ACK
from quiclab_studies.remarks import remarks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

GROUP = "pacing"
FILE = Path(__file__).parent / "reference" / "claims.yaml"
QUIC = ("aioquic", "picoquic", "quic-go", "ngtcp2")
TCP_APPS = ("netcat", "apache", "custom")
VARIANTS = {
    "tcp": "netcat",
    "tcp_unpaced": "netcat",
    "tcp_bbr": "bbr",
    "tcp_so_max_pacing_rate": "so_max_pacing_rate",
    "picoquic": "picoquic_cubic",
}
"""Names of the reference for configurations that have another one here."""
FAST = 100
"""Rate of a predicate that names none, in Mbit/s: with 10 Mbit/s only the first packets leave in bursts."""
PLACES: Mapping[str, tuple[str, ...]] = {
    "utilisation": ("PA-01", "PA-04"),
    "acks": ("PA-05", "PA-06", "PA-07", "PA-08", "PA-10", "PA-11", "PA-12", "PA-13"),
    "intervals": (
        *("PA-14", "PA-16", "PA-17", "PA-18", "PA-19", "PA-20", "PA-22"),
        *("PA-23", "PA-24", "PA-25", "PA-28", "PA-29", "PA-30"),
    ),
}
"""Study that reports a claim, without the group."""
BY_CONSTRUCTION = ("PA-04", "PA-13", "PA-14", "PA-20", "PA-29")


@dataclass(frozen=True)
class Series:
    """A distribution of a variant at a rate; `unit` is what a millisecond, or a packet, is in its numbers."""

    study: str
    kind: str
    variant: str
    rate: int
    unit: float = 1.0


class Names(Vocabulary):
    """The names that a predicate may use, over one sample."""

    group = GROUP

    def names(self) -> Mapping[str, Any]:
        """Return the definitions of the names."""
        distributions = {
            "send_interval_ms": ("intervals", "send", 1.0),
            "send_interval_us": ("intervals", "send", 1e3),
            "ack_interval_ms": ("intervals", "ack", 1.0),
            "burst_gap_ms": ("intervals", "between_fixed", 1.0),
            "gap_in_burst_us": ("intervals", "within_fixed", 1e3),
            "burst_packets": ("intervals", "burst_fixed", 1.0),
            "packets_per_ack": ("acks", "covered", 1.0),
        }
        own = (
            "share",
            "percentile",
            "median",
            "mode",
            "has_mode",
            "peaks",
            "width",
            "max",
            "moving_median",
            "period_s",
        )
        return {
            **{name: self._distribution(*made) for name, made in distributions.items()},
            **{name: getattr(self, name if name != "max" else "largest") for name in own},
            **{name: getattr(self, name) for name in ("util", "dup_ack_share", "loss_rate", "frame_bytes")},
            "packet_weighted_median": self.packet_weighted_median,
            "above": self.above,
            "rel": self.rel,
            "norm_intervals": self._distribution("intervals", "even", 1.0),
            "large_acks": self.large_acks,
            "mode_ms": self.mode_ms,
            "ks": self.ks,
            "QUIC": QUIC,
            "TCP_APPS": TCP_APPS,
        }

    @staticmethod
    def _distribution(study: str, kind: str, unit: float) -> Callable[..., Series]:
        def made(variant: str, rate: int = FAST) -> Series:
            return Series(study, kind, variant, rate, unit)

        return made

    def _read(self, study: str, metric: str, variant: str, rate: int) -> float:
        """Read a metric of a configuration at a rate."""
        configuration = VARIANTS.get(variant, variant)
        value = self.view(study, metric)(configuration, rate=rate)
        if math.isnan(value):
            raise self.not_measured((configuration, rate, metric), study)
        return self.tell(f"{metric} of {configuration}, {rate} Mbit/s", value)

    def _of(self, series: Series, metric: str) -> float:
        return self._read(series.study, metric, series.variant, series.rate)

    # --- distributions

    def share(self, series: Series, low: float, high: float) -> float:
        """Part of the values within two limits."""
        if series.kind == "covered":
            return self._of(series, f"covered_share_{low:g}_{high:g}")
        return self._of(series, f"{series.kind}_share_{low / series.unit:g}_{high / series.unit:g}")

    @staticmethod
    def above(series: Series, limit: float) -> Series:
        """The values larger than a limit."""
        return replace(series, kind=f"{series.kind}_above_{limit / series.unit:g}")

    @staticmethod
    def rel(value: float, expected: float) -> float:
        """Distance from a value, as a part of it."""
        return abs(value / expected - 1)

    def ks(self, first: Series, second: Series) -> float:
        """Distance of two distributions.

        Of the intervals between bursts and between ACKs of the same runs, or of two stacks' multiples of the even
        interval, at some of these.
        """
        if first.kind == second.kind == "even":
            parts = [f"send_even_{part:g}" for part in EVEN_PARTS]
            return float(max(abs(self._of(first, part) - self._of(second, part)) for part in parts))
        one, other = sorted((first, second), key=lambda series: series.kind)
        if (one.kind, other.kind) != ("ack", "between") or (one.variant, one.rate) != (other.variant, other.rate):
            raise self.not_measured((first.variant, first.rate, f"{first.kind} and {second.kind}"), first.study)
        return self._of(other, "clock_distance")

    def percentile(self, series: Series, percent: float) -> float:
        """A percentile."""
        if series.kind in ("burst_fixed", "covered"):
            return self._of(series, f"{series.kind}_q{percent / 100:g}_packets")
        return self._of(series, f"{series.kind}_q{percent / 100:g}_ms") * series.unit

    def median(self, series: Series | float) -> float:
        """The median; that of the frames is a number already."""
        return self.percentile(series, 50) if isinstance(series, Series) else series

    def mode_ms(self, series: Series) -> float:
        """The most common interval [ms]."""
        return self._of(series, f"{series.kind}_mode_ms")

    def large_acks(self, variant: str) -> float:
        """Part of the ACKs at 10 Mbit/s that cover ten packets or more."""
        return self._read("acks", f"covered_share_{LARGE_ACK}_up", variant, 10)

    def mode(self, series: Series) -> float:
        """The most common number of packets, rounded: runs may differ."""
        return float(round(self._of(series, f"{series.kind}_mode_packets")))

    def has_mode(self, series: Series, low: float, high: float) -> bool:
        """Whether most runs have a peak within two limits."""
        return self._peaks(series, low, high) >= 0.5

    def peaks(self, series: Series, low: float, high: float) -> int:
        """Peaks within two limits, rounded: runs may differ."""
        return round(self._peaks(series, low, high))

    def _peaks(self, series: Series, low: float, high: float) -> float:
        return self._of(series, f"{series.kind}_peaks_{low / series.unit:g}_{high / series.unit:g}")

    def largest(self, values: Series | float, *others: float) -> float:
        """The largest of a distribution, or of numbers."""
        if isinstance(values, Series):
            return self._of(values, f"{values.kind}_largest_ms") * values.unit
        return max(values, *others) if others else max(values)  # type: ignore[call-overload]

    def width(self, variant: str, rate: int) -> float:
        """Width of the ACK intervals [ms]."""
        return self._read("intervals", "ack_width_ms", variant, rate)

    def packet_weighted_median(self, series: Series) -> float:
        """The median over packets, not over ACKs."""
        return self._of(series, f"{series.kind}_q0.5_weighted_packets")

    def moving_median(self, series: Series, seconds: float) -> Series:
        """Medians of a second, whose period `period_s` is."""
        del seconds  # that of the metric
        return series

    def period_s(self, series: Series) -> float | None:
        """The period of the packets per ACK, or `None`."""
        found = self._of(series, "ack_period_s")
        return found if found > 0 else None

    # --- numbers

    def util(self, variant: str, link_mbps: int) -> float:
        """Utilisation of a link."""
        return self._read("utilisation", "utilisation", variant, link_mbps)

    def dup_ack_share(self, variant: str, rate: int) -> float:
        """Duplicate ACKs of all."""
        return self._read("acks", "dup_ack_share", variant, rate)

    def loss_rate(self, variant: str, rate: int) -> float:
        """Packets lost of all sent."""
        return self._read("acks", "loss_rate", variant, rate)

    def frame_bytes(self, variant: str) -> float:
        """Median frame [B]."""
        return self._read("intervals", "frame_bytes", variant, 10)


REFERENCE = Reference(
    FILE,
    Names,
    PLACES,
    **remarks(Path(__file__).with_name("claims.toml")),
    by_construction=BY_CONSTRUCTION,
)
