"""QUIC over Dual Connectivity (Hasselquist, thesis, Linköping 2020; Hasselquist et al., Computer Networks 219, 2022).

A terminal is attached to two cells. The packet layer (PDCP) numbers the packets of a download, spreads them in batches
over two links and puts them in order again; the transport does not know. What do batch size, share, rates, delays,
losses, duplication and receive buffers do to the throughput, and to competing flows?
"""

from quiclab_studies.dual_connectivity.alone import ALONE
from quiclab_studies.dual_connectivity.beyond import BEYOND
from quiclab_studies.dual_connectivity.claims import with_claims
from quiclab_studies.dual_connectivity.fairness import FAIRNESS
from quiclab_studies.dual_connectivity.lte import LTE, PROBLEM, SYNTHETIC
from quiclab_studies.dual_connectivity.mechanisms import MECHANISMS, PAIRS
from quiclab_studies.dual_connectivity.ngtcp2 import NGTCP2
from quiclab_studies.dual_connectivity.prose import PROSE
from quiclab_studies.dual_connectivity.views import with_views
from quiclab_studies.dual_connectivity.windows import FIXED_WINDOW

STUDIES = (
    *(with_views(with_claims(study)) for study in (*MECHANISMS, *ALONE, *FAIRNESS, PAIRS, *PROSE, *NGTCP2)),
    *(with_claims(study, synthetic=SYNTHETIC, problem=PROBLEM) for study in LTE),
    FIXED_WINDOW,
    *BEYOND,
)
