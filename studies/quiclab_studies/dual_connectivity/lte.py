"""Experiments L1 and L2: downlinks whose rate follows a measured trace of LTE, or a synthetic one in its place."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from quiclab.errors import RequestError
from quiclab.sources.traces import installed
from quiclab.study import Changes, Configuration, Engine, Study, Table
from quiclab_studies.dual_connectivity.alone import ALONE
from quiclab_studies.dual_connectivity.common import CONFIGURATIONS, PAPER, THESIS
from quiclab_studies.dual_connectivity.ngtcp2 import CONFIGURATIONS as NGTCP2
from quiclab_studies.remarks import assumed

NAMES = ("batch_size", "share", "delay_ratio_low", "delay_ratio_high", "loss", "loss_duplicated")


def trace_or_problem() -> tuple[Path | None, str]:
    """Return the installed trace, and its error, which must not prevent other studies from loading."""
    try:
        return installed("lte"), ""
    except RequestError as error:
        return None, error.message


INSTALLED, PROBLEM = trace_or_problem()
SYNTHETIC = INSTALLED is None
FILE = "traces/synthetic_lte.csv" if INSTALLED is None else str(INSTALLED)
"""As named in the scenario; the synthetic trace is next to it."""
MARK = "synthetic LTE trace" if SYNTHETIC else "LTE trace"


def over_trace(configuration: Configuration) -> Configuration:
    """Give both downlinks the rate of the trace, from its start on, again and again."""
    rate = {"kind": "trace", "file": FILE, "format": "csv", "at_end": "loop"}

    def traced(changes: Changes) -> Changes:
        given = configuration.changes
        base: Mapping[str, object] = given(changes) if callable(given) else {**changes, **given}
        return {**base, "links.down1.rate": rate, "links.down2.rate": rate, "duration": "1800 s"}

    return replace(configuration, changes=traced)


def over_lte(study: Study) -> Study:
    """Return an experiment over the trace."""
    name = study.name.rpartition("/")[2]
    shown = study.presentation
    figures = tuple(replace(item, title=f"{item.title}, {MARK}", source=f"{PAPER} §5.5") for item in shown.figures)
    shown = replace(
        shown,
        title=f"{shown.title} ({MARK})",
        abstract="Both downlinks have the rate of "
        + (
            "a synthetic trace: the published one must not be passed on. Import it with `quiclab trace import`."
            + (f" The one that is installed cannot be used: {PROBLEM}." if PROBLEM else "")
            if SYNTHETIC
            else "the published trace."
        ),
        figures=figures,
        assumptions=(
            *shown.assumptions,
            *assumed(__file__, "lte"),
        ),
        views=(),
    )
    configurations = tuple(over_trace(item) for item in (CONFIGURATIONS[1], CONFIGURATIONS[2], *NGTCP2))
    return Study(
        f"dual_connectivity/lte_{name}",
        replace(study.design, configurations=configurations, engines=(Engine("lab-quic"),), variants=()),
        replace(study.measures, table=Table("", f"{THESIS}, {PAPER} §5.5: figures only"), criteria=(), model=None),
        shown,
    )


LTE = tuple(over_lte(study) for study in ALONE if study.name.rpartition("/")[2] in NAMES)
