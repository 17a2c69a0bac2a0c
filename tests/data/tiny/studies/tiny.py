"""A study small enough for tests: short downloads over one link, at two rates and with two delays."""

from quiclab.result import RunResult
from quiclab.study import (
    Assumption,
    Configuration,
    Design,
    Engine,
    Factor,
    Figure,
    Measures,
    Metric,
    Presentation,
    Study,
    Table,
    Unavailable,
    Variant,
)
from quiclab.study.claims import Claim


def goodput_mbps(result: RunResult) -> float:
    """Goodput of the only flow [Mbit/s]."""
    return result.flows["dc"].goodput_mbps


RATE = Study(
    "tiny/rate",
    design=Design(
        scenario="scenarios/tiny.toml",
        configurations=(
            Configuration("near", "5 ms away", {"links.down1.delay": "5 ms"}),
            Configuration("far", "<50 ms> & away", {"links.down1.delay": "50 ms"}),
        ),
        factors=(
            Factor("rate", "rate_mbps", "Rate", "Mbit/s", (5, 20), lambda v: {"links.down1.rate": f"{v} Mbit/s"}),
        ),
        engines=(Engine("quinn"), Engine("noq", runs=2), Engine("absent")),
        engine_changes=lambda engine: {"flows.dc.sender.stack": engine, "flows.dc.receiver.stack": engine},
        runs=3,
        variants=(Variant("tight", "queue of 10", "Another reading.", {"links.down1.queue.packets": 10}, runs=2),),
        unavailable=(Unavailable("moon", "Moon", "not available yet: too far"),),
    ),
    measures=Measures(
        metric=Metric("goodput_mbps", "Goodput", "Mbit/s", goodput_mbps),
        table=Table("reference/tiny.csv", "a table"),
        claims=(
            Claim(
                "TI-1",
                "§1",
                "It is faster than nothing.",
                lambda t: t("near", rate=5) > 0,
                lambda t: {"near": t("near", rate=5)},
            ),
            Claim(
                "TI-2", "§2", "It exceeds the rate of the link.", lambda t: t("near", rate=5) > 5.0, scope="one rate"
            ),
            Claim("TI-3", "§3", "It is polite.", reason="not available yet: needs a second flow", note="Nobody asked."),
        ),
    ),
    presentation=Presentation(
        title="Tiny: rate of a link",
        abstract="A short download over one link is faster on a faster link.",
        source="nobody",
        figures=(Figure("Goodput over the rate", "a figure", "rate", "Mean over the runs."),),
        assumptions=(Assumption("There is one link.", "One is enough."),),
        limits=("It says nothing.",),
    ),
)

STUDIES = (RATE,)
