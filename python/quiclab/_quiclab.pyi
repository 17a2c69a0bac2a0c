"""The native extension, compiled from Rust. Private: use the functions of `quiclab`.

Scenarios and results are passed as JSON text, records as Arrow tables.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, final

import numpy as np

class ScenarioError(ValueError):
    """A scenario is invalid; the message has file, line, field, expected and actual value."""

    # the parameters of quiclab.errors.RequestError
    path: str
    kind: str
    expected: str
    value: str
    suggestion: str | None
    file: str
    line: int | None
    column: int | None
    rendered: str

class FormerName(FutureWarning):
    """A former name was read; the message has the name to use."""

@final
class Table:
    """A table that polars, pandas and DuckDB import without copying: the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return a capsule with the stream of the rows."""

@final
class RunOutput:
    """Output of one run."""

    @property
    def result(self) -> str:
        """The result as JSON (schema `quiclab.run/1`)."""

    @property
    def series(self) -> Table | None:
        """Time series: `time_s`, `element`, `metric`, `value`; `None` if none were recorded."""

    def series_values(self) -> dict[str, dict[str, list[float]]]:
        """Return the values of the time series: element -> metric -> values, in the order of their first sample."""

    @property
    def packets(self) -> Table | None:
        """Packet records; `None` if none were recorded.

        `time_ns`, `element`, `event` (arrival, departure, drop), `port`, `flow`, `direction` (down, up), `size_bytes`,
        `packet_id`.
        """

    @property
    def sojourns(self) -> Table | None:
        """Sojourn times in the queues of tunnels; `None` if none were recorded.

        `time_ns`, `element`, `flow`, `direction`, `sojourn_ms`, `outcome` (`sent`, or the reason of the drop).
        """

    @property
    def requests(self) -> Table | None:
        """Events of the requests of pages; `None` if none were recorded.

        `flow`, `resource`, `origin`, `size_bytes`, and `connecting_ms`, `connected_ms`, `wanted_ms`, `asked_ms`,
        `first_byte_ms`, `complete_ms`; null for events that did not happen.
        """

    @property
    def connections(self) -> Table | None:
        """Downloads of the connections that have arrived; `None` without `arrivals`.

        `flow`, `connection`, `start_s`, `size_bytes`, `completion_ms` (null if not complete), `failed`.
        """

    @property
    def acks(self) -> Table | None:
        """Acknowledgements that arrived; `None` if none were recorded.

        `time_ns`, `flow`, `element`, `packets`, `covered`, `bytes`, and `gap_ms`, the time since the previous one
        at the same element.
        """

    @property
    def taps(self) -> Mapping[str, Table]:
        """Records of each tap by name: `time_ns`, `packet_id`, `flow`, `direction`, `size_bytes`."""

def version() -> str:
    """Version of the extension, such as `0.1.0`."""

def workloads_on_streams() -> list[str]:
    """Kinds of workload that run on the streams and datagrams of QUIC."""

def native_stacks() -> str:
    """JSON list of the native stacks.

    Each is `{name, version, description, options: [{option, meaning, default, source}], operations}`. `option` is null
    for a property that no option changes; `operations` are the supported ones of `plugins`.
    """

def plugins() -> str:
    """JSON object with the built-in `plugins` by name, as in scenarios, and the replaceable `operations`.

    An operation is `{name, meaning, when, inputs: [[name, meaning]], unit, least, most, whole}`.
    """

def resolve(
    text: str,
    file: str | None,
    base_dir: str,
    sets: Sequence[tuple[str, str]],
    format: Literal["toml", "json"],
    paths_dir: str,
    programs: str | None = None,
) -> str:
    """Read a scenario, apply `path=value` changes, validate it and fill in every default; JSON.

    The links of the network that it names are taken from a file of `paths_dir`, or relative to `base_dir`.

    With `programs`, a JSON list of `{name, protocol, workloads, acknowledgements, options}`, it is a scenario of the
    kernel lane, whose stacks are these programs; `options` has the accepted values by the name of the option, or null
    for any value.

    Raises
    ------
    ScenarioError
        If the scenario is invalid.
    """

def network(text: str, file: str) -> str:
    """Return the network of a TOML file with every default filled in, as JSON.

    Raises
    ------
    ScenarioError
        If it is invalid.
    """

def read_fields(scenario_json: str) -> str | None:
    """Check the fields of a scenario (JSON), and read former names, each with a `FutureWarning`.

    Returns the scenario with the present names, or None if it has no former ones.

    Raises
    ------
    ScenarioError
        If a field does not exist, is missing or has another type.
    """

def phases() -> list[tuple[str, str, str]]:
    """Return name, colour and meaning of each phase of congestion controls, in the order of their numbers."""

def metric_groups() -> list[tuple[str, bool, list[tuple[list[str], str, str, bool, bool, str]]]]:
    """Return the metrics of each element.

    Each has the names of its numbers, kind, unit, whether it is in the statistics of a run, whether it is in time
    series, and its meaning.
    """

def result_schema() -> str:
    """Return the JSON schema of results, without the metrics."""

def nearest(name: str, known: Sequence[str]) -> str | None:
    """Return the name that `name` is most likely a misspelling of, if there is one."""

def toml_span(text: str, file: str, path: Sequence[str], value: bool) -> tuple[int, int]:
    """Return the bytes at which a field of a TOML document, or the table closest to it, was written.

    From its key on, or those of its value alone.

    Raises
    ------
    ScenarioError
        If it is not TOML.
    """

def mark(message: str, file: str, text: str, start: int, end: int) -> tuple[int, int, str]:
    """Return line and column (from 1) of byte `start`, and the message with that line, marked up to byte `end`."""

def to_toml(scenario_json: str) -> str:
    """Print a scenario as TOML."""

def paths(document_json: str, path: str) -> list[str]:
    """Return the paths that a path with `*` in it stands for in a document."""

def unused(scenario_json: str) -> list[str]:
    """Return what of a scenario no flow uses, in sentences."""

def template() -> str:
    """Return a commented scenario file that can be run unchanged."""

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
        Directory for qlog and pcapng files, or `None` to write none.
    progress
        Called periodically with the network time [s], the bytes delivered and the completed share of the run (0 to 1).
    """

def export_qlog(inputs: Sequence[str], output: str) -> tuple[int, int, list[str]]:
    """Convert qlog files of runs to one qlog 0.3 file for qvis.

    Returns the number of qlog traces and of events, and the inputs whose last record was truncated and skipped.

    Raises
    ------
    OSError, ValueError
        If a file cannot be read or written, or is not a qlog file of quiclab.
    """

def inspect_qlog(
    path: str,
    max_points: int,
    progress: Callable[[int, int], None] | None = None,
    window_ms: tuple[float, float] | None = None,
) -> str:
    """Summarise a qlog file of any draft and stack; releases the GIL.

    Parameters
    ----------
    path
        The file.
    max_points
        Maximum number of points of a series (100 to 2 000 000; divided among several connections).
    progress
        Called periodically with the number of bytes read so far, and the total over all passes over the file.
    window_ms
        First and last instant that is shown point by point, in the times of the document; `None` for all. Counts, sums,
        `phases` and `flow_control` are those of the whole file; the first row of `recovery` has the values that hold
        when the window begins.

    Returns
    -------
    str
        JSON list with an object for each connection of the file, limited to the 16 with the most events. Columns of
        one series have equal length; times are milliseconds since the start of the qlog trace (of the run, for qlog
        files of quiclab).

        - `schema` 1; `file`, `format`, `title`; `vantage` (client, server, network or unknown); `stack` or null;
          `connection` `{index, of, trace, group}`; `start_ms`, `duration_ms`
        - `originals`: names of the connection that files of its other end have, too: original connection IDs;
          `clock` `{zero_ms, offset_ms}`: calendar time of time 0, in milliseconds since 1970, or null, and
          `time_offset` of the trace
        - `counts`: `events`, `packets_sent`, `packets_received`, `packets_lost`, `packets_dropped`,
          `packets_without_number`, `bytes_sent`, `bytes_received`, `acks_sent`, `acks_received`, `datagrams_sent`,
          `datagrams_received`, `stream_bytes_sent`, `stream_bytes_received`, `skipped` (events of kinds that are not
          used, by name), and of the whole file `malformed`, `events_of_connections_not_shown`, `truncated_at_byte`
        - `derived`, each null if unknown: `goodput_mbps`, `goodput_sent_mbps`, `goodput_received_mbps`,
          `loss_percent`, `retransmitted_percent`, `mean_rtt_ms`, `ack_ratio`
        - `frame_sets`: names such as `stream+ack`; `frame_kinds`: `{name: {count, bytes}}`
        - `packet_sizes`: `[{bytes, sent, received}]`, bars of `packet_size_bar_bytes` from `bytes` on
        - `transport_parameters`: by `local`, `remote` or `unknown`
        - `phases`: `[{time_ms, state}]`
        - `packets_sent`, `packets_received`: `time_ms`, `number`, `space` (0 Initial, 1 Handshake, 2 0-RTT, 3
          1-RTT), `path` (path ID of Multipath QUIC, else 0), `bytes` or null, `frames` (index into `frame_sets`),
          `stream_offset_end` or null
        - `lost`: `time_ms`, `number` or null, `space`, `path`
        - `acks`, from ACK frames received: `time_ms`, `largest`, `space`, `path`, `newly` (packets acknowledged for the
          first time), `ends` (list of the ends of lower ranges, at most 8)
        - `recovery`: `time_ms`, `cwnd_bytes`, `in_flight_bytes`, `ssthresh_bytes`, `srtt_ms`, `latest_rtt_ms`,
          `min_rtt_ms`, `pacing_rate_mbps`; null if the event does not contain it
        - `flow_control` of what this endpoint sends: `time_ms`, `change` (0 a limit was raised, 1 the credit of the
          connection is used up, 2 that of a stream)
        - `streams`, at most the 24 largest: `[{id, direction (sent, received), first_ms, last_ms, bytes,
          unique_bytes, frames_of, frames: {time_ms, offset, length, retransmitted}}]`; `streams_more`
          `{count, bytes, frames_untold}`
        - `sampling`: `packets`, `acks`, `lost`, `phases`, `flow_control`, `series`, `stream_frames`, each
          `{shown, of, how}`

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it contains no qlog; the message has the actual and the expected contents.
    """

def analyse_packets(
    path: str,
    settings: str,
    key_logs: Sequence[str],
    flows: int,
    progress: Callable[[int, int], None] | None = None,
) -> str:
    """Analyse pacing and acknowledgements of a capture or qlog file from any source; releases the GIL.

    Parameters
    ----------
    path
        The file.
    settings
        JSON of `settings` of the document `quiclab.pacing/1`.
    key_logs
        Files of TLS secrets.
    flows
        Maximum number of flows in the document.
    progress
        Called periodically with the number of bytes read so far, and the total.

    Returns
    -------
    str
        JSON of one entry of `captures` of the document.

    Raises
    ------
    OSError, ValueError
        If the file cannot be read or has another format; the message is one line.
    """

def student_t_quantile(freedom: Sequence[float], probability: float) -> list[float]:
    """Return a quantile of Student's t for each number of degrees of freedom; NaN for NaN.

    Raises
    ------
    ValueError
        If degrees of freedom are not above 0, or the probability is not from 0 to 1.
    """

def student_t_cdf(freedom: Sequence[float], values: Sequence[float]) -> list[float]:
    """Return the probability of Student's t up to each value; NaN where degrees of freedom or value are NaN.

    Raises
    ------
    ValueError
        If degrees of freedom are not above 0, or the lengths differ.
    """

def first_difference(
    scenario_a: str, seed_a: int, scenario_b: str, seed_b: int, base_dir_a: str, base_dir_b: str
) -> str:
    """Run two scenarios side by side up to the first packet event that differs.

    JSON `{identical, index, a, b}`; `a` and `b` are
    `{time_ns, element, event, port, reason, direction, flow, size_bytes}`, or null if one run ends before the other;
    `port` is null for drops, `reason` for arrivals and departures.
    """

def analyse_columns(settings: str, frames: tuple[np.ndarray, np.ndarray], acks: tuple[np.ndarray, np.ndarray]) -> str:
    """Analyse pacing and acknowledgements of a simulated flow; JSON of a flow of `quiclab.pacing/1`.

    Parameters
    ----------
    settings
        JSON with `settings` of the document; missing settings have their default.
    frames
        Time of each packet of the sender (int64, ns, ascending) and its size (uint32, bytes).
    acks
        Time of each acknowledgement (int64, ns, ascending) and the number of packets that it newly covers (uint32).

    Raises
    ------
    ValueError
        If the settings are invalid, or the columns of one table differ in length.
    """
