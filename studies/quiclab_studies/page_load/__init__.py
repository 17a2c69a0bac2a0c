"""Page load times of two generations of QUIC against TCP (Muthuraj, thesis, University of Alberta, 2024).

One page at a time through a bridge with rate, delay and loss in both directions: one image of 5 kB to 10 MB, or a
megabyte in 1 to 200 images; with 36 and 112 ms, with 1 % loss, and with a delay that a script changes six times in a
second. When is QUIC faster, and which mechanism makes it so?
"""

from quiclab_studies.page_load.studies import STUDIES

__all__ = ["STUDIES"]
