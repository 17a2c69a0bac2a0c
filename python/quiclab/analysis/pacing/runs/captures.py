"""Acknowledgements of a run of the kernel lane, from the capture of its sender and the secrets in it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from quiclab._base.native import extension
from quiclab.errors import QuiclabError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def acknowledgements(capture: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Analyse how the receiver of a captured flow acknowledges.

    Parameters
    ----------
    capture
        Capture of the sending host, with the TLS secrets in it if it is of QUIC.
    settings
        As in the document `quiclab.pacing/1`.

    Returns
    -------
    dict
        `acks`, `acks_known` and `notes` of the largest flow of that document.

    Raises
    ------
    QuiclabError
        If there is no capture, or nothing in it.
    """
    try:
        text = extension().analyse_packets(str(capture), json.dumps(dict(settings)), [], 1)
    except (OSError, ValueError) as error:
        raise QuiclabError(f"{capture.name} cannot be analysed: {error}") from error
    flows = json.loads(text)["flows"]
    if not flows:
        raise QuiclabError(f"{capture.name} has no packets")
    return {key: flows[0][key] for key in ("acks", "acks_known", "notes")}
