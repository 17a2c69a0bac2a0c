"""Labels of the flows of all files, their values as text, and caveats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Final

from quiclab.result.formats import counted

if TYPE_CHECKING:
    from quiclab.analysis.pacing.document import Capture, Flow
    from quiclab.analysis.pacing.settings import Settings

NONE: Final = "–"
MAX_LETTERS: Final = 48
#: File name extensions that are removed from labels.
ENDINGS: Final = (".gz", ".pcapng", ".pcap", ".cap", ".sqlog", ".qlog", ".json")
#: With fewer packets than this, shares and clusters are random.
FEW_PACKETS: Final = 100


@dataclass(frozen=True)
class LabelledFlow:
    """A flow with a unique label, and its capture."""

    label: str
    capture: Capture
    flow: Flow


@dataclass(frozen=True)
class Caution:
    """A caveat about the values of a flow."""

    label: str
    title: str
    text: str


def flows_of(captures: Sequence[Capture]) -> list[LabelledFlow]:
    """Return the flows of all captures; each has a unique label, as short as possible."""
    found = []
    for name, capture in zip(_capture_names(captures), captures, strict=True):
        several = len(capture["flows"]) > 1
        for flow in capture["flows"]:
            label = f"{name}: {flow['name'] or _ends(flow)}" if several else name
            found.append(LabelledFlow(_cut(plain(label)), capture, flow))
    labels = _numbered([item.label for item in found])
    return [LabelledFlow(label, item.capture, item.flow) for label, item in zip(labels, found, strict=True)]


def plain(text: str) -> str:
    """Return a string of a file without control and invisible characters."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _capture_names(captures: Sequence[Capture]) -> list[str]:
    """Return file names without their endings; with their directories if two are equal."""
    paths = [Path(capture["file"]) for capture in captures]
    stems = [_stem(path.name) for path in paths]
    often = Counter(stems)
    return [
        f"{path.parent.name}/{stem}" if often[stem] > 1 and path.parent.name else stem
        for path, stem in zip(paths, stems, strict=True)
    ]


def _stem(name: str) -> str:
    for ending in ENDINGS:
        name = name.removesuffix(ending) or name
    return name


def _ends(flow: Flow) -> str:
    return f"{flow['protocol'].upper()} {flow['sender']} → {flow['receiver']}"


def _cut(label: str) -> str:
    return label if len(label) <= MAX_LETTERS else f"{label[: MAX_LETTERS - 1]}…"


def _numbered(labels: Sequence[str]) -> list[str]:
    """Return labels of which no two are equal: those that are get a number."""
    often, seen, taken = Counter(labels), Counter[str](), set(labels)
    found = []
    for label in labels:
        if often[label] == 1:
            found.append(label)
            continue
        while True:
            seen[label] += 1
            numbered = f"{label} ({seen[label]})"
            if numbered not in taken:
                break
        taken.add(numbered)
        found.append(numbered)
    return found


def digits(value: float | None, count: int = 4) -> str:
    """Write a number with a number of significant digits and without an exponent."""
    if value is None:
        return NONE
    text = f"{Decimal(f'{value:.{count}g}'):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(share: float | None) -> str:
    """Write a share as percent, with one decimal."""
    return NONE if share is None else f"{100 * share:.1f} %"


def amount(value: int | None) -> str:
    """Write a count, with spaces between thousands."""
    return NONE if value is None else f"{value:,}".replace(",", "\N{NO-BREAK SPACE}")


def duration(value_ms: float | None) -> str:
    """Write a time with the unit that suits it."""
    if value_ms is None:
        return NONE
    if value_ms >= 1000:
        return f"{digits(value_ms / 1000)} s"
    if value_ms >= 0.1 or value_ms == 0:
        return f"{digits(value_ms)} ms"
    return f"{digits(1000 * value_ms)} µs" if value_ms >= 1e-4 else f"{digits(1e6 * value_ms)} ns"


#: Values shown side by side for all flows: name, formatted number.
NUMBERS: Final[tuple[tuple[str, Callable[[Flow], str]], ...]] = (
    ("Protocol", lambda flow: flow["protocol"].upper()),
    ("Sender", lambda flow: flow["sender"] or NONE),
    ("Receiver", lambda flow: flow["receiver"] or NONE),
    ("Duration", lambda flow: duration(1000 * flow["duration_s"])),
    ("Packets", lambda flow: amount(flow["data"]["packets"])),
    ("Frame, median", lambda flow: f"{flow['data']['frame_median_bytes']} B"),
    ("Frame, largest", lambda flow: f"{flow['data']['frame_largest_bytes']} B"),
    ("Rate of the frames [Mbit/s]", lambda flow: digits(flow["data"]["rate_mbps"])),
    ("Utilisation of the link", lambda flow: percent(flow["data"]["utilisation"])),
    ("Interval, median", lambda flow: duration(flow["data"]["intervals"]["quantiles_ms"].get("0.5"))),
    ("Interval, mean", lambda flow: duration(flow["data"]["intervals"]["mean_ms"])),
    ("Interval, standard deviation", lambda flow: duration(flow["data"]["intervals"]["std_ms"])),
    ("Interval, variation", lambda flow: digits(flow["data"]["intervals"]["variation"], 3)),
    ("Interval, largest", lambda flow: duration(flow["data"]["intervals"]["largest_ms"])),
    ("Packets in bursts of two or more", lambda flow: percent(flow["data"]["bursts"]["share_of_packets"])),
    ("Burst, mean packets", lambda flow: digits(flow["data"]["bursts"]["mean_packets"], 3)),
    ("Burst, 99th percentile", lambda flow: amount(flow["data"]["bursts"]["p99_packets"])),
    ("Burst, most packets", lambda flow: amount(flow["data"]["bursts"]["largest_packets"])),
    ("Between bursts, median", lambda flow: duration(flow["data"]["bursts"]["between"]["quantiles_ms"].get("0.5"))),
    ("ACKs", lambda flow: amount(flow["acks"]["count"])),
    ("Packets per ACK, mean", lambda flow: digits(flow["acks"]["packets_mean"], 3)),
    ("Packets per ACK, mode", lambda flow: amount(flow["acks"]["packets_mode"])),
    ("ACK interval, median", lambda flow: duration(flow["acks"]["intervals"]["quantiles_ms"].get("0.5"))),
    ("ACKs of nothing new", lambda flow: percent(flow["acks"]["duplicate_share"])),
    ("Bursts that begin after an ACK", lambda flow: percent(flow["acks"]["clocking"]["share"])),
    ("… by chance", lambda flow: percent(flow["acks"]["clocking"]["by_chance"])),
    ("ACK clocking explains", lambda flow: percent(flow["acks"]["clocking"]["explained"])),
)


def cautions(flows: Sequence[LabelledFlow], settings: Settings) -> list[Caution]:
    """Return the caveats of all flows, in their order; what is the same of several flows is one caveat."""
    found: dict[tuple[str, str], list[str]] = {}
    for item in flows:
        for caution in _cautions(item, settings):
            found.setdefault(caution, []).append(item.label)
    return [Caution(", ".join(named), title, text) for (title, text), named in found.items()]


def _cautions(item: LabelledFlow, settings: Settings) -> list[tuple[str, str]]:
    flow, data = item.flow, item.flow["data"]
    if not data["packets"] and (settings.skip_s or settings.until_s is not None):
        return [("No packet counts", _cut_off(settings))]
    found = []
    if data["oversized"]:
        found.append(
            (
                "An offload joined segments",
                f"{amount(data['oversized'])} of {amount(data['packets'])} packets are longer than a frame of "
                f"{settings.frame_limit_bytes} B carries; the longest frame has {amount(data['frame_largest_bytes'])} "
                "B. Each was several packets on the wire, whose intervals and bursts are not in the file: switch GSO, "
                "TSO and GRO off and capture again.",
            )
        )
    if not flow["acks_known"]:
        found.append(_unknown_acks(flow, item.capture["format"]))
    if data["backwards"]:
        found.append(
            (
                "The clock ran backwards",
                f"{amount(data['backwards'])} of {amount(data['packets'])} packets are stamped before the packet in "
                "front of them, as captures of several queues or a clock that is set do. Short intervals are inexact.",
            )
        )
    if data["packets"] < FEW_PACKETS:
        packets = counted(data["packets"], "packet", amount)
        few = f"Only {packets} of the sender: shares and clusters are not significant."
        found.append(("Few packets", few))
    return found


def _cut_off(settings: Settings) -> str:
    """Return which option excludes all packets of a flow, and the length of the flow."""
    skip, until = duration(1000 * settings.skip_s), duration(1000 * (settings.until_s or 0.0))
    if settings.until_s is None:
        return f"All data of the flow come in its first {skip}, which --skip {skip} cuts off: it lasts no longer."
    if not settings.skip_s:
        return f"All data of the flow come later than --until {until} after its first packet: it lasts longer."
    return f"The flow has no data between --skip {skip} and --until {until} after its first packet."


def _unknown_acks(flow: Flow, file_format: str) -> tuple[str, str]:
    """Return why acknowledgements are unknown, and the remedy."""
    exact = "Intervals, bursts and rate are not affected."
    if not flow["acks"]["count"]:
        return ("No ACK was seen", f"The counted packets include none of the receiver that could be an ACK. {exact}")
    counts = "Every packet of the receiver counts as an ACK; which packets it acknowledges is unknown."
    if flow["protocol"] != "quic":
        return ("ACKs are not known", f"{counts} {exact}")
    if "qlog" in file_format.lower():
        return ("The qlog file has no ACKs", f"Its events lack the ranges of ACK frames. {counts} {exact}")
    return ("Nothing was decrypted", f"{counts} {exact} A key log (--keys FILE) makes them available.")
