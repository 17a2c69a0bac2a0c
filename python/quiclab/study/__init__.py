"""Studies: published experiments as designs that can be run, measured and judged.

A study file needs the names here; the modules are the steps from a design to verdicts.

============================================ ================================================================
`design`, `parts`, `points`                  definition of a study
`registry`                                   finds the study files
`plan`, `job`, `inputs`                      from a study to its runs, each with its identity
`sweep`, `workers`, `store`, `manifest`      runs over worker processes, with results that survive a kill
`trial`                                      metrics and claims tried on the first run
`published`                                  published tables
`evaluate`, `compare`, `multiverse`, `maps`  results as samples and tables, compared with published ones
`difference`                                 configurations compared with the first one
`findings`, `claims`, `criteria`, `fidelity` verdicts, from the values that predicates read
============================================ ================================================================
"""

from quiclab.study.design import Study
from quiclab.study.parts import (
    BASE,
    NOT_PUBLISHED,
    Assumption,
    Changes,
    Configuration,
    Engine,
    Factor,
    Figure,
    HeatMap,
    Metric,
    Model,
    Point,
    Table,
    TextTable,
    Unavailable,
    Value,
    Variant,
    View,
    with_unit,
)

__all__ = [
    "BASE",
    "NOT_PUBLISHED",
    "Assumption",
    "Changes",
    "Configuration",
    "Engine",
    "Factor",
    "Figure",
    "HeatMap",
    "Metric",
    "Model",
    "Point",
    "Study",
    "Table",
    "TextTable",
    "Unavailable",
    "Value",
    "Variant",
    "View",
    "with_unit",
]
