"""Findings of the tunnel thesis as predicates over what its studies measure.

Identity, source, text and limits come from `reference/claims.yaml`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from quiclab.studies.tunnel.explanations import EXPLANATIONS
from quiclab.study.claims import Claim
from quiclab.study.findings import Sample
from quiclab.study.predicates import read_entries

GROUP = "tunnel"
FILE = Path(__file__).parent / "reference" / "claims.yaml"
PLACES = ("reserved", "link", "sockets")

Value = Callable[..., float]


@dataclass(frozen=True)
class Finding:
    """How a finding is tested.

    Attributes
    ----------
    study
        Location in the publication.
    check
        The predicate; it gets a function from test, metric and setting to the mean over the runs.
    reads
        The values it reads: test, metric, configuration, network, scheduler.
    scope
        Which part of the statement is tested, where it is not all of it.
    """

    study: str
    check: Callable[[Value], bool]
    reads: tuple[tuple[str, ...], ...]
    scope: str = ""


def reader(sample: Sample) -> Value:
    """Return a function from test, metric, configuration, network and scheduler to the mean over the runs."""

    def value(test: str, metric: str, configuration: str, *setting: str) -> float:
        return sample.of(f"{GROUP}/{test}", metric).at((configuration, *setting))

    return value


def settings(test: str, metrics: tuple[str, ...], *keys: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """List the values read: each metric in each setting."""
    return tuple((test, metric, *key) for key in keys for metric in metrics)


FIFO_HOMO, FQ_HOMO = ("fifo", "homo", "rr"), ("fq", "homo", "rr")
FQ_HETERO, FQ_HETERO_LOWRTT = ("fq", "hetero", "rr"), ("fq", "hetero", "lowrtt")
RRUL_PAIRS = (("homo", "rr"), ("homo", "lowrtt"), ("hetero", "lowrtt"))

FINDINGS: Mapping[str, Finding] = {
    "TN01": Finding(
        "bottleneck",
        lambda v: all(
            v("bottleneck", "queue_bytes", "fifo", "single", "rr", "datagram_cc")
            > 9 * v("bottleneck", "queue_bytes", "fifo", "single", "rr", place)
            for place in PLACES
        ),
        tuple(("bottleneck", "queue_bytes", "fifo", "single", "rr", place) for place in ("datagram_cc", *PLACES)),
        scope="The other queue of the plugin is not modelled: the VPN reserves no frames for it.",
    ),
    "TN02": Finding(
        "bottleneck",
        lambda v: (
            v("bottleneck", "rate_25_30_mbps", "fifo", "single", "rr", "datagram_cc")
            <= 1.05 * v("bottleneck", "rate_5_10_mbps", "fifo", "single", "rr", "datagram_cc")
            and v("bottleneck", "rtt_last_ms", "fifo", "single", "rr", "datagram_cc") > 2 * 20
            and v("bottleneck", "rtt_last_ms", "fifo", "single", "rr", "datagram_cc")
            > v("bottleneck", "rtt_first_ms", "fifo", "single", "rr", "datagram_cc")
        ),
        settings(
            "bottleneck",
            ("rate_5_10_mbps", "rate_25_30_mbps", "rtt_first_ms", "rtt_last_ms"),
            ("fifo", "single", "rr", "datagram_cc"),
        ),
    ),
    "TN04": Finding(
        "single", lambda v: 20 <= v("single", "rtt_ms", *FQ_HOMO) <= 28, settings("single", ("rtt_ms",), FQ_HOMO)
    ),
    "TN05": Finding(
        "single",
        lambda v: all(33 <= v("single", "goodput_mbps", *key) <= 39 for key in (FIFO_HOMO, FQ_HOMO)),
        settings("single", ("goodput_mbps",), FIFO_HOMO, FQ_HOMO),
    ),
    "TN07": Finding(
        "single",
        lambda v: (
            v("single", "overflow_drops", *FIFO_HOMO) > 0
            and v("single", "codel_drops", *FQ_HOMO) > 0
            and v("single", "overflow_drops", *FQ_HOMO) == 0
        ),
        (
            *settings("single", ("overflow_drops",), FIFO_HOMO, FQ_HOMO),
            *settings("single", ("codel_drops",), FQ_HOMO),
        ),
        scope="That FQ-CoDel stays below its memory limit is read from drops at the limit.",
    ),
    "TN08": Finding(
        "delayed",
        lambda v: 0.4 <= v("delayed", "second_share_6_8", *FQ_HOMO) <= 0.6,
        settings("delayed", ("second_share_6_8",), FQ_HOMO),
    ),
    "TN10": Finding(
        "delayed",
        lambda v: (
            v("delayed", "jfi_12_30", *FQ_HOMO) >= 0.98
            and v("delayed", "jfi_12_30", *FQ_HOMO) > v("delayed", "jfi_12_30", *FIFO_HOMO)
        ),
        settings("delayed", ("jfi_12_30",), FQ_HOMO, FIFO_HOMO),
    ),
    "TN11": Finding(
        "delayed",
        lambda v: v("delayed", "sojourn_after_two_intervals_ms", *FQ_HOMO) <= 5,
        settings("delayed", ("sojourn_after_two_intervals_ms",), FQ_HOMO),
        scope="The last five sojourn times are read as the hundredth of a second that ends two intervals later.",
    ),
    "TN13": Finding(
        "four",
        lambda v: v("four", "jfi", *FQ_HOMO) >= 0.99 and 33 <= v("four", "goodput_mbps", *FQ_HOMO) <= 39,
        settings("four", ("jfi", "goodput_mbps"), FQ_HOMO),
    ),
    "TN14": Finding(
        "four",
        lambda v: (
            20 <= v("four", "rtt_ms", *FQ_HOMO) <= 28
            and abs(v("four", "rtt_ms", *FQ_HOMO) - v("single", "rtt_ms", *FQ_HOMO)) <= 3
        ),
        (*settings("four", ("rtt_ms",), FQ_HOMO), *settings("single", ("rtt_ms",), FQ_HOMO)),
    ),
    "TN16": Finding(
        "four",
        lambda v: (
            0.57 <= v("four", "share_a", *FQ_HETERO) <= 0.67 and 21 <= v("four", "goodput_mbps", *FQ_HETERO) <= 27
        ),
        settings("four", ("share_a", "goodput_mbps"), FQ_HETERO),
    ),
    "TN17": Finding(
        "four", lambda v: 24 <= v("four", "rtt_ms", *FQ_HETERO) <= 32, settings("four", ("rtt_ms",), FQ_HETERO)
    ),
    "TN19": Finding(
        "four",
        lambda v: 0.40 <= 1 - v("four", "rtt_ms", *FQ_HETERO_LOWRTT) / v("four", "rtt_ms", *FQ_HETERO) <= 0.65,
        settings("four", ("rtt_ms",), FQ_HETERO_LOWRTT, FQ_HETERO),
    ),
    "TN20": Finding(
        "four",
        lambda v: (
            1.03 <= v("four", "goodput_mbps", *FQ_HETERO_LOWRTT) / v("four", "goodput_mbps", *FQ_HETERO) <= 1.13
            and v("four", "reordered", *FQ_HETERO_LOWRTT) < v("four", "reordered", *FQ_HETERO)
        ),
        settings("four", ("goodput_mbps", "reordered"), FQ_HETERO_LOWRTT, FQ_HETERO),
    ),
    "TN22": Finding(
        "rrul",
        lambda v: (
            all(
                v("rrul", metric, *key) >= 0.95 for metric in ("jfi", "jfi_up") for key in (FQ_HETERO, FQ_HETERO_LOWRTT)
            )
            and v("rrul", "rtt_ms", *FQ_HETERO_LOWRTT) < v("rrul", "rtt_ms", *FQ_HETERO)
        ),
        settings("rrul", ("jfi", "jfi_up", "rtt_ms"), FQ_HETERO, FQ_HETERO_LOWRTT),
    ),
    "TN23": Finding(
        "rrul",
        lambda v: all(
            v("rrul", "rtt_ms", "fq", *key) < v("rrul", "rtt_ms", "fifo", *key)
            and v("rrul", "jfi", "fq", *key) > v("rrul", "jfi", "fifo", *key)
            for key in RRUL_PAIRS
        ),
        settings("rrul", ("rtt_ms", "jfi"), *((kind, *key) for key in RRUL_PAIRS for kind in ("fq", "fifo"))),
    ),
    "TN25": Finding(
        "window",
        lambda v: all(v("window", "in_flight", "static", net, "rr") <= 1 for net in ("homo", "hetero")),
        settings("window", ("in_flight",), ("static", "homo", "rr"), ("static", "hetero", "rr")),
    ),
    "TN26": Finding(
        "media",
        lambda v: (
            v("media", "highest_second_mbps", "fq", "homo", "rr", "media") <= 3
            and all(
                v("media", "goodput_mbps", kind, "homo", "rr", traffic) <= 0.2 * 36
                for kind in ("fq", "fifo")
                for traffic in ("media", "udp")
            )
        ),
        (
            ("media", "highest_second_mbps", "fq", "homo", "rr", "media"),
            *settings(
                "media",
                ("goodput_mbps",),
                *((kind, "homo", "rr", traffic) for kind in ("fq", "fifo") for traffic in ("media", "udp")),
            ),
        ),
    ),
}


@cache
def entries() -> Mapping[str, Mapping[str, str]]:
    """Return the entries of the reference by identity."""
    return read_entries(FILE)


def numbers(finding: Finding) -> Callable[[Sample], Mapping[str, float]]:
    """Return the values of a predicate, each with its setting."""

    def read(sample: Sample) -> Mapping[str, float]:
        value = reader(sample)
        return {
            f"{test}: {metric} ({', '.join(key)})": value(test, metric, *key) for test, metric, *key in finding.reads
        }

    return read


def claim_of(identity: str) -> Claim:
    """Build a claim from its entry and how it is tested."""
    entry, finding = entries()[identity], FINDINGS[identity]
    return Claim(
        identity,
        entry["source"],
        " ".join(entry["statement"].split()),
        lambda sample: bool(finding.check(reader(sample))),
        numbers(finding),
        scope=finding.scope,
        explanation=EXPLANATIONS.get(identity, ""),
    )


def claims_of(study: str) -> tuple[Claim, ...]:
    """Return the claims of a study."""
    return tuple(claim_of(identity) for identity, finding in FINDINGS.items() if finding.study == study)
