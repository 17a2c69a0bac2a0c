"""Senders and receivers in Python, started as separate programs."""
