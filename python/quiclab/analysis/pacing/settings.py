"""Settings of an analysis of captures, with defaults and limits."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Final

from quiclab.errors import unexpected

#: Pacing gains of BBR while it looks for bandwidth, cruises and drains (draft-cardwell-iccrg-bbr-congestion-control-00,
#: section 4.3.4.2).
BBR_GAINS: Final = (1.25, 1.0, 0.75)
MAX_GAINS: Final = 16

#: Field -> option of the command line, minimum and maximum value, unit.
LIMITS: Final[dict[str, tuple[str, float, float, str]]] = {
    "bottleneck_mbps": ("--bottleneck", 0.001, 1e6, "Mbit/s"),
    "link_mbps": ("--link", 0.001, 1e6, "Mbit/s"),
    "gains": ("--gain", 0.01, 100.0, ""),
    "window_ms": ("--window", 0.000001, 1000.0, "ms"),
    "burst_gap_ms": ("--burst-gap", 0.0, 1000.0, "ms"),
    "clocked_ms": ("--clocked", 0.0, 1000.0, "ms"),
    "skip_s": ("--skip", 0.0, 86400.0, "s"),
    "until_s": ("--until", 0.000001, 86400.0, "s"),
    "rate_step_s": ("--rate-step", 0.001, 3600.0, "s"),
    "frame_limit_bytes": ("--frame-limit", 64.0, 65600.0, "B"),
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of an analysis; field by field as in `settings` of the document.

    Attributes
    ----------
    bottleneck_mbps
        Rate of the bottleneck, from which expected intervals are computed; `None`: no intervals are expected.
    link_mbps
        Rate of the captured link, for its utilisation.
    gains
        Pacing gains for which intervals are expected.
    window_ms
        Half the width of a window around an expected interval.
    burst_gap_ms
        Maximum gap between packets of a burst.
    clocked_ms
        Maximum delay after an ACK of a packet that it clocks.
    skip_s, until_s
        Packets of each flow before and after these times are ignored; `None`: the end of the flow.
    rate_step_s
        Step of the rate over time.
    frame_limit_bytes
        Maximum frame size of one packet: Ethernet's with a VLAN tag and without checksum (IEEE 802.3, 3.2.7). Longer
        frames were merged by an offload.
    """

    bottleneck_mbps: float | None = None
    link_mbps: float | None = None
    gains: tuple[float, ...] = (1.0,)
    window_ms: float = 0.1
    burst_gap_ms: float = 0.1
    clocked_ms: float = 0.1
    skip_s: float = 0.0
    until_s: float | None = None
    rate_step_s: float = 0.1
    frame_limit_bytes: int = 1518

    def __post_init__(self) -> None:
        """Check the values.

        Raises
        ------
        RequestError
            If a value is out of range.
        """
        for item in fields(self):
            option, least, most, unit = LIMITS[item.name]
            held = getattr(self, item.name)
            for value in held if isinstance(held, tuple) else (held,):
                if value is not None and not (math.isfinite(value) and least <= value <= most):
                    limits = f"{least:.12g} to {most:.12g} {unit}".rstrip()
                    raise unexpected(f"{item.name} ({option})", limits, got=f"{value:.12g}")
        if not 1 <= len(self.gains) <= MAX_GAINS:
            raise unexpected("gains (--gain)", f"1 to {MAX_GAINS} values", len(self.gains))
        if self.until_s is not None and self.until_s <= self.skip_s:
            expected = f"more than skip_s (--skip), {self.skip_s:.12g} s"
            raise unexpected("until_s (--until)", expected, got=f"{self.until_s:.12g} s")

    def document(self) -> dict[str, object]:
        """Return the settings in the form of the document."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
