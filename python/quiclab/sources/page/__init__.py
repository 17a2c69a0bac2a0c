"""Replay of a recorded page load: HAR file, network, stacks, and the waterfall of the result."""

from quiclab.sources.page.har_reader import RecordedPage, read_har

__all__ = ["RecordedPage", "read_har"]
