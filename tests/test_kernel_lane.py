"""The kernel lane as the lane of a scenario, of a study, and beside the sim lane."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from quiclab.errors import QuiclabError, RequestError
from quiclab.experiment.execute import check
from quiclab.experiment.plan import Recipe, Task
from quiclab.experiment.sweeps import Plan
from quiclab.experiment.sweeps.plan import Numbers
from quiclab.lane import frames
from quiclab.lane.collect import Report
from quiclab.lane.job import make_job
from quiclab.lane.run import Lane, _identity_of, _merge, _remove_older
from quiclab.result import RunResult, run
from quiclab.scenario import Scenario, load
from quiclab.study import plan as study_plan
from quiclab.study.registry import find_all

LANES = ROOT / "scenarios" / "lanes.toml"
LINUX = ("flows.main.stack", "linux")
#: 20 ms each way at 2 Mbit/s.
SMALL = [
    LINUX,
    ("links.bottleneck.rate", "2 Mbit/s"),
    ("flows.main.workload", '{ kind = "download", size = "100 kB" }'),
]


#: Two flows from one machine, the first to a laptop.
BETWEEN_MACHINES = [
    ("flows.main.sender_machine", '"server"'),
    ("flows.main.receiver_machine", '"laptop"'),
    (
        "flows.other",
        '{ stack = "linux", sender_machine = "server", down = ["bottleneck", "far"], up = ["back"], '
        'workload = { kind = "download", size = "100 kB" } }',
    ),
]


def scenario(*sets: tuple[str, str]) -> Scenario:
    return load(LANES, [LINUX, *sets], Lane().stacks())


@pytest.mark.parametrize(
    ("sets", "words"),
    [
        ([("flows.main.stack", "lab-tcp")], ("flows.main.stack", '"linux"', "needs --lane sim")),
        ([("flows.main.stack", "moon")], ("flows.main.stack", '"moon"', "program of the kernel lane", '"linux"')),
        (
            [LINUX, ("flows.main.sender.congestion_control", "bbr-picoquic")],
            ("flows.main.sender.congestion_control", '"newreno", "cubic", "bbr-linux" or "dctcp"'),
        ),
        (
            [LINUX, ("flows.main.sender.profile", "linux-7")],
            ("flows.main.sender.profile", "not supported by the program `linux`"),
        ),
        (
            [LINUX, ("flows.main.sender.tls", '{ version = "1.3" }')],
            ("flows.main.sender.tls", "not supported by the program `linux`"),
        ),
        ([LINUX, ("flows.main.workload", '{ kind = "ping", count = 3 }')], ("flows.main.workload", "ping", "`linux`")),
        (
            [LINUX, ("flows.main.plugins", '["no-pacing"]')],
            ("flows.main.plugins", "no-pacing"),
        ),
        ([LINUX, ("record.qlog", "true")], ("record.qlog", "programs are not observed")),
        (
            [LINUX, ("events", '[{ when = { kind = "time", at = "1 s" }, links = ["bottleneck"], up = false }]')],
            ("events", "sim lane only"),
        ),
        (
            [LINUX, *BETWEEN_MACHINES, ("flows.other.receiver_machine", '"laptop"')],
            ("flows.other.receiver_machine", "flow `main` is between the same machines"),
        ),
        ([("flows.main.stack", "iperf3"), ("record.acks", "true")], ("record.acks", "`iperf3`")),
    ],
)
def test_unsupported_workloads_of_a_program_are_rejected(sets: list[tuple[str, str]], words: tuple[str, ...]) -> None:
    with pytest.raises(RequestError) as error:
        load(LANES, sets, Lane().stacks())
    for word in words:
        assert word in error.value.message, error.value.message


def test_machines_are_addresses_of_ends() -> None:
    sets = [LINUX, *BETWEEN_MACHINES, ("flows.other.receiver_machine", '"desktop"')]
    flows = load(LANES, sets, Lane().stacks()).to_dict()["flows"]
    assert [flows[name]["receiver_machine"] for name in ("main", "other")] == ["laptop", "desktop"]


def test_programs_are_no_stacks_of_the_sim_lane() -> None:
    with pytest.raises(RequestError, match=r"flows.main.stack: expected .*, got \"linux\""):
        load(LANES, [LINUX])


def test_a_job_has_the_resolved_scenario_and_the_commands_of_both_ends() -> None:
    lane = Lane(clock="virtual", emulation="netem")
    job = make_job(scenario(("record.acks", "true")), 7, lane, lane.programs())
    assert (job["schema"], job["seed"], job["clock"], job["emulation"]) == ("quiclab.job/1", 7, "virtual", "netem")
    assert job["scenario"]["links"]["far"]["delay"]["mean"] == "20 ms"
    server, client = (job["flows"]["main"][end]["command"] for end in ("server", "client"))
    assert server[server.index("--congestion-control") + 1] == "cubic"
    assert "--probe" in server
    assert "{server_address}" in client
    without = make_job(scenario(), 7, lane, lane.programs())["flows"]["main"]["server"]["command"]
    assert "--probe" not in without


def test_a_job_names_the_directory_of_a_scenario_that_was_read_by_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lane = Lane()
    sets = [
        (
            "flows.main",
            '{ stack = "linux", down = ["down1"], up = ["up1"], workload = { kind = "download", duration = "1 s" } }',
        )
    ]
    monkeypatch.chdir(ROOT / "scenarios")
    traces = load("cellular_trace.toml", sets, lane.stacks())
    monkeypatch.chdir(tmp_path)
    job = make_job(traces.with_value("duration", "5 s").resolved(lane.stacks()), 1, lane, lane.programs())
    assert (Path(job["base_dir"]) / job["scenario"]["links"]["down1"]["rate"]["file"]).is_file()


def test_both_ends_are_programs_that_understand_each_other() -> None:
    lane = Lane()
    mixed = scenario(("flows.main.receiver.stack", "iperf3"))
    with pytest.raises(
        RequestError, match=r"flows\.main: expected a receiver with the stack of its sender, got `linux` and `iperf3`"
    ):
        make_job(mixed, 1, lane, lane.programs())
    odd = scenario(
        ("flows.main.stack", "aioquic"), ("flows.main.sender", "{ }"), ("flows.main.receiver.stack", "ngtcp2")
    )
    expected = r"the stack of its sender or one of `quic-go`, `quinn`, got `aioquic` and `ngtcp2`"
    with pytest.raises(RequestError, match=expected):
        make_job(odd, 1, lane, lane.programs())


def test_an_engine_of_the_kernel_lane_does_not_fall_back_to_the_simulation() -> None:
    text = LANES.read_text(encoding="utf-8")
    model = [("flows.main.stack", "lab-tcp")]
    recipe = Recipe(text, "lanes.toml", str(LANES.parent), Numbers((), ()), lane=Lane(clock="virtual"))
    with pytest.raises(RequestError, match="lab-tcp"):
        recipe.resolve(model)
    mixed = replace(recipe, mixed=True)
    assert mixed.lane_of(mixed.resolve(model)) is None
    assert mixed.lane_of(mixed.resolve([("flows.main.stack", "linux")])) == recipe.lane


def test_settings_of_a_sweep_run_in_the_lane_of_their_stacks() -> None:
    plan = Plan(file=LANES, text=LANES.read_text(), varied=("flows.main.stack=lab-tcp,linux",), lane=Lane())
    lanes = [plan.recipe.lane_of(plan.scenario(index)) for index in range(2)]
    assert lanes == [None, Lane()]
    assert ["--lane kernel" in plan.replay_of(Task(index, 1)) for index in range(2)] == [False, True]
    identities = [plan.identity(index)[0] for index in range(2)]
    alone = Plan(file=LANES, text=LANES.read_text(), varied=("flows.main.stack=lab-tcp",))
    assert alone.identity(0)[0] == identities[0] != identities[1]
    unknown = Plan(file=LANES, text=LANES.read_text(), varied=("flows.main.stack=lab-tcp,linuxx",), lane=Lane())
    with pytest.raises(RequestError, match="did you mean `linux`"):
        unknown.scenario(1)
    wrong = Plan(file=LANES, text=LANES.read_text(), varied=("flows.main.sender.tcp.mss=0 B",), lane=Lane())
    with pytest.raises(RequestError, match=r"sender\.tcp\.mss: expected"):
        wrong.scenario(0)


@pytest.mark.parametrize("stack", ["linux", "aioquic-0.9"])
def test_a_certificate_is_for_servers_that_take_one(stack: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quiclab.lane.adapter.Adapter.missing", lambda _: [])
    lane = Lane(certificate="rsa-2048")
    chosen = scenario(("flows.main.stack", stack), ("flows.main.sender", "{ }"))
    expected = rf"--certificate: expected none, unless servers take it \(`aioquic`, .*`quinn`\), got `{stack}`"
    with pytest.raises(RequestError, match=expected):
        make_job(chosen, 1, lane, lane.programs())


def test_a_missing_program_is_named_with_its_package(tmp_path: Path) -> None:
    adapter = tmp_path / "odd.toml"
    adapter.write_text(
        'name = "odd"\nprotocol = "tcp"\nworkloads = ["download.duration"]\n'
        'needs = [{ program = "no-such-program", package = "apt-get install odd" }]\n'
        '[server]\ncommand = ["no-such-program"]\n[client]\ncommand = ["no-such-program"]\n[collect]\nformat = "none"\n'
    )
    lane = Lane(adapters=(adapter,))
    odd = load(LANES, [("flows.main.stack", "odd"), ("flows.main.sender", "{}")], lane.stacks())
    with pytest.raises(RequestError, match=r"no-such-program.*apt-get install odd"):
        make_job(odd, 1, lane, lane.programs())
    # before the first run of a sweep, not as the reason why runs failed
    sets = (("flows.main.sender", "{}"),)
    varied = ("flows.main.stack=lab-tcp,odd",)
    swept = Plan(file=LANES, text=LANES.read_text(), sets=sets, varied=varied, lane=lane)
    with pytest.raises(RequestError, match=r"no-such-program.*apt-get install odd"):
        check(swept)


def result(kernel: dict[str, Any] | None, ended_by: str = "workloads_done") -> RunResult:
    run = {"network_time_s": 1.0, "ended_by": ended_by, "events": 1, **({"kernel": kernel} if kernel else {})}
    return RunResult({"run": run, "warnings": ["5 % of the packets were late"]})


def test_a_machine_that_did_not_keep_up_gives_no_result() -> None:
    assert result(None).invalid_reason is None
    assert result({"kept_up": True}).invalid_reason is None
    assert result({"kept_up": False}).invalid_reason == "5 % of the packets were late"
    assert result({"kept_up": True}, "interrupted").invalid_reason == "5 % of the packets were late"


def test_traces_of_acknowledgements_are_a_table() -> None:
    assert frames.traced("main", {}).is_empty()
    table = frames.traced("main", {"time_s": [0.05, 0.0512], "cwnd_bytes": [14480.0, None]})
    assert table["time_ns"].to_list() == [50_000_000, 51_200_000]
    assert table["gap_ms"].to_list() == [None, 1.2]
    assert table["element"].to_list() == ["main.sender"] * 2
    both = frames.together(
        [table, frames.traced("b", {"time_s": [0.0505], "cwnd_bytes": [1.0]}), frames.traced("c", {})]
    )
    assert both["flow"].to_list() == ["main", "b", "main"]


def test_an_engine_of_the_kernel_lane_runs_programs_in_the_place_of_models() -> None:
    study = next(iter(find_all("validation/lanes")))
    engines = {engine.name: engine for engine in study.design.engines}
    points = list(study.points(("sim", "kernel-virtual"), 1, {"configuration": ("reno",), "path": ("2mbit_40ms_q2",)}))
    stacks = [point.changes["flows.main.stack"] for point in points]
    assert stacks == ["lab-tcp", "linux"]
    sim, kernel = study_plan.Plan(study, points).first_runs()
    assert sim.recipe.lane is None
    assert kernel.recipe.lane == engines["kernel-virtual"].lane
    assert "--lane kernel --clock virtual" in kernel.replay
    assert study.engines_of("kernel", "default") == ("kernel-virtual",)
    with pytest.raises(RequestError, match=r'engines: expected .* in lane kernel, got "sim"'):
        study.engines_of("kernel", "sim")


@pytest.fixture
def load_on_the_machine() -> Iterator[None]:
    """A process that computes as long as the test lasts."""
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    yield
    busy.kill()
    busy.wait()


@pytest.mark.guest
@pytest.mark.parametrize("control", ["newreno", "cubic", "bbr-linux"])
def test_one_seed_gives_the_same_bytes(control: str, virtual: Lane, tmp_path: Path, load_on_the_machine: None) -> None:
    del load_on_the_machine
    small = [*SMALL, ("flows.main.sender.congestion_control", control), ("links.bottleneck.loss", "1 %")]
    small += [("record.packets", "true"), ("record.series_interval", "10 ms")]
    chosen = load(LANES, small, virtual.stacks())
    runs = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        runs.append(virtual.run(chosen, 3, base_dir=ROOT, record_dir=tmp_path / name))
    assert runs[0].data == runs[1].data
    assert runs[0].packets.equals(runs[1].packets)
    assert runs[0].series.equals(runs[1].series)
    for name in ("result.json", "main.server.json", "main.client.json"):
        first, second = ((tmp_path / folder / name).read_bytes() for folder in ("a", "b"))
        assert first == second, name
    other = virtual.run(chosen, 4, base_dir=ROOT)
    assert other.digest != runs[0].digest


@pytest.mark.guest
def test_the_kernel_and_its_model_agree_on_a_clean_link(virtual: Lane) -> None:
    sets = [("flows.main.workload", '{ kind = "download", duration = "5 s" }'), ("links.bottleneck.rate", "5 Mbit/s")]
    kernel = virtual.run(load(LANES, [LINUX, *sets], virtual.stacks()), 1, base_dir=ROOT).flows["main"]
    model = run(load(LANES, sets), 1).flows["main"]
    assert kernel.goodput_mbps == pytest.approx(model.goodput_mbps, rel=0.02)
    assert (kernel.completed, model.completed) == (True, True)


@pytest.mark.guest
def test_a_scenario_too_short_for_its_program_is_reported(virtual: Lane) -> None:
    short = load(LANES, [*SMALL, ("duration", "50 ms")], virtual.stacks())
    outcome = virtual.run(short, 1, base_dir=ROOT)
    assert not outcome.flows["main"].completed
    assert any("was not done when the duration was over" in warning for warning in outcome.warnings)


def test_a_guest_that_cannot_start_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    lane = Lane(clock="virtual")
    problem = lane.problem()
    assert problem is not None
    assert "quiclab kernel build" in problem or "quiclab-live" in problem
    with pytest.raises(QuiclabError, match=r"kernel build|quiclab-live"):
        lane.run(scenario(), 1, base_dir=ROOT)


def flow_data() -> dict[str, Any]:
    flow: dict[str, Any] = {
        "start_s": 0.0,
        "finish_s": 1.0,
        "completed": True,
        "failed": False,
        "failure": None,
        "sender": {},
    }
    flow |= {"delivered_bytes": 0, "download_time_s": 1.0, "goodput_mbps": 0.0, "receiver": {}}
    return {"flows": {"main": flow}, "run": {"network_time_s": 1.0}, "warnings": []}


def test_a_client_that_says_nothing_has_completed_nothing() -> None:
    data = flow_data()
    _merge(data, "main", Report(problems=["it said nothing"]))
    flow = data["flows"]["main"]
    assert (flow["completed"], flow["finish_s"], flow["download_time_s"]) == (False, None, None)
    assert (flow["failed"], flow["failure"]) == (True, "it said nothing"), "its goodput of 0 was not measured"
    assert data["warnings"] == ["it said nothing"]


def test_a_report_counts_from_when_its_client_started() -> None:
    data = flow_data()
    _merge(data, "main", Report(delivered_bytes=1_000_000, started_s=0.5, finished_s=2.5, complete=True))
    flow = data["flows"]["main"]
    assert (flow["download_time_s"], flow["goodput_mbps"], flow["completed"]) == (2.0, 4.0, True)


def test_files_of_an_older_run_are_removed_and_foreign_files_kept(tmp_path: Path) -> None:
    lane = Lane()
    job = make_job(scenario(), 1, lane, lane.programs())
    ours = ["result.json", "main.client.json", "main.server.out"]
    for name in (*ours, "columns", "other.client.json"):
        (tmp_path / name).write_text("{}")
    _remove_older(tmp_path, job)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["columns", "other.client.json"]


def test_inputs_of_results_include_the_files_of_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "mine"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    adapter = tmp_path / "mine.toml"
    adapter.write_text(
        'name = "mine"\nprotocol = "tcp"\nworkloads = ["download.duration"]\n'
        f'needs = [{{ file = "{program}", package = "nothing" }}]\n'
        f'[server]\ncommand = ["{program}"]\n[client]\ncommand = ["{program}"]\n[collect]\nformat = "none"\n'
    )
    monkeypatch.setenv("QUICLAB_LIVE", str(program))
    lane = Lane(adapters=(adapter,))
    tree = {"flows": {"main": {"stack": "mine", "sender": {}, "receiver": {}}}}
    before = lane.identity(tree)
    _identity_of.cache_clear()
    program.write_text("#!/bin/sh\ntrue\n")
    assert lane.identity(tree) != before


@pytest.mark.guest
def test_segments_leave_one_by_one_as_their_pacing_says(virtual: Lane) -> None:
    # the link has twice the rate: what the tap sees is the kernel's pacer
    sets = [*SMALL, ("flows.main.workload", '{ kind = "download", duration = "3 s" }'), ("taps.at_sender", "{}")]
    sets += [("flows.main.down", '["at_sender", "bottleneck", "far"]')]
    sets += [("flows.main.sender.pacing", '{ kind = "linux", max_rate = "1 Mbit/s" }')]
    intervals_ms = {}
    for segments in (None, 1):
        chosen = [] if segments is None else [("flows.main.sender.tcp.gso_segments", str(segments))]
        tap = virtual.run(load(LANES, [*sets, *chosen], virtual.stacks()), 1, base_dir=ROOT).taps["at_sender"]
        time_ns = tap["time_ns"].to_numpy()
        intervals_ms[segments] = (time_ns[1:] - time_ns[:-1])[time_ns[1:] > time_ns[0] + 1_000_000_000] / 1e6
    # 1448 B at 1 Mbit/s are 11.584 ms; two of them are the least that is handed over in one piece without the option
    assert intervals_ms[1] == pytest.approx(11.584, abs=0.01)
    pairs = intervals_ms[None]
    assert (pairs < 0.01).mean() == pytest.approx(0.5, abs=0.01)
    assert pairs[pairs >= 0.01] == pytest.approx(2 * 11.584, abs=0.01)
