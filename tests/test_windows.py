"""Windows of time: goodput and round-trip times in a part of a run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

import quiclab
from quiclab import cli
from quiclab._base.libraries import pl
from quiclab.errors import RequestError
from quiclab.experiment.sweeps.metrics import measures
from quiclab.result import RunResult
from quiclab.result.windows import Window
from quiclab.scenario import Scenario

if TYPE_CHECKING:
    from pathlib import Path

#: Two downloads by time, of which one starts late; a ping beside them.
SCENARIO = """
version = 1
name = "windows"
duration = "4 s"
until = "duration_over"
links.down = { rate = "8 Mbit/s", delay = "10 ms", queue = { kind = "drop_tail", packets = 40 } }
links.up = { rate = "8 Mbit/s", delay = "10 ms" }
record.series_interval = "100 ms"
[flows.main]
stack = "lab-tcp"
down = ["down"]
up = ["up"]
workload = { kind = "download", duration = "3 s" }
[flows.late]
stack = "lab-tcp"
down = ["down"]
up = ["up"]
workload = { kind = "download", size = "300 kB" }
start = "2 s"
[flows.ping]
stack = "lab-udp"
down = ["down"]
up = ["up"]
workload = { kind = "ping", count = 8, interval = "200 ms" }
"""

MAIN = {"main": "download"}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("windows") / "windows.toml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture(scope="module")
def scenario(file: Path) -> Scenario:
    return quiclab.load(file)


@pytest.fixture(scope="module")
def result(scenario: Scenario) -> RunResult:
    return quiclab.run(scenario)


def drawn(samples: list[tuple[float, str, str, float]], start_s: float | None, finish_s: float | None) -> RunResult:
    """Return a result of one flow of 1000 bytes with these samples, that ends at 10 s."""
    flow: dict[str, object] = {
        "start_s": start_s,
        "finish_s": finish_s,
        "completed": finish_s is not None,
        "failed": False,
        "failure": None,
        "delivered_bytes": 1000,
        "download_time_s": None,
        "goodput_mbps": 1.0,
        "sender": {},
        "receiver": {},
    }
    series = pl.DataFrame(samples, schema=["time_s", "element", "metric", "value"], orient="row")
    return RunResult({"flows": {"f": flow}, "run": {"network_time_s": 10.0}}, series=series)


def samples(*values: tuple[float, float]) -> list[tuple[float, str, str, float]]:
    return [(time, "f.receiver", "delivered_bytes", value) for time, value in values]


@pytest.mark.parametrize(
    ("after", "until", "bytes_in", "takes_s"),
    [
        ("3 s", "6 s", 500 - 100, 3),  # between two samples
        ("0 s", "5 s", 500, 4),  # from the start of the flow on, at 1 s
        ("6 s", None, 500, 2),  # to its last byte, at 8 s
        ("3 s", "4 s", 0, 1),  # nothing has arrived
        ("3500 ms", "5 s", 400, 1.5),  # the last sample until then
    ],
)
def test_goodput_within_a_window(after: str, until: str | None, bytes_in: int, takes_s: float) -> None:
    result = drawn(samples((0, 0), (2, 100), (4, 100), (5, 500), (7, 900)), 1.0, 8.0)
    assert result.goodput("f", after, until) == pytest.approx(8e-6 * bytes_in / takes_s, rel=1e-12)


def test_goodput_where_the_flow_does_not_run() -> None:
    result = drawn(samples((0, 0), (5, 500)), 1.0, 8.0)
    assert math.isnan(result.goodput("f", "8 s"))
    assert math.isnan(result.goodput("f", until="1 s"))
    assert math.isnan(drawn(samples((0, 0)), None, None).goodput("f", "1 s"))
    assert result.goodput("f") == 1.0


def test_goodput_of_each_second() -> None:
    result = drawn(samples((0, 0), (1, 100), (2, 100), (3, 900)), 0.0, 3.5)
    assert result.goodput_over_time("f")["time_s"].to_list() == [1, 2, 3]
    assert result.goodput_over_time("f")["goodput_mbps"].to_list() == pytest.approx([8e-4, 0, 64e-4], rel=1e-12)


def test_intervals_are_exact_where_they_are_multiples_of_the_series_interval() -> None:
    # one byte more in each sample: a difference of multiples of 0.01 would miss that at 20 ms
    result = drawn(samples(*((count * 10_000_000 / 1e9, count) for count in range(11))), 0.0, None)
    rates = result.goodput_over_time("f", "10 ms")["goodput_mbps"].to_list()[:10]
    assert rates == pytest.approx([8e-4] * 10, rel=1e-12)


def test_a_window_of_a_run(result: RunResult, scenario: Scenario) -> None:
    # what arrives until 1 s is what a run that ends then has delivered
    until = quiclab.run(scenario.with_value("duration", "1 s")).flows["main"].delivered_bytes
    assert result.goodput("main", until="1 s") == pytest.approx(8e-6 * until, rel=1e-12)
    parts = [result.goodput("main", *times) for times in ((None, "1 s"), ("1 s", "2 s"))]
    assert result.goodput("main", until="2 s") == pytest.approx(sum(parts) / 2, rel=1e-12)
    seconds = result.goodput_over_time("main")
    assert seconds["goodput_mbps"].to_list()[:2] == pytest.approx(parts, rel=1e-12)
    late = result.flows["late"]
    assert late.start_s == 2.0
    assert result.goodput("late", "1 s") == pytest.approx(late.goodput_mbps, rel=1e-12)


def test_round_trips_of_a_ping_without_the_start(result: RunResult) -> None:
    every, later = result.round_trips("ping"), result.round_trips("ping", after="500 ms")
    # probes leave at 0, 200, 400 ms ...: three of them before
    assert (len(every), len(later)) == (8, 5)
    assert every["rtt_ms"].mean() == pytest.approx(result.flows["ping"].receiver["rtt_ms_mean"], rel=1e-9)
    assert later.equals(every.filter(pl.col("time_s") > 0.5))
    assert result.round_trips("main").is_empty()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda run: run.goodput("min", "1 s"), "unknown flow `min`"),
        (lambda run: run.goodput("main", "1"), 'expected a number with a unit (ns, us, µs, ms, s, min), got "1"'),
        (lambda run: run.goodput("main", "2 s", "1 s"), 'until: expected a time after "2 s", got "1 s"'),
        (lambda run: run.goodput_over_time("main", "0 s"), 'every: expected a time above "0 s", got "0 s"'),
        (lambda run: run.round_trips("ping", "x"), 'got "x"'),
    ],
)
def test_wrong_windows(call: object, message: str, result: RunResult) -> None:
    with pytest.raises(RequestError) as error:
        call(result)  # type: ignore[operator]
    assert message in error.value.message


def test_a_window_needs_time_series(scenario: Scenario) -> None:
    without = quiclab.run(scenario.with_values({"record": {}, "duration": "100 ms"}))
    with pytest.raises(RequestError, match=r"record\.series_interval: missing; expected a duration"):
        without.goodput("main", "50 ms")


def test_metrics_within_a_window(result: RunResult) -> None:
    names = ["goodput@1s..2s", "delivered@..1s", "fairness@2s..", "rtt_p95@1s.."]
    columns = {measure.column: measure.measure(result) for measure in measures(names, MAIN)}
    assert list(columns) == [
        "goodput_mbps@1s..2s",
        "delivered_bytes@..1s",
        "fairness@2s..",
        "rtt_p95_ms@1s..",
    ]
    assert columns["goodput_mbps@1s..2s"] == result.goodput("main", "1 s", "2 s")
    assert columns["delivered_bytes@..1s"] == pytest.approx(result.goodput("main", until="1 s") / 8e-6, rel=1e-12)
    assert math.isnan(columns["fairness@2s.."]), "the ping has ended before"
    (ping,) = measures(["ping_p50@500ms.."], MAIN | {"ping": "ping"})
    assert ping.column == "ping_p50_ms@500ms.."
    assert ping.measure(result) == result.round_trips("ping", "500 ms")["rtt_ms"].median()
    several = [measure.column for measure in measures(["goodput@1s.."], MAIN | {"late": "download"})]
    assert several == ["goodput_mbps.main@1s..", "goodput_mbps.late@1s.."]
    assert all(measure.series for measure in measures(names, MAIN))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("goodput@", 'a window such as `@10s..`, `@10s..60s` or `@..60s`, got "@"'),
        ("goodput@..", 'got "@.."'),
        ("goodput@10s", 'got "@10s"'),
        ("goodput@2s..1s", 'got "@2s..1s"'),
        ("goodput@a..b", 'got "@a..b"'),
        ("drops@1s..", '`fairness` or `total_goodput` with a window, got "drops@1s.."'),
        ("ping@1s..", "expected a flow with the workload `ping` for `ping`, got none"),
        ("speed@1s..", "unknown metric `speed@1s..`"),
    ],
)
def test_wrong_windows_of_metrics(name: str, message: str) -> None:
    with pytest.raises(RequestError) as error:
        measures([name], MAIN)
    assert message in error.value.message


def test_a_window_is_read() -> None:
    assert Window.read("10s..60s") == Window(10, 60)
    assert Window.read("..500 ms") == Window(0, 0.5)
    assert Window.read("1min..") == Window(60)


def test_a_sweep_measures_in_a_window(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    sets = ["--set", "record.series_interval=10 ms", "--vary", "links.down.rate=4Mbit/s,8Mbit/s", "--seeds", "1"]
    words = ["sweep", str(file), *sets, "--metric", "goodput@1s..2s,ping", "--jobs", "1", "--out", str(out)]
    assert cli.invoke(words) == 0
    capsys.readouterr()
    rows = pl.read_parquet(out / "runs.parquet")
    fast = quiclab.run(quiclab.load(file, [("record.series_interval", "10 ms")]))
    assert rows["goodput_mbps.main@1s..2s"].to_list()[1] == fast.goodput("main", "1 s", "2 s")
    assert rows["ping_ms"].to_list()[1] == pytest.approx(fast.flows["ping"].receiver["rtt_ms_mean"], rel=1e-9)


def test_a_flow_that_starts_after_the_end_can_stay(scenario: Scenario) -> None:
    short = quiclab.run(scenario.with_value("duration", "500 ms"))
    assert RunResult.from_json(short.to_json()).flows["late"].start_s is None
    assert short.flows["late"].goodput_mbps == 0.0
    assert "flow `late` never started: the run ended at 500 ms, its `start` is 2 s" in short.warnings
