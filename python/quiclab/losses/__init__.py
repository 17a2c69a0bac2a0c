"""Loss detection beside its standards: what an engine declared lost, and what RFC 9002 or RFC 8985 would have.

`quic_trace` and `tcp_trace` read what a sender sent and heard, and what it declared lost. `rfc9002` and `rfc8985` apply
the standards to the same packets and acknowledgements, at the engine's own times, so that neither pacing nor the peer's
acknowledgements matter. `verdict` compares.
"""

from quiclab.losses.verdict import judge

__all__ = ["judge"]
