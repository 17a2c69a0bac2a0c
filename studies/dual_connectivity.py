"""QUIC over Dual Connectivity (Hasselquist, thesis, Linköping 2020; Hasselquist et al., Computer Networks 219, 2022).

A terminal is attached to two cells. The packet layer (PDCP) numbers the packets of a download, spreads them in batches
over two links and puts them in order again; the transport does not know. What do batch size, share, rates, delays,
losses, duplication and receive buffers do to the throughput, and to the flows beside it?
"""

from _dual_connectivity_alone import ALONE

STUDIES = (*ALONE,)
