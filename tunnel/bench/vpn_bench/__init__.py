"""Benchmark of quiclab-tunnel beside other VPNs; `tunnel/bench/tunnel_bench.py` is its command line."""
