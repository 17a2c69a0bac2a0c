"""The published experiments: one package for each study, with its claims, its reference data and its README.

They are found by the entry points `quiclab.studies`, as studies of other distributions are.
"""
