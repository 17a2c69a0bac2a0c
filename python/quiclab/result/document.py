"""The result of one run."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

from quiclab._base.libraries import pl
from quiclab._base.native import MAX_SEED
from quiclab._base.places import parse_json
from quiclab.errors import (
    QuiclabError,
    RequestError,
    missing_field,
    unexpected,
    unknown,
    unknown_field,
)
from quiclab.result import tables, windows
from quiclab.result.formats import counted, number
from quiclab.result.metrics import Statistics, statistics
from quiclab.result.recordings import ENDS
from quiclab.result.shape import Shape, mismatch
from quiclab.scenario import Scenario

if TYPE_CHECKING:
    from quiclab.scenario import Scenario

RUN_SCHEMA = "quiclab.run/1"
#: Tables of a result other than those of taps; each is a field of `RunResult`.
TABLES: Final = ("series", "packets", "acks", "sojourns", "requests", "connections")
#: Flows that a representation of a result has.
MAX_FLOWS: Final = 8
#: Fields of a result that are read.
_SHAPE: Final[Shape] = {
    "scenario": {
        "flows": {"*": {"stack?": str, "sender?": {"stack?": str}, "receiver?": {"stack?": str}}},
        "links?": {"*": {}},
        "taps?": {},
        "record?": {},
    },
    "seed": int,
    "digest": str,
    "warnings": [str],
    "versions?": {"*": str},
    "run": {"network_time_s": float, "events": int, "ended_by?": str, "kernel?": {"kept_up": bool}},
    "changes?": [
        {
            "time_s": float,
            "event": int,
            "begins": bool,
            "link": str,
            "rate_mbps?": float,
            "delay_ms": float,
            "loss": float,
            "up": bool,
        }
    ],
    "flows": {
        "*": {
            "start_s?": float,
            "finish_s?": float,
            "completed": bool,
            "failed": bool,
            "failure?": str,
            "delivered_bytes": int,
            "download_time_s?": float,
            "goodput_mbps": float,
            "sender": {},
            "receiver": {},
        }
    },
    "elements": {"*": {}},
    "series?": {"*": {"*": {}}},
}


def _change_columns() -> dict[str, Any]:
    """Return columns and types of `RunResult.changes`."""
    of_type = {"time_s": pl.Float64, "event": pl.Int64, "begins": pl.Boolean, "link": pl.String}
    values = {"rate_mbps": pl.Float64, "delay_ms": pl.Float64, "loss": pl.Float64, "up": pl.Boolean}
    return {**of_type, **values}


class NotKept(Enum):
    """In place of a table that a store does not keep; the same object after a copy, too."""

    NOT_KEPT = "not kept"


NOT_KEPT: Final = NotKept.NOT_KEPT


class _Rows:
    """A table of a result; without one it is empty, and one that was not kept is an error.

    The table of the engine becomes a data frame when it is first used, because the library of data frames loads slowly.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = f"_{name}"

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        if instance is None:
            return self
        held = instance.__dict__.get(self.name)
        if held is NOT_KEPT:
            raise QuiclabError(
                f"the table `{self.name[1:]}` of a stored run is not kept: metrics of a study read the result, and the "
                "series that the study keeps"
            )
        if not isinstance(held, pl.DataFrame):
            held = instance.__dict__[self.name] = pl.DataFrame(held)
        return held

    def __set__(self, instance: object, value: object) -> None:
        instance.__dict__[self.name] = None if isinstance(value, _Rows) else value


def _rows() -> Any:
    return _Rows()


@dataclass(frozen=True)
class FlowResult:
    """Summary of one flow.

    Attributes
    ----------
    start_s, finish_s
        When the client started and when its workload was done [s of network time]; `None` if it never started, and
        if it was not done.
    completed, failed, failure
        Whether the workload was done, whether the connection failed, and why.
    delivered_bytes
        Bytes delivered to the receiving application: see `quiclab.result.delivered`.
    download_time_s
        From the start of the client to the last byte [s], or `None`.
    goodput_mbps
        Delivered bits over the time they took [Mbit/s]; 0 if the flow never started.
    sender, receiver
        Metrics of the two ends, such as `sender.lost_packets`.
    """

    start_s: float | None
    finish_s: float | None
    completed: bool
    failed: bool
    failure: str | None
    delivered_bytes: int
    download_time_s: float | None
    goodput_mbps: float
    sender: Statistics
    receiver: Statistics

    def __post_init__(self) -> None:
        for end in ENDS:
            object.__setattr__(self, end, statistics(getattr(self, end)))

    def __repr__(self) -> str:
        """Say what has become of it, without the metrics of its ends."""
        return f"<FlowResult: {self._outcome}>"

    @property
    def _outcome(self) -> str:
        return f"{tables.state(self)}, {number(self.delivered_bytes / 1e6)} MB at {number(self.goodput_mbps)} Mbit/s"


@dataclass(frozen=True, repr=False)
class RunResult:
    """Result of one run.

    Parameters
    ----------
    data
        The result as the engine gives it (schema `quiclab.run/1`).
    series
        Time series with columns `time_s`, `element`, `metric`, `value`; empty if not recorded.
    packets
        Packet records with columns `time_ns`, `element`, `event`, `port`, `flow`, `direction`, `size_bytes`,
        `packet_id`; empty if not recorded.
    taps
        Records of each tap by name, with columns `time_ns`, `packet_id`, `flow`, `direction`, `size_bytes`.
    acks
        Acknowledgements that arrived at the endpoints, with columns `time_ns`, `flow`, `element`, `packets`,
        `covered`, `bytes`, `gap_ms`; empty if not recorded.
    sojourns
        How packets left the queues of tunnels, with columns `time_ns`, `element`, `flow`, `direction`, `sojourn_ms`,
        `outcome`; empty if not recorded.
    requests
        Times of the requests of pages, with columns `flow`, `resource`, `origin`, `size_bytes`, and in ms
        `connecting_ms`, `connected_ms`, `wanted_ms`, `asked_ms`, `first_byte_ms`, `complete_ms`; empty if not recorded.
    connections
        Downloads of the connections of flows with `arrivals`, with columns `flow`, `connection`, `start_s`,
        `size_bytes`, `completion_ms`, `failed`; empty without such flows.
    """

    data: Mapping[str, Any]
    series: pl.DataFrame = field(default=_rows(), repr=False, compare=False)
    packets: pl.DataFrame = field(default=_rows(), repr=False, compare=False)
    taps: Mapping[str, pl.DataFrame] = field(default_factory=dict, repr=False, compare=False)
    acks: pl.DataFrame = field(default=_rows(), repr=False, compare=False)
    sojourns: pl.DataFrame = field(default=_rows(), repr=False, compare=False)
    requests: pl.DataFrame = field(default=_rows(), repr=False, compare=False)
    connections: pl.DataFrame = field(default=_rows(), repr=False, compare=False)

    @classmethod
    def from_json(cls, text: str, source: str = "the result") -> RunResult:
        """Read a result of `quiclab run --json`.

        Raises
        ------
        RequestError
            If it is not one.
        """
        try:
            data = parse_json(text, source)
        except RecursionError as error:
            raise RequestError(f"{source} is not the result of a run: its JSON is nested too deeply") from error
        where = f"{source} is not the result of a run"
        schema = data.get("schema") if isinstance(data, dict) else None
        if not isinstance(data, dict) or schema != RUN_SCHEMA:
            raise unexpected("schema", f"`{RUN_SCHEMA}`", schema, where=where)
        if (problem := mismatch(data, _SHAPE, where)) is not None:
            raise problem
        if not 0 <= data["seed"] <= MAX_SEED:
            raise unexpected("seed", f"an integer from 0 to {MAX_SEED}", data["seed"], where=where)
        if other := set(data["flows"]) - set(data["scenario"]["flows"]):
            raise unexpected("flows", "the flows of the scenario", min(other), where=where)
        known = [item.name for item in fields(FlowResult)]
        for flow, table in data["flows"].items():
            for name in known:
                if name not in table:
                    raise missing_field(f"flows.{flow}.{name}", where=where)
            for name in table:
                if name not in known:
                    raise unknown_field(f"flows.{flow}.{name}", name, known, where=where)
        return cls(data)

    def __repr__(self) -> str:
        """Say what has become of its first flows."""
        flows = [f"{name} {flow._outcome}" for name, flow in self.flows.items()]
        more = f"; and {counted(len(flows) - MAX_FLOWS, 'flow')} more" if len(flows) > MAX_FLOWS else ""
        return f"<RunResult {self._name!r}, seed {self.seed}: {'; '.join(flows[:MAX_FLOWS])}{more}>"

    @property
    def _name(self) -> str:
        return str(self.data["scenario"].get("name", ""))

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the flows, and folded the metrics of their ends and the counters."""
        return tables.html(self, self._name, MAX_FLOWS)

    @cached_property
    def statistics(self) -> pl.DataFrame:
        """Numbers of the whole run, one a row, as `series` has those over time: `element`, `metric`, `value`.

        Elements are those of `elements`, with the ends of flows such as `main.sender`, and the flows by their name,
        with `delivered_bytes`, `download_time_s`, `goodput_mbps`, `start_s` and `finish_s`.
        """
        rows = [
            (name, item.name, getattr(flow, item.name))
            for name, flow in self.flows.items()
            for item in fields(FlowResult)
            if type(getattr(flow, item.name)) in (int, float)
        ]
        for name, element in self.elements.items():
            rows += [(name, metric, value) for metric, value in element.get("statistics", {}).items()]
        columns = {"element": pl.String, "metric": pl.String, "value": pl.Float64}
        return pl.DataFrame([(name, metric, float(value)) for name, metric, value in rows], columns, orient="row")

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Give `statistics` to libraries of tables by the PyCapsule interface of Arrow."""
        return self.statistics.__arrow_c_stream__(requested_schema)

    def without_series(self, record: Mapping[str, Any]) -> RunResult:
        """Return the result as it is without time series, with another table `record` in its scenario."""
        data = {key: value for key, value in self.data.items() if key != "series"}
        data["scenario"] = {**data["scenario"], "record": record}
        # tables as the engine gave them: to read them loads the library of data frames
        held = {name: self.__dict__[f"_{name}"] for name in TABLES if name != "series"}
        return RunResult(data, taps=self.taps, **held)

    @property
    def seed(self) -> int:
        """Seed of the run."""
        return int(self.data["seed"])

    @property
    def digest(self) -> str:
        """128-bit hash over every packet event, 32 hexadecimal digits."""
        return str(self.data["digest"])

    @property
    def network_time_s(self) -> float:
        """How long the network ran [s]."""
        return float(self.data["run"]["network_time_s"])

    @property
    def events(self) -> int:
        """Number of events processed."""
        return int(self.data["run"]["events"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the results."""
        return tuple(self.data["warnings"])

    @property
    def invalid_reason(self) -> str | None:
        """Reason why the results are invalid, or `None`: in real time a machine can fail to keep up."""
        kernel = self.data["run"].get("kernel")
        if self.data["run"].get("ended_by") == "interrupted" or (kernel is not None and not kernel["kept_up"]):
            return self.warnings[0] if self.warnings else "the run was stopped"
        return None

    @cached_property
    def scenario(self) -> Scenario:
        """The resolved scenario."""
        return Scenario.from_dict(self.data["scenario"])

    @cached_property
    def flows(self) -> dict[str, FlowResult]:
        """Summary of each flow by name."""
        return {name: FlowResult(**flow) for name, flow in self.data["flows"].items()}

    @property
    def elements(self) -> Mapping[str, Mapping[str, Any]]:
        """Counters of each element by name."""
        elements: Mapping[str, Mapping[str, Any]] = self.data["elements"]
        return elements

    @property
    def changes(self) -> pl.DataFrame:
        """Changes of links by the events of the scenario, in the order of time.

        Returns
        -------
        polars.DataFrame
            One row for each link that a change begins or ends at: `time_s`, `event` (index in the scenario), `begins`,
            `link`, and what holds at the link from then on: `rate_mbps` (null without a constant rate), `delay_ms` (one
            way), `loss` and `up`. Empty without events.
        """
        return pl.DataFrame(self.data.get("changes", []), schema=_change_columns())

    def over_time(self, element: str, metric: str, statistic: Literal["mean", "least", "largest"]) -> float:
        """Return a number over the samples of a time series.

        Parameters
        ----------
        element
            Name of an element, such as `dc.sender`.
        metric
            Name of a metric of its series, such as `srtt_ms`.
        statistic
            Which number.

        Returns
        -------
        float
            In the unit of the metric; NaN without samples.
        """
        return float(self.data.get("series", {}).get(element, {}).get(metric, {}).get(statistic, math.nan))

    def goodput(self, flow: str, after: str | None = None, until: str | None = None) -> float:
        """Return the goodput of a flow in a window of time, such as that after slow start.

        Parameters
        ----------
        flow
            Its name.
        after, until
            Where the window begins and ends on the clock of the run, such as `10 s`; `None` is the start and the end of
            the flow. A window is exact if these times are multiples of `record.series_interval`.

        Returns
        -------
        float
            In Mbit/s, over the part of the window in which the flow runs; NaN if it does not run in it, or its program
            does not report what it has delivered over time.

        Raises
        ------
        RequestError
            If the flow does not exist, a time is none, or the run has no time series.
        """
        if after is None and until is None:
            return self._flow(flow).goodput_mbps
        self._flow(flow)
        return windows.goodput_mbps(self, flow, windows.Window.of(after, until))

    def goodput_over_time(self, flow: str, every: str = "1 s") -> pl.DataFrame:
        """Return the goodput of a flow in each interval from the start of the run on.

        Parameters
        ----------
        flow
            Its name.
        every
            Length of the intervals: a multiple of `record.series_interval`.

        Returns
        -------
        polars.DataFrame
            Columns `time_s`, the end of the interval, and `goodput_mbps`; intervals that end after the flow are left
            out.

        Raises
        ------
        RequestError
            As of `goodput`.
        """
        self._flow(flow)
        return windows.goodput_over_time(self, flow, every)

    def round_trips(self, flow: str, after: str | None = None, until: str | None = None) -> pl.DataFrame:
        """Return the round-trip times of the probes of a `ping`.

        Parameters
        ----------
        flow
            Its name.
        after, until
            Only answers that arrived in this window of the run's time, such as after `5 s`.

        Returns
        -------
        polars.DataFrame
            Columns `time_s`, the sample in which the answer was first seen, and `rtt_ms`; the mean of several answers
            if they arrived between two samples.

        Raises
        ------
        RequestError
            As of `goodput`.
        """
        self._flow(flow)
        found = windows.within(self, f"{flow}.receiver", "rtt_ms", windows.Window.of(after, until))
        return found.rename({"value": "rtt_ms"})

    def _flow(self, name: str) -> FlowResult:
        if name not in self.flows:
            raise unknown("flow", name, sorted(self.flows))
        return self.flows[name]

    def to_json(self, indent: int | None = None) -> str:
        """Return the result as JSON."""
        return json.dumps(self.data, indent=indent, ensure_ascii=False)
