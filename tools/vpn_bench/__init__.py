"""Benchmark of quiclab-tunnel beside other VPNs; `tools/tunnel_bench.py` is its command line."""
