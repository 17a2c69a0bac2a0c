"""Pacing and acknowledgements of quiclab's runs, and the data that studies store of them.

A separate package, because stored runs are repeated when its code changes.
"""
