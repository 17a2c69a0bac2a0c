"""Starts of connections: what ends slow start, or takes its place, on paths of all kinds."""

from quiclab_studies.slow_start import alone, disturbed, satellite

STUDIES = (alone.STUDY, disturbed.STUDY, satellite.STUDY)
