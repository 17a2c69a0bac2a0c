"""FQ-CoDel in a multipath QUIC tunnel (Andersson Johansson, thesis, Karlstad University, 2020).

A VPN over one multipath QUIC connection carries IP packets of any application in DATAGRAM frames, so queues further
down cannot tell the flows apart any more. The tunnel gets per-flow queues with CoDel itself, and a scheduler spreads
the packets over two paths. What becomes of latency and fairness; and what if nothing may wait behind the queue?
"""

from quiclab_studies.tunnel.studies import STUDIES

__all__ = ["STUDIES"]
