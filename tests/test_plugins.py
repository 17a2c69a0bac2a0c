"""Plugins: functions beside a scenario, options in one line, and how each wrong one is refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jsonschema
import pytest

from conftest import ROOT, has_stack, quiclab_process, swept
from quiclab import RequestError, ScenarioError, cli, load, run
from quiclab._base.native import extension
from quiclab._base.plugins import FunctionError, function_names, load_functions, source_files
from quiclab.experiment.sweeps import Plan
from quiclab.scenario import Scenario
from quiclab.scenario.inputs import code_of, fingerprint

SCENARIO = """\
version = 1
name = "plugins"
duration = "60 s"
[links.a]
rate = "20 Mbit/s"
delay = "5 ms"
[links.b]
delay = "5 ms"
[flows.f]
stack = "lab-tcp"
down = ["a"]
up = ["b"]
workload = { kind = "download", size = "500 kB" }
"""

COUNTER = """\
from helper import STEP

calls = 0


def count(inputs):
    global calls
    calls += 1
    return STEP * calls


def current(inputs):
    return calls


class Total:
    def __init__(self):
        self.sum = 0.0

    def __call__(self, inputs):
        self.sum += inputs["value"]
        return self.sum
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a scenario and with functions."""
    (tmp_path / "s.toml").write_text(SCENARIO)
    (tmp_path / "counter.py").write_text(COUNTER)
    (tmp_path / "helper.py").write_text("STEP = 1\n")
    return tmp_path


def written(folder: Path, plugins: str, flow: str = "") -> Path:
    """Write the scenario with plugins and with more in its flow."""
    text = SCENARIO.replace("[flows.f]\n", f"{plugins}\n[flows.f]\n{flow}\n")
    (folder / "s.toml").write_text(text)
    return folder / "s.toml"


def refusal(folder: Path, plugins: str, flow: str = "") -> ScenarioError:
    """Return the error with which the scenario is rejected."""
    with pytest.raises(ScenarioError) as error:
        load(written(folder, plugins, flow))
    return error.value


# functions


def test_functions_of_one_end_share_their_module_and_each_end_has_its_own(folder: Path) -> None:
    count, current = load_functions(["counter:count", "counter:current"], str(folder))
    assert [count({}), count({}), current({})] == [1, 2, 2]
    again, _ = load_functions(["counter:count", "counter:current"], str(folder))
    assert again({}) == 1, "nothing is left of the other end"
    assert count({}) == 3, "and the first one goes on"


def test_each_end_has_its_own_instance_of_a_class(folder: Path) -> None:
    first, second = load_functions(["counter:Total", "counter:Total"], str(folder))
    assert [first({"value": 2.0}), first({"value": 3.0}), second({"value": 4.0})] == [2.0, 5.0, 4.0]


def test_the_folder_goes_first_and_is_forgotten(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "counter.py").write_text(COUNTER)
    (other / "helper.py").write_text("STEP = 10\n")
    # `json` is a module of Python; here one of the folder, so that even this is found there
    (folder / "json.py").write_text("def one(inputs):\n    return 1.0\n")
    before = (list(sys.path), sys.dont_write_bytecode, sys.modules["json"])
    values = [load_functions(["counter:count"], str(place))[0]({}) for place in (folder, other, folder)]
    assert values == [1, 10, 1]
    assert load_functions(["json:one"], str(folder))[0]({}) == 1.0
    assert (sys.path, sys.dont_write_bytecode, sys.modules["json"]) == before
    assert not {"counter", "helper"} & sys.modules.keys()
    assert not list(folder.rglob("__pycache__"))


def test_a_changed_file_is_read_again(folder: Path) -> None:
    for step in (1, 2, 3):  # the same length, within a second
        (folder / "helper.py").write_text(f"STEP = {step}\n")
        assert load_functions(["counter:count"], str(folder))[0]({}) == step


def test_functions_of_packages_and_of_installed_modules(folder: Path) -> None:
    (folder / "parts").mkdir()
    (folder / "parts" / "__init__.py").write_text("")
    (folder / "parts" / "inner.py").write_text("from .constants import HALF\n\n\ndef f(inputs):\n    return HALF\n")
    (folder / "parts" / "constants.py").write_text("HALF = 0.5\n")
    inner, cosine = load_functions(["parts.inner:f", "math:cos"], str(folder))
    assert inner({}) == 0.5
    assert cosine(0.0) == 1.0  # type: ignore[arg-type]
    names = [file.relative_to(folder).as_posix() for file in source_files(["parts.inner:f", "math:cos"], folder)]
    assert names == ["parts/__init__.py", "parts/constants.py", "parts/inner.py"]


@pytest.mark.parametrize(
    ("name", "reason", "allowed"),
    [
        ("absent:f", "module `absent` not found", "`module:function`, with a module in the folder"),
        ("absent.inner:f", "module `absent.inner` not found", "`module:function`"),
        ("counter:absent", "module `counter` has no `absent`", "`counter:count`, `counter:current`, `counter:Total`"),
        ("helper:absent", "module `helper` has no `absent`", "none: the module has no function"),
        ("helper:STEP", "`STEP` is a int, which is not callable", "`module:function`"),
        ("counter", "not the name of a function", "`module:function`"),
        ("counter:", "not the name of a function", "`module:function`"),
        ("counter.py:count", "module `counter.py` not found", "`module:function`"),
        ("../counter:count", "not the name of a function", "`module:function`"),
        ("broken:f", "its module cannot be loaded: SyntaxError: ", "`module:function`"),
        ("raises:f", "its module cannot be loaded: ZeroDivisionError: division by zero (raises.py, line 2)", "`module"),
        ("needs:f", "its module cannot be loaded: No module named 'absent'", "`module:function`"),
        ("abstract:F", "the class cannot be instantiated: TypeError: ", "`module:function`"),
    ],
)
def test_invalid_functions_are_named(folder: Path, name: str, reason: str, allowed: str) -> None:
    (folder / "broken.py").write_text("def f(:\n")
    (folder / "raises.py").write_text("\n1 / 0\n")
    (folder / "needs.py").write_text("import absent\n")
    (folder / "abstract.py").write_text("class F:\n    def __init__(self, x):\n        pass\n")
    with pytest.raises(FunctionError) as error:
        load_functions([name], str(folder))
    assert error.value.name == name
    assert error.value.reason.startswith(reason)
    assert error.value.allowed.startswith(allowed)


def test_runs_depend_on_the_code_of_their_functions(folder: Path) -> None:
    exchanges = [{"operation": "compute.path", "after": "counter:count"}, {"operation": "pacing", "replace": "x:y"}]
    scenario = {
        "flows": {"f": {"plugins": ["mine"]}},
        "plugins": {
            "mine": {"exchanges": exchanges},
            "unused": {"exchanges": [{"operation": "compute.path", "replace": "a:b"}]},
        },
    }
    assert function_names(scenario) == ["counter:count"]
    assert code_of(scenario, folder) == ["counter.py", "helper.py"]
    before = fingerprint(scenario, folder)
    assert fingerprint(scenario, folder) == before
    (folder / "helper.py").write_text("STEP = 17\n")
    after = fingerprint(scenario, folder)
    assert [line.split()[1] for line in sorted(set(after) - set(before))] == ["helper.py"]


def test_runs_depend_on_the_code_of_functions_outside_of_the_folder(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.syspath_prepend(elsewhere)
    (elsewhere / "one_outside.py").write_text("def f(inputs):\n    return 1\n")
    (elsewhere / "many_outside").mkdir()
    (elsewhere / "many_outside" / "__init__.py").write_text("from many_outside.parts import f\n")
    (elsewhere / "many_outside" / "parts.py").write_text("def f(inputs):\n    return 1\n")

    def inputs(*names: str) -> list[str]:
        exchanges = [{"operation": "compute.path", "after": name} for name in names]
        plugins = {"mine": {"exchanges": exchanges}}
        return fingerprint({"flows": {"f": {"plugins": ["mine"]}}, "plugins": plugins}, folder)

    names = ("absent_outside:f", "many_outside:f", "math:cos", "one_outside:f")
    before = inputs(*names)
    assert [line.split()[:2] for line in before] == [["code", name] for name in names]
    assert inputs(*names) == before
    (elsewhere / "one_outside.py").write_text("def f(inputs):\n    return 17\n")
    assert [line.split()[1] for line in sorted(set(inputs(*names)) - set(before))] == ["one_outside:f"]
    before = inputs(*names)
    (elsewhere / "many_outside" / "parts.py").write_text("def f(inputs):\n    return 17\n")
    assert [line.split()[1] for line in sorted(set(inputs(*names)) - set(before))] == ["many_outside:f"]
    (folder / "one_outside.py").write_text("def f(inputs):\n    return 1\n")
    assert any(line.startswith("code one_outside.py ") for line in inputs(*names)), "the folder goes first"


# scenarios


def test_a_plugin_can_be_added_by_value(folder: Path) -> None:
    exchanges = [
        {"operation": "pacing", "replace": {"kind": "even", "factor": 1.5}},
        {"operation": "compute.path", "after": "m:f"},
    ]
    plugin = {"description": "Even pacing.", "ends": "sender", "exchanges": exchanges}
    scenario = load(folder / "s.toml").with_value("plugins.mine", plugin)
    plain = scenario.to_dict()
    assert plain["plugins"]["mine"]["exchanges"] == exchanges
    again = Scenario.from_dict(plain)
    assert again.to_dict() == plain
    jsonschema.validate(plain, json.loads(extension().schema()))
    with pytest.raises(RequestError, match=r"plugins.other: unknown plugin `other`; expected `mine`"):
        scenario.with_value("plugins.other.ends", "both")


def test_a_plugin_is_one_line_and_equals_its_options(folder: Path) -> None:
    path = folder / "s.toml"
    plain = run(load(path), 1)
    by_plugin = run(load(path, [("flows.f.plugins", '["no-slow-start-exit"]')]), 1)
    by_option = run(load(path, [(f"flows.f.{end}.slow_start_exit", "none") for end in ("sender", "receiver")]), 1)
    assert by_plugin.digest == by_option.digest
    own = '[plugins.bbr]\nexchanges = [{ operation = "congestion_control", replace = "bbr-linux" }]'
    bbr = run(load(written(folder, own, 'plugins = ["bbr"]')), 1)
    assert bbr.digest == run(load(path, [("flows.f.plugins", "[]"), *ends("bbr-linux")]), 1).digest
    assert len({plain.digest, by_plugin.digest, bbr.digest}) == 3


def ends(control: str) -> list[tuple[str, str]]:
    """Return the changes that give both ends a congestion control."""
    return [(f"flows.f.{end}.congestion_control", control) for end in ("sender", "receiver")]


def test_show_prints_complete_plugin_definitions_and_its_output_runs_equally(folder: Path) -> None:
    shown = quiclab_process("scenario", "show", folder / "s.toml", "--set", 'flows.f.plugins=["no-slow-start-exit"]')
    assert shown.returncode == 0, shown.stderr
    for part in ('plugins = ["no-slow-start-exit"]', "[plugins.no-slow-start-exit]", 'operation = "slow_start_exit"'):
        assert part in shown.stdout
    (folder / "printed.toml").write_text(shown.stdout)
    again = quiclab_process("scenario", "show", folder / "printed.toml")
    assert again.stdout == shown.stdout
    # another list leaves nothing of the one before
    cleared = run(load(folder / "printed.toml", [("flows.f.plugins", "[]")]), 1)
    assert cleared.digest == run(load(folder / "s.toml"), 1).digest


OWN = '[plugins.mine]\nexchanges = [{ operation = "pacing", replace = { kind = "none" } }]'


@pytest.mark.parametrize(
    ("plugins", "flow", "line", "field", "kind", "reason"),
    [
        ("", 'plugins = ["no-pacng"]', 11, "flows.f.plugins.0", "UnknownName", "did you mean `no-pacing`?"),
        (
            OWN.replace('"pacing"', '"pasing"'),
            "",
            10,
            "plugins.mine.exchanges.0.operation",
            "UnknownName",
            "did you mean `pacing`?",
        ),
        (
            OWN,
            'plugins = ["mine"]\nsender.pacing = { kind = "linux" }',
            12,
            "flows.f.plugins.0",
            "Conflict",
            'it sets `pacing` of the sender to { kind = "none" }, and the sender itself sets { kind = "linux" }',
        ),
        (
            OWN.replace("none", "linux"),
            'plugins = ["mine", "no-pacing"]',
            12,
            "flows.f.plugins.1",
            "Conflict",
            'it sets `pacing` of the sender to { kind = "none" }, and `mine` sets it to { kind = "linux" }',
        ),
        (
            "",
            'plugins = ["adaptive-threshold"]',
            11,
            "flows.f.plugins.0",
            "Unsupported",
            "it sets `packet_threshold` of the sender to 3: not supported by lab-tcp; use `tcp.reordering`",
        ),
        (
            "",
            'plugins = ["ack-every-packet"]',
            11,
            "flows.f.plugins.0",
            "Unsupported",
            "it sets `quic.acknowledgement` of the sender to ",
        ),
        (
            OWN.replace('"pacing", replace = { kind = "none" }', '"compute.path", replace = "counter:count"'),
            'plugins = ["mine"]',
            12,
            "flows.f.plugins.0",
            "Conflict",
            "it exchanges `compute.path` of the sender, which the stack `lab-tcp` does not have",
        ),
    ],
)
def test_a_wrong_plugin_is_named(
    folder: Path, plugins: str, flow: str, line: int, field: str, kind: str, reason: str
) -> None:
    error = refusal(folder, plugins, flow)
    assert (error.path, error.kind) == (field, kind)
    assert f"/s.toml:{line}:" in error.message
    assert reason in error.message


@pytest.mark.parametrize("stack", ["quinn", "noq", "aioquic"])
def test_a_real_stack_refuses_parts_that_it_does_not_have(folder: Path, stack: str) -> None:
    if not has_stack(stack):
        pytest.skip(f"{stack} is not installed")
    written(folder, "", 'plugins = ["no-persistent-congestion"]')
    with pytest.raises(RequestError, match=r"plugins.0: .*it sets `quic.persistent_congestion`"):
        load(folder / "s.toml", [("flows.f.stack", stack)])


def test_the_engine_lists_plugins_and_operations() -> None:
    known = json.loads(extension().plugins())
    assert {"adaptive-threshold", "no-pacing", "one-connection"} <= known["plugins"].keys()
    assert all(operation["name"].startswith("compute.") for operation in known["operations"])
    assert all(operation["inputs"][0][0] == "now_ms" for operation in known["operations"])


# functions in a run

FUNCTIONS = """\
seen = []


def halve(inputs):
    return max(inputs["result"] / 2, 2 * inputs["datagram_bytes"])


def keep(inputs):
    return None


def watch(inputs):
    seen.append(inputs["latest_rtt_ms"])


def mean(inputs):
    assert seen, "`before` and `after` share their module"
    return sum(seen[-8:]) / len(seen[-8:])


def negative(inputs):
    return -1


def text(inputs):
    return "much"


def fails(inputs):
    return inputs["absent"]
"""


def quic(folder: Path, exchanges: str, ends: str = "sender") -> Path:
    """Write the scenario on lab-quic with one plugin of the user's own."""
    (folder / "mine.py").write_text(FUNCTIONS)
    plugins = f'[plugins.mine]\nends = "{ends}"\nexchanges = [{exchanges}]'
    path = written(folder, plugins, 'plugins = ["mine"]')
    path.write_text(path.read_text().replace("lab-tcp", "lab-quic"))
    return path


def test_a_function_of_ones_own_changes_a_run_and_the_run_repeats(folder: Path) -> None:
    path = quic(folder, '{ operation = "compute.congestion_window", after = "mine:halve" }')
    plain = run(load(path, [("flows.f.plugins", "[]")]), 1, base_dir=folder)
    halved = [run(load(path), 1, base_dir=folder) for _ in range(2)]
    assert halved[0].digest == halved[1].digest != plain.digest
    assert halved[0].flows["f"].completed
    kept = load(quic(folder, '{ operation = "compute.congestion_window", after = "mine:keep" }'))
    assert run(kept, 1, base_dir=folder).digest == plain.digest, "a function that answers nothing changes nothing"


def test_functions_of_one_plugin_share_their_state_and_no_run_sees_another(folder: Path) -> None:
    watch = '{ operation = "compute.rtt_sample", before = "mine:watch" }'
    path = quic(folder, watch + ', { operation = "compute.rtt_sample", after = "mine:mean" }', "both")
    digests = {run(load(path), 1, base_dir=folder).digest for _ in range(2)}
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("exchange", "message"),
    [
        (
            '{ operation = "compute.congestion_window", replace = "mine:negative" }',
            "plugin `mine`: `mine:negative` in place of `compute.congestion_window` returned -1; "
            "expected a number from 1 to ",
        ),
        (
            '{ operation = "compute.congestion_window", after = "mine:text" }',
            "plugin `mine`: `mine:text` after `compute.congestion_window` failed: it returned 'much', "
            "which is not a number",
        ),
        (
            '{ operation = "compute.congestion_window", after = "mine:fails" }',
            "plugin `mine`: `mine:fails` after `compute.congestion_window` failed: KeyError: 'absent' (mine.py, line ",
        ),
        (
            '{ operation = "compute.congestion_window", replace = "mine:keep" }',
            "plugin `mine`: `mine:keep` in place of `compute.congestion_window` returned None; expected ",
        ),
        (
            '{ operation = "compute.congestion_window", before = "mine:negative" }',
            "plugin `mine`: `mine:negative` before `compute.congestion_window` returned -1; expected None ",
        ),
    ],
)
def test_a_function_that_goes_wrong_fails_the_flow_with_a_message(folder: Path, exchange: str, message: str) -> None:
    result = run(load(quic(folder, exchange)), 1, base_dir=folder)
    failure = result.data["flows"]["f"]["failure"]
    assert result.flows["f"].failed
    assert message in failure or any(message in warning for warning in result.data["warnings"])


def test_the_error_of_a_run_says_why_a_flow_failed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = quic(folder, '{ operation = "compute.congestion_window", after = "mine:fails" }')
    assert cli.invoke(["run", str(path), "--json"]) == 1
    printed = capsys.readouterr()
    failure = json.loads(printed.out)["flows"]["f"]["failure"]
    assert printed.err == f"quiclab: flow `f` failed: {failure}\n"


@pytest.mark.parametrize("end", ["sender", "receiver"])
def test_a_function_that_goes_wrong_ends_the_flow_at_once(folder: Path, end: str) -> None:
    (folder / "wrong.py").write_text("def late(inputs):\n    return -1 if inputs['now_ms'] > 100 else None\n")
    path = quic(folder, '{ operation = "compute.rtt_sample", after = "wrong:late" }', end)
    result = run(load(path), 1, base_dir=folder)
    failure = result.data["flows"]["f"]["failure"]
    assert failure.count("plugin `mine`: `wrong:late` after `compute.rtt_sample` returned -1; expected ") == 1
    assert ("closed by the peer with error 0x1; at the sender: " in failure) is (end == "sender")
    assert result.data["run"]["network_time_s"] < 0.2


def test_a_function_of_ones_own_runs_from_the_command_line(folder: Path) -> None:
    path = quic(folder, '{ operation = "compute.congestion_window", after = "mine:halve" }')
    outputs = {}
    for plugins in ('["mine"]', "[]"):
        set_ = f"flows.f.plugins={plugins}"
        ran = quiclab_process("run", path, "--set", set_, "--json")
        assert ran.returncode == 0, ran.stderr
        outputs[plugins] = json.loads(ran.stdout)
    # half the window takes longer: 500 kB over 20 Mbit/s are limited by it in the first round trips
    mine, plain = (output["flows"]["f"]["download_time_s"] for output in outputs.values())
    assert mine > plain


@pytest.mark.parametrize("name", sorted(json.loads(extension().plugins())["plugins"]))
@pytest.mark.parametrize("profile", ["rfc9002", "chromium-gquic37", "chromium-quic1"])
def test_each_built_in_plugin_runs_on_lab_quic(folder: Path, name: str, profile: str) -> None:
    path = folder / "s.toml"
    text = SCENARIO.replace("lab-tcp", "lab-quic").replace('"60 s"', '"10 ms"').replace('"5 ms"', '"1 ms"')
    path.write_text(text)
    changes = [("flows.f.plugins", f'["{name}"]')]
    changes += [(f"flows.f.{end}.profile", profile) for end in ("sender", "receiver")]
    result = run(load(path, changes), 1)
    assert not result.flows["f"].failed
    assert result.data["flows"]["f"]["delivered_bytes"] > 0


@pytest.mark.parametrize(
    ("name", "profile"),
    [("ack-every-packet", "rfc9002"), ("no-pacing", "rfc9002"), ("no-slow-start-exit", "chromium-quic1")],
)
def test_a_plugin_on_lab_quic_equals_its_options(folder: Path, name: str, profile: str) -> None:
    (folder / "s.toml").write_text(SCENARIO.replace("lab-tcp", "lab-quic"))
    exchanges = json.loads(extension().plugins())["plugins"][name]["exchanges"]
    profiles = [(f"flows.f.{end}.profile", profile) for end in ("sender", "receiver")]
    options = load(folder / "s.toml", profiles)
    for end in ("sender", "receiver"):
        for exchange in exchanges:
            options = options.with_value(f"flows.f.{end}.{exchange['operation']}", exchange["replace"])
    by_plugin = run(load(folder / "s.toml", [*profiles, ("flows.f.plugins", f'["{name}"]')]), 1)
    assert by_plugin.digest == run(options, 1).digest


@pytest.mark.parametrize(
    ("name", "reason"),
    [("absent:f", "module `absent` not found"), ("mine:absent", "module `mine` has no `absent`")],
)
def test_a_function_that_is_not_there_is_named_with_its_line(folder: Path, name: str, reason: str) -> None:
    path = quic(folder, f'{{ operation = "compute.path", after = "{name}" }}')
    with pytest.raises(RequestError) as error:
        load(path)
    assert error.value.message.startswith(f"{path}:11:")
    assert ": plugins.mine.exchanges.0.after: expected " in error.value.message
    assert error.value.message.endswith(f'got "{name}"; {reason}')


def test_workers_of_a_sweep_find_the_functions_themselves(folder: Path) -> None:
    path = quic(folder, '{ operation = "compute.congestion_window", after = "mine:halve" }')
    plan = Plan(file=path, text=path.read_text(), seeds=3)
    tables = [swept(plan, folder / f"results{workers}", workers)["digest"].to_list() for workers in (1, 2)]
    assert tables[0] == tables[1] == [run(load(path), seed, base_dir=folder).digest for seed in (1, 2, 3)]


def test_the_plugins_of_the_scenario_mend_spurious_losses() -> None:
    """The link loses nothing, so every loss is spurious; both plugins together leave the fewest."""
    base = load(ROOT / "scenarios" / "plugins.toml")
    losses, goodput = [], []
    for plugins in ([], ["patient"], ["adaptive-threshold"], ["adaptive-threshold", "patient"]):
        result = run(base.with_value("flows.main.plugins", plugins), seed=1)
        flow = result.data["flows"]["main"]
        assert flow["sender"]["lost_packets"] == flow["sender"]["spurious_losses"]
        losses.append(flow["sender"]["spurious_losses"])
        goodput.append(flow["goodput_mbps"])
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0] / 2
    assert goodput[-1] == max(goodput)
