"""What programs cost their host: one value a stack, the same in all studies."""

AIOQUIC_DATAGRAM = "100 us"
"""A datagram that aioquic sends or receives. `quiclab kernel host aioquic` measures 103 us for a receiving call of its
server. Chosen after a scan with the published table of Dual Connectivity known (docs/studies/dual_connectivity.md);
other testbeds have other processors, which are variants."""
AIOQUIC_DATAGRAM_SLOW = "180 us"
"""The same on the testbed of the pacing thesis, from its least published utilisation of 10 Gbit/s (0.47 %: 225 us for a
packet of 1322 bytes, its part of the acknowledgements included)."""
C_SEND_CALL = "8 us"
"""A program in C or Go, such as ngtcp2, sends a packet: one system call (Keller, section 6.3.1)."""
C_DATAGRAM = "10 us"
"""The same program receives a datagram: one system call as when it sends, and the decryption of 1280 bytes, for which
2 us are assumed. Both are one cost of the program, seen from its two ends. A study has the end that can delay packets:
pacing the sender, whose calls follow one another on a fast link, while its client gets a packet in 106 us or more; Dual
Connectivity the client, to which a stall delivers hundreds at once, while its server sends one in 286 us."""
GO_SEND_CALL = "13 us"
"""quic-go sends a packet: 1.6 times what ngtcp2 takes. CPU time of both servers for a packet, where processors limit
them at 1 Gbit/s (`pacing/reference/utilisation_real.csv`; releases of today, not of the thesis)."""
GO_DATAGRAM = "14 us"
"""It receives one: 1.4 times what ngtcp2's client takes there."""
