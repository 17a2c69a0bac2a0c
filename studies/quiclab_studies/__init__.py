"""The published experiments: one package for each study, with its claims, its reference data and its README.

They use public names of quiclab only, and are found by entry points of the group `quiclab.studies`, as studies of any
distribution are.
"""

from pathlib import Path

#: The examples of scenarios, of which some are the networks of studies.
SCENARIOS = Path(__file__).parent / "scenarios"
