"""Metrics of what is stored of a start."""

from quiclab_studies.declarations import kept_metric

LOST = kept_metric("lost_rtt", "Time lost", "round trips")
AREA = kept_metric("area_percent", "Integral of delivered bytes, of the ideal", "%", "area", factor=100)
EXIT = kept_metric("exit_rtt", "End of slow start", "round trips")
WINDOW = kept_metric("exit_bdp", "Window at its end", "BDP")
THRESHOLD = kept_metric("ssthresh_bdp", "Threshold", "BDP")
LOSSES = kept_metric("lost_bdp", "Lost in slow start", "BDP")
FURTHER = (AREA, EXIT, WINDOW, THRESHOLD, LOSSES)
METRICS = (LOST, *FURTHER)
