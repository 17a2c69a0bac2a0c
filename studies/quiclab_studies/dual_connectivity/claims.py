"""Claims of QUIC over Dual Connectivity: the predicates of the reference, and what their names mean here.

`reference/claims.yaml` holds each finding with its predicate, a Python expression over means of the
repeated runs. Here are the functions that these expressions call, each of which reads one of the studies, and where a
claim is reported.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from statistics import fmean, median
from typing import Any

from quiclab.result.stats import Statistic, relative_difference
from quiclab.study import Study
from quiclab.study.predicates import Reference, Vocabulary, term
from quiclab_studies.dual_connectivity.alone import BATCHES, DUPLICATED_LOSSES, LOSSES, RATIOS, SHARES, SIZES_MB
from quiclab_studies.remarks import remarks

GROUP = "dual_connectivity"
FILE = Path(__file__).parent / "reference" / "claims.yaml"
CONFS = ("quic_default_buffer", "quic_large_buffer", "tcp")

PLACES = {
    "pdcp": ("DC-01", "DC-02", "DC-03", "DC-04", "DC-05"),
    "proxy": ("DC-06", "DC-07", "DC-08"),
    "reordering": ("DC-23",),
    "utilisation": ("DC-24", "DC-28"),
    "file_size": ("DC-13", "DC-15", "DC-17", "DC-18", "DC-19"),
    "batch_size": ("DC-09", "DC-10", "DC-11", "DC-14", "DC-20", "DC-21", "DC-22"),
    "share": ("DC-25", "DC-26", "DC-27"),
    "bandwidth_ratio": ("DC-29", "DC-30"),
    "bandwidth_ratio_matched": ("DC-31", "DC-32", "DC-33"),
    "delay_ratio_low": ("DC-34",),
    "delay_ratio_high": ("DC-12", "DC-35", "DC-36", "DC-37", "DC-38"),
    "loss": ("DC-41", "DC-42"),
    "loss_duplicated": ("DC-43", "DC-44", "DC-45", "DC-46", "DC-63"),
    "fairness_default": ("DC-16", "DC-64", "DC-67", "DC-68"),
    "fairness_batch_size": ("DC-47", "DC-48", "DC-49"),
    "fairness_share": ("DC-50", "DC-51", "DC-52"),
    "fairness_bandwidth_ratio_matched": ("DC-53", "DC-54"),
    "fairness_delay_ratio_low": ("DC-55", "DC-56"),
    "fairness_delay_ratio_high": ("DC-57", "DC-58", "DC-59"),
    "fairness_loss": ("DC-60",),
    "fairness_loss_duplicated": ("DC-61", "DC-62"),
    "pairs": ("DC-65", "DC-66"),
    "pacer_high_delay": ("DC-39",),
    "better_link": ("DC-40",),
    "ngtcp2_default": ("DC-69",),
    "ngtcp2_batch_size": ("DC-70", "DC-71"),
    "ngtcp2_bandwidth_ratio_matched": ("DC-74", "DC-79"),
    "ngtcp2_delay_ratio_high": ("DC-76",),
    "ngtcp2_fairness_batch_size": ("DC-72", "DC-73", "DC-75"),
    "ngtcp2_fairness_delay_ratio_high": ("DC-77",),
    "ngtcp2_loss": ("DC-78",),
    "lte_batch_size": ("DC-80",),
    "lte_delay_ratio_high": ("DC-81",),
    "lte_loss": ("DC-82",),
}
"""Study that reports a claim, without the group."""
SYNTHETIC = (
    "the published trace is not installed (see `quiclab trace import --install lte`); over the synthetic one the claim "
    "cannot be tested"
)


class Names(Vocabulary):
    """The names that a predicate may use, over one sample."""

    group = GROUP

    def names(self) -> Mapping[str, Any]:
        """Return the definitions of the names."""
        return {
            **{name: getattr(self, name) for name in ("T", "S", "F", "SF", "G", "J")},
            **{name: self.noted(name) for name in MEASURED},
            "CONFS": CONFS,
            "BATCHES": BATCHES,
            "SHARES": SHARES,
            "RATIOS": RATIOS,
            "LOSSES": LOSSES,
            "DUP_LOSSES": DUPLICATED_LOSSES,
            "GRID": lambda: list(chain(grid(), ({"file_mb": size} for size in SIZES_MB))),
            "FGRID": lambda: list(grid()),
            "mean": fmean,
            "median": median,
            "frac": lambda values: fmean(bool(value) for value in values),
            "rel": relative_difference,
        }

    def _at(
        self, key: Sequence[str | int | float], study: str, metric: str = "", statistic: Statistic = "mean"
    ) -> float:
        return self.view(study, metric, statistic).at(tuple(key))

    def _alone(self, statistic: Statistic, conf: str, **point: Any) -> float:
        impl, control, trace = (point.pop(name, None) for name in ("impl", "cc", "trace"))
        if "single_link" in point:
            return self._at((conf, "delay" if "link2_delay_ms" in point else "rate"), "better_link", "", statistic)
        if "pacer" in point:
            place = ("pacer_high_delay", 1.0) if point.get("delay_sum") == 200 else ("pacer_off", 100)
            return self._at((conf if point["pacer"] else "pacer_off", place[1]), place[0], "", statistic)
        if "pdcp" in point or "dc" in point:
            return self._at((connectivity(point),), "pdcp", "", statistic)
        study, values = setting(point)
        configuration = conf
        if conf == "tcp" and control == "cubic":
            study, configuration = f"ngtcp2_{study}", "tcp_cubic"
        if impl == "ngtcp2":
            study = f"ngtcp2_{study}"
            configuration = f"ngtcp2_{control or 'newreno'}"
            if conf == "quic_default_buffer" or not point:
                study, configuration, values = "ngtcp2_default", conf, ()
        if trace is not None:
            study = f"lte_{study.removeprefix('ngtcp2_')}"
        return self._at((configuration, *values), study, "", statistic)

    def T(self, conf: str, **point: Any) -> float:  # noqa: N802 - the name in the reference
        """Mean throughput of a file download alone [Mbit/s]."""
        return self.tell(term("T", conf, **point), self._alone("mean", conf, **point))

    def S(self, conf: str, **point: Any) -> float:  # noqa: N802
        """Its standard deviation over the runs [Mbit/s]."""
        return self.tell(term("S", conf, **point), self._alone("std", conf, **point))

    def _three(self, metric: str, statistic: Statistic, flow: str, point: dict[str, Any]) -> float:
        impl, control = point.pop("impl", "aioquic"), point.pop("cc", "newreno")
        study, values = setting(point)
        study = f"fairness_{study}"
        configuration = "quic_large_buffer"
        if impl == "ngtcp2":
            study, configuration = f"ngtcp2_{study}", f"ngtcp2_{control}"
        return self._at((configuration, *values, flow), study, metric, statistic)

    def F(self, flow: str, **point: Any) -> float:  # noqa: N802
        """Mean throughput of a flow with the two others [Mbit/s]."""
        return self.tell(term("F", flow, **point), self._three("throughput_mbps", "mean", flow, dict(point)))

    def SF(self, flow: str, **point: Any) -> float:  # noqa: N802
        """Its standard deviation over the runs [Mbit/s]."""
        return self.tell(term("SF", flow, **point), self._three("throughput_mbps", "std", flow, dict(point)))

    def G(self, flow: str, **point: Any) -> float:  # noqa: N802
        """Mean goodput of a flow with the two others, where its rate is that of the interfaces [Mbit/s]."""
        return self.tell(term("G", flow, **point), self._three("goodput_mbps", "mean", flow, dict(point)))

    def J(self, **point: Any) -> float:  # noqa: N802
        """Mean of Jain's index of the three flows."""
        return self.tell(term("J", **point), self._three("jfi", "mean", "dc", dict(point)))

    def loss_events(self, *, dc: bool, pdcp: bool) -> float:
        """Reductions of the window in a download without jitter."""
        return self._at((connectivity({"dc": dc, "pdcp": pdcp}),), "pdcp", "loss_events")

    def lost_packets(self, *, dc: bool, pdcp: bool) -> float:
        """Packets declared lost in it."""
        return self._at((connectivity({"dc": dc, "pdcp": pdcp}),), "pdcp", "lost_packets")

    def spurious_share(self, *, dc: bool, pdcp: bool) -> float:
        """Share of these that were acknowledged after all."""
        return self._at((connectivity({"dc": dc, "pdcp": pdcp}),), "pdcp", "spurious_share")

    def rtt_ms(self, *, proxy: bool) -> float:
        """Mean smoothed RTT over one link [ms]."""
        return self._at(("quic_default_buffer", str(proxy).lower()), "proxy", "rtt_ms")

    def throughput_mbps(self, *, proxy: bool) -> float:
        """Throughput over one link [Mbit/s]."""
        return self._at(("quic_default_buffer", str(proxy).lower()), "proxy", "throughput_mbps")

    def rcvbuf_errors(self, conf: str) -> float:
        """Datagrams dropped at the socket, at the default point and at 5:1 with the matched split together."""
        at_default = self._at((conf, 100), "batch_size", "rcvbuf_errors")
        return at_default + self._at((conf, 5.0), "bandwidth_ratio_matched", "rcvbuf_errors")

    def reordered_per_1000(self, *, batch: int) -> float:
        """Packets overtaken of a thousand, without jitter."""
        return self._at(("quic_large_buffer", batch), "reordering", "reordered_per_1000")

    def events_per_1000(self, *, batch: int) -> float:
        """Starts of t-Reordering for a thousand packets, without jitter."""
        return self._at(("quic_large_buffer", batch), "reordering", "events_per_1000")

    def both_busy(self, batch: int) -> float:
        """Share of the bins in which both links carry more than half their rate."""
        return self._at((f"batch_{batch}",), "utilisation", "both_busy")

    def utilisation(self, *, link: int) -> float:
        """Utilisation of a link at a share of 90 %."""
        return self._at(("share_90",), "utilisation", f"utilisation_down{link}")

    def share_of_bins_at_capacity(self, *, link: int) -> float:
        """Share of the bins in which a link is full at a share of 90 %."""
        return self._at(("share_90",), "utilisation", f"at_capacity_down{link}")

    def interface_mbps(self, *, loss: float) -> float:
        """Rate at which both interfaces receive copies of the bearer's flow [Mbit/s of IP packets]."""
        return self._at(("quic_large_buffer", loss, "dc"), "fairness_loss_duplicated")

    def goodput_mbps(self, *, loss: float) -> float:
        """Rate of its packets without copies, behind the bearer [Mbit/s of IP packets]."""
        return self._at(("quic_large_buffer", loss, "dc"), "fairness_loss_duplicated", "unique_mbps")

    def unique_loss_share(self, *, loss: float) -> float:
        """Share of the packets of which no copy arrived."""
        return self._at(("quic_large_buffer", loss), "loss_duplicated", "unique_loss_share")

    def pair_jfi(self, first: str, second: str) -> float:
        """Jain's index of two flows on one link."""
        return self._at((f"{first}_{second}",), "pairs", "jfi")

    def short_term_gap(self, first: str, second: str) -> float:
        """Mean difference of two flows within a second [Mbit/s]."""
        return self._at((f"{first}_{second}",), "pairs", "short_term_gap_mbps")

    def windowed_jfi(self, window: int) -> float:
        """Mean of Jain's index over windows of some seconds."""
        return self._at(("quic_large_buffer", "dc"), "fairness_default", f"windowed_jfi_{window}s")

    def time_share_below(self, flow: str) -> float:
        """Share of the seconds in which a flow has less than a third."""
        return self._at(("quic_large_buffer", flow), "fairness_default", "time_share_below")

    def time_share_below_deviation(self, flow: str) -> float:
        """Standard deviation of that share over the runs."""
        return self._at(("quic_large_buffer", flow), "fairness_default", "time_share_below", "std")


MEASURED = (
    "loss_events",
    "lost_packets",
    "spurious_share",
    "rtt_ms",
    "throughput_mbps",
    "rcvbuf_errors",
    "reordered_per_1000",
    "events_per_1000",
    "both_busy",
    "utilisation",
    "share_of_bins_at_capacity",
    "interface_mbps",
    "goodput_mbps",
    "unique_loss_share",
    "pair_jfi",
    "short_term_gap",
    "windowed_jfi",
    "time_share_below",
    "time_share_below_deviation",
)


def setting(point: Mapping[str, Any]) -> tuple[str, tuple[float, ...]]:
    """Return the study that varies the quantity of a term, and its value; otherwise the default point."""
    if "loss" in point or point.get("dup"):
        return ("loss_duplicated" if point.get("dup") else "loss"), (point.get("loss", 0.0),)
    if "bw_ratio" in point:
        matched = point.get("split", "fixed") == "matched"
        return ("bandwidth_ratio_matched" if matched else "bandwidth_ratio"), (float(point["bw_ratio"]),)
    if "delay_ratio" in point or "delay_sum" in point:
        high = point.get("delay_sum", 20) == 200
        return ("delay_ratio_high" if high else "delay_ratio_low"), (float(point.get("delay_ratio", 1.0)),)
    if "share" in point:
        return "share", (point["share"],)
    if "file_mb" in point:
        return "file_size", (point["file_mb"],)
    return "batch_size", (point.get("batch", 100),)


def connectivity(point: Mapping[str, Any]) -> str:
    """Return the configuration of the study of PDCP."""
    if not point.get("dc", True):
        return "single_link"
    return "dc_with_pdcp" if point.get("pdcp", True) else "dc_without_pdcp"


def grid() -> Sequence[dict[str, Any]]:
    """Return the settings of all factors but the size of the file."""
    return [
        *({"batch": batch} for batch in BATCHES),
        *({"share": share} for share in SHARES),
        *({"bw_ratio": ratio, "split": split} for split in ("fixed", "matched") for ratio in RATIOS),
        *({"delay_sum": total, "delay_ratio": ratio} for total in (20, 200) for ratio in RATIOS),
        *({"loss": loss} for loss in LOSSES),
        *({"loss": loss, "dup": True} for loss in DUPLICATED_LOSSES),
    ]


NGTCP2_VERSION = """
the source used ngtcp2 of draft 27, of a commit that is not published; the profile is of draft 32. What decides the
claim is not in it: in the public history of 2020 the window does not grow above 2.89 times the highest delivery rate
times the smallest RTT, CUBIC rounds K down to whole seconds, and the pacer that the source names comes in 2021
"""
UNTESTED = dict.fromkeys(("DC-70", "DC-71", "DC-72", "DC-76", "DC-77", "DC-78"), NGTCP2_VERSION)
"""Claims on how fast ngtcp2 is, which rest on its window and its pacer."""
REFERENCE = Reference(FILE, Names, PLACES, untested=UNTESTED, **remarks(Path(__file__).with_name("claims.toml")))


def with_claims(study: Study, *, synthetic: bool = False, problem: str = "") -> Study:
    """Add its claims to a study; over a synthetic trace they cannot be tested; a problem gives the reason."""
    home = study.name.removeprefix(f"{GROUP}/")
    claims = [
        replace(
            claim,
            statement=claim.statement.replace("–", "-"),
            note=" ".join(REFERENCE.entries[claim.identity].get("note", "").split()),
        )
        for claim in REFERENCE.claims(home)
    ]
    if synthetic:
        reason = f"the installed trace cannot be used: {problem}" if problem else SYNTHETIC
        claims = [replace(claim, check=None, numbers=None, reason=reason) for claim in claims]
    return replace(study, measures=replace(study.measures, claims=tuple(claims)))
