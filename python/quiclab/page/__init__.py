"""Replay of a page that somebody recorded: HAR file, network, stacks, and the waterfall of what comes out."""

from quiclab.page.har_reader import RecordedPage, read_har

__all__ = ["RecordedPage", "read_har"]
