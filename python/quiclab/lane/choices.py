"""The forms of the kernel lane: names that the command line lists without loading the lane."""

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
