"""Shared parts of the studies `validation/linux_tcp`: controls and times of the reference.

Every setting is built from the columns of the reference; nothing is set for a row alone.
"""

REFERENCE = "validation/reference/linux_tcp"
CONTROLS = {"reno": "newreno", "cubic": "cubic", "bbr": "bbr-linux"}
ROUND_TRIPS_BEFORE_DATA = 2  # SYN and SYN-ACK, then request and first data


def length(seconds: float, rtt_ms: float) -> str:
    """Return the duration of a transfer whose data are to flow for this time, as scenarios write it."""
    return f"{round(1e6 * (seconds + ROUND_TRIPS_BEFORE_DATA * rtt_ms / 1e3)) / 1e3:.10g} ms"
