"""Senders and receivers in Python, started as programs of their own."""
