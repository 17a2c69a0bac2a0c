"""Congestion controls of today in the stacks that have them: alone, beside each other, and in the tests of a draft."""

from quiclab_studies.controls import alone, beside, picoquic

STUDIES = (alone.STUDY, beside.STUDY, picoquic.STUDY)
