"""The forms of the kernel lane: names that the command line lists without loading the lane."""

from typing import Literal, get_args

Clock = Literal["real", "virtual"]
Emulation = Literal["engine", "netem"]
DelayStage = Literal["next_hop", "child", "same"]
CLOCKS, EMULATIONS, DELAY_STAGES = get_args(Clock), get_args(Emulation), get_args(DelayStage)
