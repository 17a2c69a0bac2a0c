"""Experiments N1 to N9: ngtcp2 with NewReno and CUBIC compared with TCP CUBIC, alone and in three flows."""

from collections.abc import Mapping
from dataclasses import replace

from quiclab.study import Changes, Configuration, Engine, Figure, Measures, Study, Table, Variant
from quiclab_studies.dual_connectivity.alone import ALONE, DROPS, EXPIRIES, THROUGHPUT
from quiclab_studies.dual_connectivity.common import (
    ASSUMPTIONS,
    DEFAULT_BUFFER_BYTES,
    DOWNLOAD,
    LARGE_BUFFER_BYTES,
    LINUX,
    PAPER,
    PROFILES,
    QUEUE_300,
    design,
    file_over,
    host,
    kernel_flow,
    presentation,
    quic_flow,
    tcp,
)
from quiclab_studies.dual_connectivity.common import NGTCP2 as PROGRAMS
from quiclab_studies.dual_connectivity.fairness import FAIRNESS, three
from quiclab_studies.hosts import C_DATAGRAM, C_SEND_CALL
from quiclab_studies.remarks import assumed

CONTROLS = {"newreno": "NewReno", "cubic": "CUBIC"}
ENGINES = (Engine("lab-quic"),)
WITH_PROGRAMS = ("batch_size", "delay_ratio_high")

NGTCP2_ASSUMPTIONS = (
    *assumed(
        __file__,
        "ngtcp2",
        profile=PROFILES["ngtcp2"],
        c_datagram=C_DATAGRAM.replace("us", "µs"),
        c_send_call=C_SEND_CALL.replace("us", "µs"),
    ),
    *ASSUMPTIONS[2:3],
    *ASSUMPTIONS[4:],
)
NEWER = Variant(
    "ngtcp2_2022",
    "ngtcp2 of 2022",
    "The paper of 2022 may have used a newer version: with a pacer, and windows that grow.",
    lambda changes: {
        path: {**value, **{end: {**value[end], "profile": "ngtcp2-2022"} for end in ("sender", "receiver")}}
        if path.startswith("flows.") and isinstance(value, dict) and value.get("stack") == "lab-quic"
        else value
        for path, value in changes.items()
    },
    runs=3,
)


def client(receive_buffer_bytes: int) -> Changes:
    """Run the client on a host with this socket buffer."""
    return {"hosts.client": host(receive_buffer_bytes, C_DATAGRAM)}


def flow(control: str) -> Changes:
    """Run one flow of ngtcp2 over the bearer."""
    return {
        **DOWNLOAD,
        "flows.dc": {**quic_flow("lab-quic", "dc", "ngtcp2", control), "workload": file_over("quic", "100 MB")},
    }


def sized(control: str) -> Configuration:
    """Return ngtcp2 with a congestion control; changes of a factor to the file are retained."""

    def replaced(changes: Changes) -> Changes:
        given = changes.get("flows.dc")
        if isinstance(given, Mapping) and given["stack"] == PROGRAMS.name:
            others = {path: value for path, value in changes.items() if path != "flows.dc"}
            return {**others, "flows.dc": kernel_flow(PROGRAMS.name, control)}
        size = str(changes.get("flows.dc.workload.size", "100 MB"))
        others = {path: value for path, value in changes.items() if not path.startswith("flows.dc.")}
        here = flow(control)
        return {**others, **client(LARGE_BUFFER_BYTES), **here, "flows.dc.workload.size": size}

    return Configuration(f"ngtcp2_{control}", f"ngtcp2, {CONTROLS[control]}", replaced)


TCP_CUBIC = Configuration("tcp_cubic", "TCP, CUBIC", tcp("cubic"))
CONFIGURATIONS = (sized("newreno"), sized("cubic"), TCP_CUBIC)


def buffered(name: str, label: str, receive_buffer_bytes: int) -> Configuration:
    """Return ngtcp2 with NewReno and a socket buffer."""
    return Configuration(name, label, client(receive_buffer_bytes))


DEFAULT = Study(
    "dual_connectivity/ngtcp2_default",
    design=design(
        configurations=(
            buffered("quic_default_buffer", "ngtcp2, default buffer", DEFAULT_BUFFER_BYTES),
            buffered("quic_large_buffer", "ngtcp2, large buffer", LARGE_BUFFER_BYTES),
        ),
        engines=ENGINES,
        engine_changes=lambda _: flow("newreno"),
        variants=(NEWER,),
    ),
    measures=Measures(
        metric=THROUGHPUT,
        further=(DROPS, EXPIRIES),
        table=Table("", f"{PAPER} §5.4"),
    ),
    presentation=presentation(
        title="Dual Connectivity, ngtcp2: default point",
        abstract="ngtcp2 with the default and with the large receive buffer. Published: no difference, as its client "
        "drains the socket fast enough.",
        figures=(Figure("Throughput at the default point", f"{PAPER} §5.4", "", "Mean and standard deviation."),),
        assumptions=NGTCP2_ASSUMPTIONS,
    ),
)


def of_engine(engine: str) -> Changes:
    """Name the programs where they are the engine, and the kernel for TCP; configurations have the model otherwise."""
    return {**DOWNLOAD, "flows.dc": {"stack": engine}} if engine in (PROGRAMS.name, LINUX.name) else DOWNLOAD


def of_ngtcp2(study: Study) -> Study:
    """Return an experiment with ngtcp2 in place of aioquic."""
    name = study.name.removeprefix("dual_connectivity/")
    source, alone, shown = f"{PAPER}, Fig. 12 and 13", not study.design.parts, study.presentation
    return Study(
        f"dual_connectivity/ngtcp2_{name}",
        replace(
            study.design,
            configurations=CONFIGURATIONS if alone else tuple(three_of(control) for control in CONTROLS),
            engines=(*ENGINES, *((PROGRAMS, LINUX) if name in WITH_PROGRAMS else ())),
            engine_changes=of_engine if alone else three,
            variants=(NEWER, *((QUEUE_300,) if name == "batch_size" else ())),
        ),
        replace(study.measures, table=Table("", source), criteria=(), model=None),
        replace(
            shown,
            title=shown.title.replace("Dual Connectivity", "Dual Connectivity, ngtcp2", 1),
            abstract="With ngtcp2 in place of aioquic, and CUBIC in addition to NewReno. Published as figures only.",
            figures=tuple(replace(figure, source=source) for figure in shown.figures if not figure.criterion),
            assumptions=NGTCP2_ASSUMPTIONS if alone else (*NGTCP2_ASSUMPTIONS, *shown.assumptions[len(ASSUMPTIONS) :]),
            views=(),
        ),
    )


def three_of(control: str) -> Configuration:
    """Return three flows of ngtcp2 with a congestion control."""

    def replaced(changes: Changes) -> Changes:
        return {**changes, **three("lab-quic", "ngtcp2", control), **client(LARGE_BUFFER_BYTES)}

    return Configuration(f"ngtcp2_{control}", f"ngtcp2, {CONTROLS[control]}", replaced)


NGTCP2 = (
    DEFAULT,
    *(of_ngtcp2(study) for study in ALONE),
    *(of_ngtcp2(study) for study in FAIRNESS if study.name.rpartition("/")[2] != "fairness_default"),
)
