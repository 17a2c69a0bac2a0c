"""The engine, compiled from Rust. Private: use the functions of `quiclab`.

Scenarios and results cross the border as JSON text, records as packed columns.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, final

class ScenarioError(ValueError):
    """A scenario is wrong; one sentence names file, line, field, value and what is allowed."""

@final
class RunOutput:
    """What one run gives."""

    @property
    def result(self) -> str:
        """The result as JSON (schema `quiclab.run/1`)."""

    @property
    def series(self) -> Mapping[str, bytes | list[str]]:
        """Time series as columns of equal length, little endian; empty columns without `series_interval`.

        `time_ns` int64, `element` uint32, `metric` uint32, `value` float64; the names that `element` and
        `metric` count are in `element_names` and `metric_names`.
        """

    @property
    def packets(self) -> Mapping[str, bytes | list[str]]:
        """Packet records as columns of equal length, little endian; empty columns without `packets`.

        `time_ns` int64; unsigned integers of the width that the length of the column gives: `element`, `event`
        (0 arrival, 1 departure, 2 drop), `port`, `flow`, `direction` (0 down, 1 up), `size_bytes`, `packet_id`;
        the names that `element` and `flow` count are in `element_names` and `flow_names`.
        """

    @property
    def acks(self) -> Mapping[str, bytes | list[str]]:
        """Acknowledgements that arrived, as columns of equal length, little endian; empty columns without `acks`.

        `time_ns` int64, `flow` uint32, `element` uint32, `packets` uint32, `bytes` uint64; the names that `flow` and
        `element` count are in `flow_names` and `element_names`.
        """

    @property
    def taps(self) -> Mapping[str, Mapping[str, bytes]]:
        """Records of each tap by name.

        Columns like those of `packets`: `time_ns`, `packet_id`, `flow`, `direction`, `size_bytes`.
        """

def version() -> str:
    """Version of the engine, such as `0.1.0`."""

def stacks() -> str:
    """JSON list of `{name, version, description, options: [{option, meaning, default, source}], operations}`.

    `option` is null for a property that no option changes; `operations` are those of `plugins` that it has.
    """

def plugins() -> str:
    """JSON object with the built-in `plugins` by name, as in scenarios, and the `operations` that functions stand at.

    An operation is `{name, meaning, when, inputs: [[name, meaning]], unit, least, most, whole}`.
    """

def resolve(text: str, file: str, sets: Sequence[tuple[str, str]], format: Literal["toml", "json"]) -> str:
    """Read a scenario, apply `path=value` changes, validate it and fill in every default; JSON.

    Raises
    ------
    ScenarioError
        If it is not a valid scenario.
    """

def to_toml(scenario_json: str) -> str:
    """Print a scenario as TOML."""

def template() -> str:
    """A commented scenario file that can be run as it is."""

def schema() -> str:
    """JSON schema of scenario files."""

def run(
    scenario_json: str,
    seed: int,
    base_dir: str,
    record_dir: str | None,
    progress: Callable[[float, int, float], None] | None = None,
) -> RunOutput:
    """Run a scenario; releases the GIL.

    Parameters
    ----------
    scenario_json
        The scenario, resolved or not.
    seed
        Seed of every random stream.
    base_dir
        Directory that files named in the scenario are relative to.
    record_dir
        Where qlog and pcapng go, or `None` to write none.
    progress
        Called now and then with the network time [s], the bytes delivered and the part that is done (0 to 1).
    """

def export_qlog(inputs: Sequence[str], output: str) -> tuple[int, int]:
    """Convert qlog files of runs to one qlog 0.3 file for qvis; give the number of traces and of events.

    Raises
    ------
    OSError, ValueError
        If a file cannot be read or written, or is not a qlog file of ours.
    """

def first_difference(
    scenario_a: str, seed_a: int, scenario_b: str, seed_b: int, base_dir_a: str, base_dir_b: str
) -> str:
    """Run two scenarios side by side up to the first packet event that differs.

    JSON `{identical, index, a, b}`; `a` and `b` are
    `{time_ns, element, event, port, reason, direction, flow, size_bytes}` or null where one run ends before the other;
    `port` is null for drops, `reason` for all else.
    """
