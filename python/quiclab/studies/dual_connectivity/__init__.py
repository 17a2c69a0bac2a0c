"""QUIC over Dual Connectivity (Hasselquist, thesis, Linköping 2020; Hasselquist et al., Computer Networks 219, 2022).

A terminal is attached to two cells. The packet layer (PDCP) numbers the packets of a download, spreads them in batches
over two links and puts them in order again; the transport does not know. What do batch size, share, rates, delays,
losses, duplication and receive buffers do to the throughput, and to competing flows?
"""

from _dual_connectivity_alone import ALONE
from _dual_connectivity_beyond import BEYOND
from _dual_connectivity_claims import with_claims
from _dual_connectivity_fairness import FAIRNESS
from _dual_connectivity_lte import LTE, PROBLEM, SYNTHETIC
from _dual_connectivity_mechanisms import MECHANISMS, PACER_OFF, PAIRS
from _dual_connectivity_ngtcp2 import NGTCP2
from _dual_connectivity_views import with_views

STUDIES = (
    *(with_views(with_claims(study)) for study in (*MECHANISMS, *ALONE, *FAIRNESS, PAIRS, PACER_OFF, *NGTCP2)),
    *(with_claims(study, synthetic=SYNTHETIC, problem=PROBLEM) for study in LTE),
    *BEYOND,
)
