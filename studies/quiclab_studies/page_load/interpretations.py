"""How the description of the page-load thesis was read: assumptions, and other interpretations as variants.

Variants that take a mechanism away, or put one in, are in `mechanisms`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quiclab.study import Variant
from quiclab_studies.page_load.common import QUIC, RUNS, TCP
from quiclab_studies.remarks import assumed

if TYPE_CHECKING:
    from collections.abc import Callable

    from quiclab.study import Changes

SCRIPTS = (
    "the scripts of the testbed (repository 99Alphapriority/long-look-quic, test_src/engineWrapper.py and "
    "doTrafficStuff.py)"
)
VARIANT_RUNS = 10
FLOW = "flows.page"

ASSUMPTIONS = assumed(__file__, "interpretations", scripts=SCRIPTS)


def edited_changes(change: Callable[[dict[str, Any]], None]) -> Callable[[Changes], Changes]:
    """Return a variant that edits the changes of a setting."""

    def changes(before: Changes) -> Changes:
        edited = dict(before)
        change(edited)
        return edited

    return changes


def ends(stack: str, **options: object) -> Callable[[Changes], Changes]:
    """Change both ends of the page where they are of a stack."""

    def change(edited: dict[str, Any]) -> None:
        if edited.get(f"{FLOW}.stack") == stack:
            for end in ("sender", "receiver"):
                edited[f"{FLOW}.{end}"] = {**edited[f"{FLOW}.{end}"], **options}

    return edited_changes(change)


def quic_options(**options: object) -> Callable[[Changes], Changes]:
    """Change options of QUIC at both ends."""

    def change(edited: dict[str, Any]) -> None:
        if edited.get(f"{FLOW}.stack") == QUIC:
            for end in ("sender", "receiver"):
                own = edited[f"{FLOW}.{end}"]
                edited[f"{FLOW}.{end}"] = {**own, "quic": {**own.get("quic", {}), **options}}

    return edited_changes(change)


def jitter_link(**values: object) -> Callable[[Changes], Changes]:
    """Change the links that make the jitter."""

    def change(edited: dict[str, Any]) -> None:
        for name in ("links.jitter_down", "links.jitter_up"):
            if name in edited:
                edited[name] = {"delay": {**edited[name]["delay"], **values}}

    return edited_changes(change)


def constant_delay(direction: str) -> Callable[[Changes], Changes]:
    """Take the jitter out of one direction."""

    def change(edited: dict[str, Any]) -> None:
        name = f"links.jitter_{direction}"
        if name in edited:
            edited[name] = {"delay": edited[name]["delay"]["mean"]}

    return edited_changes(change)


def each_packet(edited: dict[str, Any]) -> None:
    """Draw a delay for each packet."""
    for name in ("links.jitter_down", "links.jitter_up"):
        if name in edited:
            delay = edited[name]["delay"]
            edited[name] = {"delay": {key: delay[key] for key in ("mean", "deviation", "distribution", "reorder")}}


def without_loss(direction: str) -> Callable[[Changes], Changes]:
    """Take the loss out of one direction."""
    return edited_changes(lambda edited: edited.pop(f"links.{direction}.loss", None))


def queue(**values: object) -> Callable[[Changes], Changes]:
    """Give the bridge another queue."""

    def change(edited: dict[str, Any]) -> None:
        for name in ("down1", "up1"):
            edited[f"links.{name}.queue"] = {"kind": "drop_tail", **values}

    return edited_changes(change)


def whole_packets(edited: dict[str, Any]) -> None:
    """Let the bridge take only packets that fit below its limit, as Linux does."""
    for name in ("links.down1.queue", "links.up1.queue"):
        limit = edited.get(name, {}).get("waiting_bytes")
        if limit is not None:
            edited[name] = {"kind": "drop_tail", "bytes": limit}


def think(edited: dict[str, Any]) -> None:
    """Let the HTML of Apache and Flask take 10 ms; the sample server has its pages in memory."""
    if edited.get(f"{FLOW}.stack") == TCP:
        edited[f"{FLOW}.workload.html_think_time"] = "10 ms"


def variant(
    name: str, label: str, reason: str, changes: Callable[[Changes], Changes], runs: int = VARIANT_RUNS
) -> Variant:
    """Return a variant of the pages; those that explain means under jitter have as many runs as published."""
    return Variant(name, label, reason, changes, runs)


VARIANTS = (
    variant(
        "loss_of_data", "1 % loss of data only", "The thesis gives one number for both directions.", without_loss("up1")
    ),
    variant("loss_of_acks", "1 % loss of acknowledgements only", "As `loss_of_data`.", without_loss("down1")),
    variant(
        "jitter_of_acks",
        "jitter of the client's packets only",
        "`tc` on an interface shapes what leaves there: read without the ifb of the scripts.",
        constant_delay("down"),
    ),
    variant(
        "jitter_of_data",
        "jitter of the data only",
        "The explanations of the thesis are about data.",
        constant_delay("up"),
        RUNS,
    ),
    variant(
        "jitter_each_packet",
        "each packet draws its delay",
        "The jitter of `tc-netem`; the text suggests this, the scripts do not use it.",
        edited_changes(each_packet),
    ),
    variant(
        "script_in_no_time",
        "the loop's commands take no time",
        "Literally, a delay holds for the 100 ms that the loop sleeps.",
        jitter_link(every="100 ms"),
        RUNS,
    ),
    variant(
        "queue_50_packets",
        "queues of 50 packets",
        "Dummynet's default, to which the scripts set the bridge back between settings.",
        queue(packets=50),
    ),
    variant(
        "queue_10_mb",
        "queues of 10 MB",
        "The largest that the bridge was set up for: once for all settings.",
        queue(bytes="10 MB"),
    ),
    variant(
        "queue_whole_packets",
        "queues with a limit that includes the arriving packet",
        "As Linux counts; Dummynet asks only whether what waits exceeds the limit, so small packets have no advantage.",
        edited_changes(whole_packets),
    ),
    variant(
        "window_10",
        "QUIC begins with 10 packets",
        "The initial window is not published; 32 packets are the constant of the code.",
        ends(QUIC, initial_window="14600 B"),
    ),
    variant(
        "first_connection_rtt",
        "QUIC assumes 100 ms at first",
        "Without state that the browser stores of an earlier connection.",
        ends(QUIC, initial_rtt="100 ms"),
    ),
    variant(
        "flask_takes_time",
        "HTML over TCP takes 10 ms more",
        "Apache asks Flask for the HTML; the sample server has all in memory.",
        edited_changes(think),
    ),
    variant(
        "more_streams",
        "200 streams at a time in QUIC",
        "The limit is not published; 100 are the constant of the code.",
        quic_options(max_streams=250),
    ),
    variant(
        "streams_in_turn",
        "images in turn in QUIC",
        "RFC 9218 with incremental images: newer versions of google/quiche.",
        quic_options(stream_scheduler="priority"),
    ),
)
