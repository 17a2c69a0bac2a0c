"""The forms of the kernel lane, and the files of a run: names that the command line needs without loading the lane."""

from collections.abc import Iterable
from typing import Final, Literal, get_args

Clock = Literal["real", "virtual"]
Emulation = Literal["engine", "netem"]
DelayStage = Literal["next_hop", "child", "same"]
#: Key of the certificate of servers, which is signed by itself, or with `-chain-N` sent with N - 1 intermediate ones.
Certificate = Literal[
    "ed25519", "p-256", "rsa-2048", "p-256-chain-2", "p-256-chain-3", "rsa-2048-chain-2", "rsa-2048-chain-3"
]
DEFAULT_CERTIFICATE: Final[Certificate] = "ed25519"
CLOCKS, EMULATIONS, DELAY_STAGES = get_args(Clock), get_args(Emulation), get_args(DelayStage)
CERTIFICATES = get_args(Certificate)
#: Job of a run in its directory, and the folder of its tables.
JOB_FILE, TABLES = "job.json", ".tables"
#: Endings of what a program of a flow leaves there: its report, and its output.
REPORTS = ("json", "out", "err")


def key_log(flow: str) -> str:
    """Return the name of the key log of a flow in the directory of its run."""
    return f"{flow}.keys"


def files_of(flows: Iterable[str]) -> set[str]:
    """Return the names of the files that the programs of flows leave in the directory of a run."""
    names = list(flows)
    reports = {f"{flow}.{role}.{kind}" for flow in names for role in ("client", "server") for kind in REPORTS}
    return {JOB_FILE, TABLES, *reports, *map(key_log, names)}
