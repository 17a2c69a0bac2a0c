"""Loss detection compared with its standards: losses declared by a stack, and those of RFC 9002 or RFC 8985.

`quic_trace` and `tcp_trace` read the packets, acknowledgements and declared losses of a sender. `rfc9002` and
`rfc8985` apply
the standards to the same packets and acknowledgements, at the engine's own times, so that neither pacing nor the peer's
acknowledgements matter. `verdict` compares.
"""

from quiclab.analysis.losses.verdict import judge

__all__ = ["judge"]
