"""Pacing and acknowledgements of runs of ours, and what studies keep of them.

A package of its own, because stored runs are made again when its code changes.
"""
