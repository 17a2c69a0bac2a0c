"""Pacing and acknowledgements of a run, from the recording of a tap before the bottleneck.

The numbers are those of `quiclab pacing analyse`, by the same code. Acknowledgements are those that the sender received
(`record.acks`), which has their ranges without any keys.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from quiclab._base.libraries import np, pl
from quiclab._base.native import extension
from quiclab.errors import unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quiclab.result import RunResult

ETHERNET_BYTES = 14


def of_flow(
    result: RunResult, flow: str, tap: str = "at_sender", settings: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Analyse the packets of a flow at a tap on the down path, and the ACKs that its sender received.

    Parameters
    ----------
    result
        A run with taps, and with `record.acks`.
    flow
        Name of the flow.
    tap
        Name of the tap.
    settings
        As in the document `quiclab.pacing/1`; missing fields have their defaults.

    Returns
    -------
    dict
        A flow of that document. Sizes are those of Ethernet frames without checksum.

    Raises
    ------
    QuiclabError
        If the run has no such records.
    """
    records = result.taps.get(tap)
    if records is None:
        raise unknown("tap", tap, result.taps)
    frames = records.filter((pl.col("flow") == flow) & (pl.col("direction") == "down"))
    sizes = frames["size_bytes"].cast(pl.UInt32) + ETHERNET_BYTES
    times_ns, covered = np.empty(0, np.int64), np.empty(0, np.uint32)
    if not result.acks.is_empty():
        heard = result.acks.filter(pl.col("element") == f"{flow}.sender")
        times_ns, covered = heard["time_ns"].to_numpy(), heard["covered"].to_numpy()
    text = extension().analyse_columns(
        json.dumps(dict(settings or {})),
        (frames["time_ns"].to_numpy(), sizes.to_numpy()),
        (times_ns, covered),
    )
    analysis: dict[str, Any] = json.loads(text)
    return analysis
