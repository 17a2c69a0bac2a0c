"""The named paths, and what their definitions say over time."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from quiclab._base.native import PATHS, extension
from quiclab.errors import ScenarioError, unknown
from quiclab.scenario.quantity import byte_count, megabits_per_second, milliseconds, seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Directions of a path, which are the names of its links.
DIRECTIONS: Final = ("down", "up")
#: The Wi-Fi jitter of the engine (`quiclab-core/src/link/delay.rs`): mean of its short part, interval of its long part
#: and their mean number.
WIFI_SHORT_MS: Final = 1 - (1 - math.exp(-1)) / 2
WIFI_LONG_MS: Final = 12 * 7.5


@dataclass(frozen=True)
class Conditions:
    """What a definition says about a link from one time to another.

    Attributes
    ----------
    start_s, end_s
        Time since the start of the run.
    rate_mbps
        Rate of serialisation, 0 while packets wait because the link is down.
    delay_ms, deviation_ms
        Mean and deviation of the one-way delay.
    loss
        Probability with which a packet is lost: 1 while the link is down and loses packets.
    up
        Whether the link is up.
    """

    start_s: float
    end_s: float
    rate_mbps: float
    delay_ms: float
    deviation_ms: float
    loss: float
    up: bool


@dataclass(frozen=True)
class LinkDefinition:
    """A link of a path with every default, as the engine prints it."""

    plain: dict[str, Any]

    @property
    def distribution(self) -> str:
        """Distribution of the delay."""
        return str(self.plain["delay"]["distribution"])

    @property
    def overhead_bytes(self) -> int:
        """Bytes that serialisation adds to each packet."""
        return byte_count(self.plain["overhead_per_packet"])

    def over(self, duration_s: float) -> Iterator[Conditions]:
        """Yield the conditions up to a time, one after the other."""
        rows, table = self._rows, self.plain.get("conditions") or {}
        period = seconds(rows[-1]["at"]) if table.get("at_end") == "loop" else math.inf
        starts = [seconds(row["at"]) for row in rows]
        if math.isfinite(period):
            rows = rows[:-1]
        else:
            starts.append(math.inf)
        begin = 0.0
        while begin < duration_s:
            for row, start, end in zip(rows, starts, starts[1:], strict=False):
                if begin + start < duration_s:
                    yield self._conditions(row, begin + start, min(begin + end, duration_s))
            begin += period

    @cached_property
    def _rows(self) -> list[dict[str, Any]]:
        """Rows in which every value is given."""
        link = self.plain
        loss = link.get("loss") or {"kind": "independent", "probability": 0.0}
        row: dict[str, Any] = {
            "rate": link["rate"],
            "delay": link["delay"]["mean"],
            "deviation": link["delay"]["deviation"],
            "loss": loss["probability"],
            "up": True,
        }
        rows = []
        for given in (link.get("conditions") or {}).get("rows") or [{"at": "0 s"}]:
            row = {**row, **given}
            rows.append(row)
        return rows

    def _conditions(self, row: dict[str, Any], start_s: float, end_s: float) -> Conditions:
        holds = (self.plain.get("conditions") or {}).get("while_down", "hold") == "hold"
        return Conditions(
            start_s,
            end_s,
            megabits_per_second(row["rate"]) if row["up"] or not holds else 0.0,
            milliseconds(row["delay"]),
            milliseconds(row["deviation"]),
            float(row["loss"]) if row["up"] or holds else 1.0,
            bool(row["up"]),
        )

    def rate_mbps(self, start_s: float, end_s: float) -> float:
        """Return the mean rate of what arrives over a loaded link, between two times."""
        served = sum(
            part.rate_mbps * (1 - part.loss) * max(part.end_s - max(part.start_s, start_s), 0)
            for part in self.over(end_s)
        )
        return served / (end_s - start_s)

    def loss(self, duration_s: float) -> float:
        """Return the share of packets that are lost up to a time, if they come evenly."""
        lost = sum(part.loss * (part.end_s - part.start_s) for part in self.over(duration_s)) / duration_s
        repeated = self.plain.get("retransmission")
        if repeated and not repeated.get("recovery"):
            lost += (1 - lost) * float(repeated["failure"]) ** int(repeated["transmissions"])
        return lost

    def least_delay_ms(self, duration_s: float, size_bytes: int) -> float:
        """Return the shortest one-way delay of a packet of this size up to a time, over an idle link."""
        below = {"uniform": 1.0, "pareto": 3**-0.5, "normal": math.inf}.get(self.distribution, 0.0)
        return min(
            max(part.delay_ms - below * part.deviation_ms if part.deviation_ms else part.delay_ms, 0.0)
            + self._serialisation_ms(part, size_bytes)
            for part in self.over(duration_s)
            if part.loss < 1 and part.rate_mbps > 0
        )

    def mean_delay_ms(self, duration_s: float, size_bytes: int) -> float:
        """Return the mean one-way delay of packets that come evenly up to a time and may overtake each other."""
        weighted = weights = 0.0
        for part in self.over(duration_s):
            weight = (part.end_s - part.start_s) * (1 - part.loss)
            delay = part.delay_ms + self.jitter_ms(part.deviation_ms) + self._serialisation_ms(part, size_bytes)
            weighted += weight * delay
            weights += weight
        return weighted / weights

    def _serialisation_ms(self, part: Conditions, size_bytes: int) -> float:
        """Return the time that a packet waits for its own bits; while the rate is 0 half of that time on average."""
        if part.rate_mbps == 0:
            return 500 * (part.end_s - part.start_s)
        return (size_bytes + self.overhead_bytes) * 8 / part.rate_mbps / 1e3

    def jitter_ms(self, deviation_ms: float) -> float:
        """Return what distribution, aggregation and retransmission add to the mean delay of a packet, on average."""
        added = 0.0
        if self.distribution == "wifi" and deviation_ms > 0:
            added += WIFI_SHORT_MS + WIFI_LONG_MS * min(max((deviation_ms - 1) / WIFI_LONG_MS, 0), 1)
        if aggregation := self.plain.get("aggregation"):
            added += milliseconds(aggregation["interval"]) / 2
        if repeated := self.plain.get("retransmission"):
            failure, transmissions = float(repeated["failure"]), int(repeated["transmissions"])
            delay, recovery = milliseconds(repeated["delay"]), milliseconds(repeated.get("recovery") or "0 s")
            added += sum(failure**number * (delay if number % transmissions else recovery) for number in range(1, 200))
        return added


@dataclass(frozen=True)
class NamedPath:
    """A path: its name, and what its file says.

    Attributes
    ----------
    name, description
        The name, and what the path stands for.
    sources
        Source of each value, by field (`rate`) or by link and field (`down.rate`).
    links
        The links by name, with every default.
    """

    name: str
    description: str
    sources: dict[str, str]
    links: dict[str, LinkDefinition]

    def source(self, link: str, field: str) -> str | None:
        """Return the source of a field of a link; `None` if the file states none."""
        return self.sources.get(f"{link}.{field}", self.sources.get(field))


def names() -> list[str]:
    """Return the names of all paths, sorted."""
    return sorted(file.stem for file in PATHS.glob("*.toml"))


def read(name: str) -> NamedPath:
    """Read a path.

    Raises
    ------
    RequestError
        If there is none of this name.
    """
    known = names()
    if name not in known:
        raise unknown("path", name, known, listing="quiclab path list")
    file, native = PATHS / f"{name}.toml", extension()
    try:
        found = json.loads(native.network(file.read_text(encoding="utf-8"), str(file)))
    except native.ScenarioError as error:
        raise ScenarioError.of(error) from error
    links = {link: LinkDefinition(plain) for link, plain in found["links"].items()}
    return NamedPath(name, found["description"], found["sources"], links)
