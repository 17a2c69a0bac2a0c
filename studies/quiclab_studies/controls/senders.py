"""Senders: a congestion control in a stack, with windows that limit nothing."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

#: More than any network of these studies and its queue hold.
AMPLE = "512 MiB"
TCP, QUIC, NOQ, QUINN = "lab-tcp", "lab-quic", "noq", "quinn"
#: What lets neither flow control nor buffers limit a flow: of the sender, and of the receiver.
OPEN: Mapping[str, tuple[dict[str, Any], dict[str, Any]]] = MappingProxyType(
    {
        TCP: ({"tcp": {"max_send_buffer": AMPLE}}, {"tcp": {"max_receive_buffer": AMPLE}}),
        **dict.fromkeys(
            (QUIC, NOQ, QUINN),
            ({"send_window": AMPLE}, {"stream_receive_window": AMPLE, "connection_receive_window": AMPLE}),
        ),
    }
)


@dataclass(frozen=True)
class Sender:
    """A congestion control in a stack.

    Attributes
    ----------
    stack, control
        As in scenarios.
    name, label
        Its name in results, and in figures.
    """

    stack: str
    control: str
    name: str
    label: str

    def flow(self, seconds: float, start_s: float = 0.0) -> dict[str, object]:
        """Return a download by this sender as a flow of a scenario."""
        sender, receiver = OPEN[self.stack]
        return {
            "stack": self.stack,
            "down": ["down"],
            "up": ["up"],
            "start": f"{start_s:g} s",
            "workload": {"kind": "download", "duration": f"{seconds:g} s"},
            "sender": {"congestion_control": self.control, **sender},
            "receiver": receiver,
        }


TCP_NEWRENO = Sender(TCP, "newreno", "tcp_newreno", "TCP NewReno")
TCP_CUBIC = Sender(TCP, "cubic", "tcp_cubic", "TCP CUBIC")
TCP_BBR1 = Sender(TCP, "bbr-linux", "tcp_bbr1", "TCP BBRv1")
TCP_BBR3 = Sender(TCP, "bbr-v3", "tcp_bbr3", "TCP BBRv3")
QUIC_NEWRENO = Sender(QUIC, "newreno", "quic_newreno", "QUIC NewReno")
QUIC_CUBIC = Sender(QUIC, "cubic", "quic_cubic", "QUIC CUBIC")
QUIC_BBR1 = Sender(QUIC, "bbr-chromium", "quic_bbr1", "QUIC BBRv1 (Chromium)")
QUIC_BBR3 = Sender(QUIC, "bbr-v3", "quic_bbr3", "QUIC BBRv3")
NOQ_BBR3 = Sender(NOQ, "bbr-v3", "noq_bbr3", "noq BBRv3")
TCP_C4 = Sender(TCP, "c4", "tcp_c4", "TCP C4")
QUIC_C4 = Sender(QUIC, "c4", "quic_c4", "QUIC C4")
QUINN_BBR3 = Sender(QUINN, "bbr-v3", "quinn_bbr3", "quinn BBRv3")
