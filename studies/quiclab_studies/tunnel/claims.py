"""Findings of the tunnel thesis: the predicates of the reference, and what their names mean here.

`reference/claims.yaml` holds each finding with its predicate, a Python expression over means of the repeated runs, and
the vocabulary in its header. Here are the functions that these expressions call, each of which reads one of the
studies, and where a claim is reported.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from quiclab.study.predicates import Reference, Vocabulary, term
from quiclab_studies.remarks import remarks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

GROUP = "tunnel"
FILE = Path(__file__).parent / "reference" / "claims.yaml"

PLACES: Mapping[str, tuple[str, ...]] = {
    "bottleneck": ("TN01", "TN02"),
    "single": ("TN03", "TN04", "TN05", "TN07", "TN12"),
    "delayed": ("TN08", "TN09", "TN10", "TN11"),
    "four": ("TN06", "TN13", "TN14", "TN15", "TN16", "TN17", "TN18", "TN19", "TN20", "TN21"),
    "rrul": ("TN22", "TN23"),
    "window": ("TN24", "TN25"),
    "media": ("TN26", "TN27"),
}
"""Study that reports a claim, without the group."""
STUDY_OF: Mapping[str, str] = {
    "tcp1": "single",
    "tcp2": "delayed",
    "tcp4": "four",
    "rrul": "rrul",
    "media": "media",
    "udp": "media",
}
"""Study of a test; the bottleneck and the windows have their own."""
METRICS = (
    "goodput_mbps",
    "rtt_ms",
    "rtt_first_ms",
    "rtt_last_ms",
    "rate_5_10_mbps",
    "rate_25_30_mbps",
    "jfi",
    "jfi_up",
    "jfi_12_30",
    "second_share_6_8",
    "share_a",
    "reordered",
    "overflow_drops",
    "codel_drops",
    "sojourn_after_two_intervals_ms",
    "in_flight",
    "highest_second_mbps",
    "codel_drops_5_30",
    "sojourn_median_5_30_ms",
    "sojourn_p99_5_30_ms",
    "sojourn_median_2_30_ms",
    "queue_most_2_30_bytes",
    "in_flight_most_2_30_bytes",
    "path_drops",
    "window_falls",
)
WINDOWS = ("static", "cubic_grows")
"""Configurations of the test of windows that predicates name in place of a queue."""
"""Metrics of the studies that are names of the predicates."""


class Names(Vocabulary):
    """The names that a predicate may use, over one sample."""

    group = GROUP

    def names(self) -> Mapping[str, Any]:
        """Return the definitions of the names."""
        return {**{name: self._mean(name) for name in METRICS}, "queue_bytes": self.noted("queue_bytes")}

    def _mean(self, metric: str) -> Callable[[str, str, str, str], float]:
        """Return a function from a test and its setting to the mean of a metric over the runs."""

        def mean(test: str, net: str, sched: str, qdisc: str) -> float:
            text = term(metric, test, net, sched, qdisc)
            return self.tell(text, self._at(metric, test, net, sched, qdisc))

        return mean

    def _at(self, metric: str, test: str, net: str, sched: str, qdisc: str, place: str = "datagram_cc") -> float:
        study, key = STUDY_OF[test], (qdisc, net, sched)
        if net == "single":  # a run has its numbers at each of the places
            return self.view("bottleneck", metric).at((*key, place))
        if qdisc in WINDOWS:
            study = "window"
        return self.view(study, metric).at((*key, test) if study == "media" else key)

    def queue_bytes(self, place: str, test: str, net: str, sched: str, qdisc: str) -> float:
        """Mean of the bytes that wait in a place [B]."""
        return self._at("queue_bytes", test, net, sched, qdisc, place)


REFERENCE = Reference(
    FILE,
    Names,
    PLACES,
    **remarks(Path(__file__).with_name("claims.toml")),
    by_construction=("TN24",),
    every_term=True,
)
