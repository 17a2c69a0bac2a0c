"""Congestion controls of today in the stacks that have them: alone, and beside each other."""

from quiclab.studies.controls import alone, beside

STUDIES = (alone.STUDY, beside.STUDY)
