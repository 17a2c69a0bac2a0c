"""Studies: published experiments as designs that can be run, measured and judged.

A study file needs the names here; the modules are the steps from a design to verdicts.

============================================ ================================================================
`definition`                                 a study: `design`, `measures` and `presentation`, made of `parts`
`registry`                                   finds the study files
`plan`, `recording`, `manifest`              from a study to a plan (`quiclab.experiment`), and the numbers of its runs
`trial`                                      metrics and claims tried on the first run
`published`                                  published tables
`evaluate`, `compare`, `multiverse`, `maps`  results as samples and tables, compared with published ones
`difference`                                 configurations compared with the first one
`findings`, `claims`, `criteria`, `fidelity` verdicts, from the values that predicates read
============================================ ================================================================
"""

from quiclab.study.definition import Study
from quiclab.study.design import Design
from quiclab.study.measures import Measures
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
from quiclab.study.presentation import Presentation

__all__ = [
    "BASE",
    "NOT_PUBLISHED",
    "Assumption",
    "Changes",
    "Configuration",
    "Design",
    "Engine",
    "Factor",
    "Figure",
    "HeatMap",
    "Measures",
    "Metric",
    "Model",
    "Point",
    "Presentation",
    "Study",
    "Table",
    "TextTable",
    "Unavailable",
    "Value",
    "Variant",
    "View",
    "with_unit",
]
