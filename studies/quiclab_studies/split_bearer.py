"""Factors of all studies of a download over a split bearer."""

from quiclab.study import Factor


def batch_factor(sizes: tuple[int, ...]) -> Factor:
    """Return the batch size of the bearer as a factor."""
    return Factor(
        "batch", "dc_batch_packets", "DC batch size", "packets", sizes, lambda size: {"bearers.dc.batch_packets": size}
    )
