"""The network of comparisons with one path: a bottleneck, then a delay."""

from dataclasses import dataclass

from quiclab.errors import expected_got, shown


@dataclass(frozen=True)
class Network:
    """The network between server and client in one setting: a bottleneck, and a delay node."""

    rate_mbps: float
    rtt_ms: float
    queue_packets: int
    loss_percent: float

    def chain(self, jitter: str = "none") -> dict[str, object]:
        """Return its changes to a scenario with the links `bottleneck`, `far` and `back`.

        Parameters
        ----------
        jitter
            `none`, or distribution, deviation and direction, such as `normal 1ms down`.
        """
        half = f"{self.rtt_ms / 2:g} ms"
        far: object = half
        if jitter != "none":
            kind, deviation, direction = jitter.split()
            if direction != "down":
                raise ValueError(f"jitter: {expected_got('the direction `down`', shown(jitter))}")
            width = f"{deviation.removesuffix('ms')} ms"
            far = {"mean": half, "deviation": width, "distribution": kind, "reorder": True}
        changes: dict[str, object] = {
            "links.bottleneck.rate": f"{self.rate_mbps:g} Mbit/s",
            "links.bottleneck.queue.packets": self.queue_packets,
            "links.far.delay": far,
            "links.back.delay": half,
        }
        if self.loss_percent:
            changes["links.bottleneck.loss"] = f"{self.loss_percent:g} %"
        return changes
