"""Every command: its help, its options, its JSON, and what it suggests for a wrong name."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.models import TyperPath

from conftest import ROOT, SMALL
from quiclab import cli
from quiclab.cli import verify
from quiclab.cli.application import GivenPath
from quiclab.cli.commands import COMMANDS, GROUPS, Group, Part
from quiclab.report.percentiles import percentiles, waits_ms
from quiclab.result import formats
from quiclab.result.tables import text
from quiclab.study import registry

Captured = pytest.CaptureFixture[str]
SCENARIOS = ROOT / "scenarios"
STUDY = "dual_connectivity/batch_size"
RATES = "links.down1.rate=5Mbit/s,20Mbit/s"

#: Commands without `--json`, and why.
WITHOUT_JSON = {"shell": "its output is that of the command it runs"}
#: Commands that write to results directories, which are stores: they add.
STORES = {
    *("sweep run", "sweep merge"),
    *("demo", "study run", "study merge", "study decide", "study ablate", "study report", "study package"),
}
#: Of these, and of commands that only read results, `--out` is the results directory.
READ = {"study table", "study compare", "study multiverse", "verify"}
#: Arguments with which each command prints JSON, in a folder that has the files they name, in this order.
JSON: dict[str, list[str]] = {
    "run": ["run", "small.toml"],
    "diff": ["diff", "one", "two"],
    "inspect": ["inspect", "one"],
    "page": ["page", "shop.har", "--network", "small.toml", "--runs", "1"],
    "qlog export": ["qlog", "export", "one/dc.sender.sqlog", "--out", "one.qlog"],
    "pacing analyse": ["pacing", "analyse", "one"],
    "result metrics": ["result", "metrics", "lost"],
    "result schema": ["result", "schema"],
    "scenario list": ["scenario", "list"],
    "scenario new": ["scenario", "new", "l4s"],
    "scenario show": ["scenario", "show", "small.toml"],
    "scenario schema": ["scenario", "schema"],
    "scenario fields": ["scenario", "fields", "links.down1.queue"],
    "stack list": ["stack", "list"],
    "stack show": ["stack", "show", "lab-quic"],
    "path list": ["path", "list"],
    "path show": ["path", "show", "leo"],
    "trace generate": ["trace", "generate", "--out", "made.csv"],
    "trace show": ["trace", "show", "made.csv"],
    "sweep plan": ["sweep", "plan", "small.toml", "--vary", RATES, "--seeds", "2"],
    "shard": ["shard", "small.plan.json", "--index", "0", "--of", "1", "--jobs", "1"],
    "sweep merge": ["sweep", "merge", "small.plan.json", "--out", "merged"],
    "sweep run": ["sweep", "small.toml", "--vary", RATES, "--seeds", "2", "--jobs", "1", "--out", "swept"],
    "study list": ["study", "list"],
    "study plan": ["study", "plan", STUDY, "--runs", "1", "--only", "batch=500", "--to", "study.plan.json"],
    "study run": ["study", "run", STUDY, "--runs", "1", "--only", "batch=500", "--jobs", "1"],
    "study table": ["study", "table", STUDY],
    "study compare": ["study", "compare", STUDY],
    "study report": ["study", "report", STUDY],
    "study multiverse": ["study", "multiverse", STUDY],
    "study scenario": ["study", "scenario", "validation/blind", "--only", "case=3"],
    "study ablate": ["study", "ablate", "validation/blind"],  # it has none to make
    "verify": ["verify", STUDY],
    "store ls": ["store", "ls"],
    "store gc": ["store", "gc"],
    "kernel doctor": ["kernel", "doctor"],
}
#: Commands whose JSON is tested elsewhere, or that need what a machine may lack.
ELSEWHERE = {
    "browse": "needs a browser",
    "demo": "the same as `study report`; tests/test_demo.py",
    "trace import": "needs a file of the data set; tests/test_trace_import.py",
    "study inspect": "the same as `inspect`; tests/test_inspect.py",
    "study decide": "runs a whole study",
    "study package": "requires a whole study",
    "study merge": "requires shards; tests/test_study_machinery.py",
    "kernel build": "compiles a kernel",
    "kernel host": "takes minutes",
    "kernel calibrate": "needs root and the machine for itself",
}


@cache
def commands() -> dict[str, tuple[Any, Any]]:
    """Every command by its words, with its context."""

    found: dict[str, tuple[Any, Any]] = {}
    in_groups = [[word, name] for word, group in GROUPS.items() for name in group.commands]
    for words in [*([name] for name in COMMANDS), *in_groups]:
        command: Any = typer.main.get_command(cli.application(*words))
        context = command.context_class(command, info_name="quiclab", **command.context_settings)
        for word in words:
            command = command.commands[word]
            context = command.context_class(command, info_name=word, parent=context)
        found[" ".join(words)] = (command, context)
    return found


NAMES = sorted(commands())


def options_of(name: str) -> dict[str, Any]:
    """The options of a command by their names."""
    command, context = commands()[name]
    return {word: item for item in command.get_params(context) for word in item.opts if word.startswith("-")}


def test_every_command_is_walked_over() -> None:
    assert len(NAMES) > 35
    assert {name.split()[0] for name in NAMES} == {*COMMANDS, *GROUPS}
    for name in (*WITHOUT_JSON, *STORES, *READ, *JSON, *ELSEWHERE):
        assert name in NAMES


@pytest.mark.parametrize("name", NAMES)
def test_h_is_help(name: str, capsys: Captured) -> None:
    helps = []
    for flag in ("-h", "--help"):
        assert cli.invoke([*name.split(), flag]) == 0
        helps.append(capsys.readouterr().out)
    assert helps[0] == helps[1]
    assert helps[0].startswith(f"Usage: quiclab {name} ")
    assert "-h, --help" in helps[0]
    assert "<path>" not in helps[0], "say what it is: FILE.html, DIR"


@pytest.mark.parametrize("name", NAMES)
def test_the_options_of_a_window_are_in_one_section(name: str, capsys: Captured) -> None:
    """`--to FILE` of `sweep plan` is an output, `--to TIME` with `--from` is none."""
    assert cli.invoke([*name.split(), "-h"]) == 0
    sections = re.split(r"^(?=\S.*:$)", capsys.readouterr().out, flags=re.MULTILINE)
    found = {
        option: next(section.partition(":")[0] for section in sections if re.search(rf"^  {option} ", section, re.M))
        for option in {"--from", "--to"} & set(options_of(name))
    }
    assert found in ({}, {"--from": "Options", "--to": "Options"}, {"--to": "Output"})


@pytest.mark.parametrize("words", [[], *([name] for name in GROUPS)], ids=" ".join)
def test_groups_list_their_commands_with_whole_sentences(words: list[str], capsys: Captured) -> None:
    if words == ["sweep"]:
        pytest.skip("its help is that of `sweep run`")
    assert cli.invoke([*words, "-h"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "..." not in said.replace("[ARGS]...", "")
    listed: dict[str, Part | Group] = {} if words else {**COMMANDS, **GROUPS}
    for name, part in listed.items():
        assert f"{name} {part.help}" in said
    assert all(f"{section}:" in said for section in {part.section for part in listed.values()})


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_has_help(name: str) -> None:
    command, context = commands()[name]
    for item in command.get_params(context):
        assert item.help, f"{name}: {item.opts}"
        assert item.help.rstrip().endswith((".", ")")) or item.param_type_name == "argument", f"{name} {item.opts}"


@pytest.mark.parametrize("name", NAMES)
def test_json_and_force_are_where_they_belong(name: str) -> None:
    options = options_of(name)
    assert ("--json" in options) != (name in WITHOUT_JSON)
    writes = bool({"--out", "--to", "--har"} & set(options)) and name not in STORES | READ
    assert ("--force" in options) == (writes or "--figure" in options or name == "kernel build")
    if "--out" in options and name in STORES | READ:
        assert "Results directory" in options["--out"].help
    if "--force" in options:
        assert options["--force"].help.startswith("Replace ")


@pytest.mark.parametrize("name", NAMES)
def test_a_misspelled_option_is_suggested(name: str, capsys: Captured) -> None:
    for option in options_of(name):
        if len(option) > 6:
            assert cli.invoke([*name.split(), option[:3] + option[4:]]) == 2
            said = capsys.readouterr()
            assert f"unknown option `{option[:3] + option[4:]}`; did you mean `{option}`?" in said.err
            assert said.out == ""


@pytest.mark.parametrize("name", NAMES)
def test_a_misspelled_command_is_suggested(name: str, capsys: Captured) -> None:
    *group, last = name.split()
    wrong = f"{last}x"
    assert cli.invoke([*group, wrong]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"quiclab: unknown command `{wrong}`; ")
    assert said.endswith(f"did you mean `{last}`?\n")


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["stack", "show", "quin"], "quinn"),
        (["path", "show", "dosis"], "docsis"),
        (["study", "run", "page_lod"], "page_load"),
        (["study", "report", "page_lod"], "page_load"),
        (["study", "scenario", "validation/blnd"], "validation/blind"),
        (["study", "table", "page_load", "--format", "cvs"], "csv"),
        (["study", "run", STUDY, "--engines", "quin"], "quinn"),
        (["study", "run", STUDY, "--only", "bacth=5"], "batch"),
        (["verify", "page_lod"], "page_load"),
        (["run", "SMALL", "--lane", "kernl"], "kernel"),
        (["run", "SMALL", "--set", "links.down1.rat=3"], "rate"),
        (["sweep", "SMALL", "--vary", RATES, "--metric", "goodputt"], "goodput"),
        (["sweep", "SMALL", "--vary", RATES, "--keep", "serie"], "series"),
        (["sweep", "SMALL", "--vary", RATES, "--executor", "procesess"], "processes"),
        (["page", str(SCENARIOS / "pages/shop.har"), "--network", "SMALL", "--stacks", "lab-tpc"], "lab-tcp"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else None,
)
def test_a_wrong_name_is_suggested(arguments: list[str], meant: str, small: Path, capsys: Captured) -> None:
    assert cli.invoke([str(small) if word == "SMALL" else word for word in arguments]) == 2
    assert f"did you mean `{meant}`?" in capsys.readouterr().err


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_path_is_an_error(name: str, capsys: Captured) -> None:
    """And not the working directory, whatever the command and the option."""
    command, context = commands()[name]
    paths = [item for item in command.get_params(context) if isinstance(item.type, TyperPath)]
    assert all(isinstance(item.type, GivenPath) for item in paths)
    for item in paths:
        words = [item.opts[0], ""] if item.param_type_name == "option" else [""]
        assert cli.invoke([*name.split(), *words]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert 'expected a path, got ""' in said.err or "missing; expected" in said.err


@pytest.mark.parametrize("name", NAMES)
def test_errors_of_the_parser_say_what_is_expected(name: str, capsys: Captured) -> None:
    command, context = commands()[name]
    needed = [item for item in command.get_params(context) if item.required]
    if needed:
        assert cli.invoke(name.split()) == 2
        said = capsys.readouterr().err
        assert "missing; expected " in said
        assert f"usage: quiclab {name} [OPTIONS]" in said
        assert "{" not in said.partition("usage: ")[2]
    for item in command.get_params(context):
        if item.param_type_name == "option" and not item.is_flag:
            assert cli.invoke([*name.split(), item.opts[0]]) == 2
            said = capsys.readouterr().err
            assert said.startswith(f"quiclab: {item.opts[0]}: missing; expected {item.make_metavar(context)}: ")


def test_words_too_many_and_values_of_flags_are_named(small: Path, capsys: Captured) -> None:
    assert cli.invoke(["run", str(small), "more"]) == 2
    assert capsys.readouterr().err == 'quiclab: unexpected argument "more"; usage: quiclab run [OPTIONS] FILE\n'
    assert cli.invoke(["run", str(small), "--json=yes"]) == 2
    assert capsys.readouterr().err == "quiclab: --json: takes no value\n"
    assert cli.invoke(["run", ""]) == 2
    assert capsys.readouterr().err == 'quiclab: FILE: expected a path, got ""\n'


def test_a_scenario_whose_name_is_nearly_a_command_is_swept(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(small.parent)
    small.rename("plans")
    assert cli.invoke(["sweep", "plans", "--vary", RATES, "--dry-run"]) == 0
    capsys.readouterr()
    assert cli.invoke(["sweep", "absent.toml", "--dry-run"]) == 2
    assert "cannot read the scenario absent.toml" in capsys.readouterr().err


def test_commands_that_show_packets_have_the_same_options() -> None:
    first, second = options_of("inspect"), options_of("study inspect")
    for name in ("--from", "--to", "--max-points"):
        assert (first[name].help, first[name].default) == (second[name].help, second[name].default)


OF_STUDIES = {name for name in JSON if name.split()[0] in ("study", "verify", "store")}


@pytest.mark.parametrize(
    "names", [set(JSON) - OF_STUDIES, pytest.param(OF_STUDIES, marks=pytest.mark.slow)], ids=["others", "studies"]
)
def test_every_command_prints_json(
    names: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """One document that names its schema and nothing else is on stdout."""
    assert set(NAMES) == {*JSON, *ELSEWHERE, *WITHOUT_JSON}
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(SMALL)
    Path("shop.har").write_bytes((SCENARIOS / "pages" / "shop.har").read_bytes())
    for name, seed in (("one", "1"), ("two", "2")):
        assert cli.invoke(["run", "small.toml", "--seed", seed, "--set", "record.qlog=true", "--out", name]) == 0
    capsys.readouterr()
    schemas = []
    for name, arguments in JSON.items():
        if name not in names:
            continue
        code = cli.invoke([*arguments, "--json"])
        said = capsys.readouterr()
        # results of a study of which one setting was run are incomplete
        assert code == (1 if name in ("study table", "study compare", "verify") else 0), (name, said.err)
        document = json.loads(said.out)
        assert isinstance(document, dict), name
        schemas.append(document.get("schema"))
        if schemas[-1] is None:
            assert name in ("result schema", "scenario new", "scenario show", "scenario schema", "study scenario")
        for file in document.get("files", []):
            assert Path(file).is_file(), name
    assert all(schema is None or schema.startswith("quiclab.") for schema in schemas)


@pytest.mark.parametrize("more", [["--list-metrics"], ["small.toml", "--vary", RATES, "--dry-run"]], ids=" ".join)
def test_what_a_sweep_only_lists_is_json_too(
    more: list[str], small: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(small.parent)
    assert cli.invoke(["sweep", *more, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"].startswith("quiclab.")


def test_strict_verification_fails_for_claims_that_are_not_decided(tmp_path: Path, capsys: Captured) -> None:
    """Also one of which there are too few runs; but one without a check cannot be decided by runs."""
    study = registry.find("dual_connectivity/pdcp")
    untestable = {claim.identity for claim in study.measures.claims if claim.check is None}
    testable = [claim.identity for claim in study.measures.claims if claim.check is not None]
    assert testable
    run = ["study", "run", study.name, "--runs", "1", "--jobs", "2", "--out", str(tmp_path)]
    assert cli.invoke(run) == 0
    assert cli.invoke(["verify", study.name, "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    assert cli.invoke(["verify", study.name, "--out", str(tmp_path), "--strict"]) == 1
    assert capsys.readouterr().err.endswith(f"not decided: {', '.join(testable)}\n")
    rows = [{"identity": name, "verdict": verdict} for name, verdict in [
        ("C1", "confirmed"), ("C2", "refuted"), ("C3", "undecided"), ("C4", "at_the_limit"), ("C5", "not_tested"),
        ("C6", "not_tested"), ("C7", "by_construction"),
    ]]  # fmt: skip
    assert verify.open_claims(rows, untestable | {"C6"}) == ["C3", "C4", "C5"]


def complete(words: str) -> list[str]:
    """What bash offers for the last word."""
    environment = {
        **os.environ,
        "_QUICLAB_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-m", "quiclab"], capture_output=True, text=True, env=environment, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_shells_complete_commands_and_options() -> None:
    assert complete("quiclab s") == ["shell", "shard", "sweep", "study", "store", "scenario", "stack"]
    assert complete("quiclab study re") == ["report"]
    assert {"--seed", "--seeds", "--set"} == set(complete("quiclab run --se"))


def test_shells_complete_names_and_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    assert complete("quiclab study report pacing/acks") == ["pacing/acks"]
    assert complete("quiclab stack show quin") == ["quinn"]
    assert complete("quiclab path show 5g-h") == ["5g-handover"]
    assert complete("quiclab scenario new single_l") == ["single_link"]
    assert complete("quiclab sweep x.toml --metric goodput,los") == ["goodput,lost"]
    assert complete("quiclab run x.toml --set links.") == []
    monkeypatch.chdir(ROOT)
    assert complete("quiclab run scenarios/single_link.toml --set links.down1.ra") == ["links.down1.rate"]


def test_kernel_lane_options_have_a_section_of_their_own(capsys: Captured) -> None:
    for command in (["run"], ["sweep"]):
        assert cli.invoke([*command, "-h"]) == 0
        said = capsys.readouterr().out
        _, heading, section = said.partition("\nKernel lane (real programs):\n")
        assert heading
        for option in (
            "--lane",
            "--clock",
            "--emulation",
            "--adapter",
            "--delay-stage",
            "--syscall-cost",
            "--certificate",
        ):
            assert option in section
            assert option not in said.removesuffix(section)
        assert "--seed" not in section


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (8.16e6, "8160000"), (12000.0, "12000"), (1e15, "1000000000000000"), (34.7618, "34.762"), (0.0, "0"),
        (0.000473338, "0.000473"), (-0.5, "-0.5"), (999999.9999, "1000000"), (37.08, "37.08"), (0.02, "0.02"),
    ],
)  # fmt: skip
def test_one_format_of_numbers(value: float, written: str) -> None:
    assert text(value) == formats.number(value) == written
    assert "e" not in written


def test_percentiles_are_those_of_numpy() -> None:
    np = pytest.importorskip("numpy")
    values = [float((7 * k * k) % 1009) for k in range(1000)]
    assert percentiles(values) == pytest.approx(list(np.percentile(values, [50, 95, 99])), rel=1e-12)
    assert percentiles([5.0]) == [5.0, 5.0, 5.0]
    assert percentiles([]) == [None, None, None]


def test_the_wait_is_the_backlog_at_the_rate_of_the_link() -> None:
    """20 Mbit/s are 2500 B in a millisecond."""
    links = {"a": {"rate": "20 Mbit/s"}, "b": {"rate": {"kind": "trace"}}, "c": {}}
    data = {"scenario": {"links": links}, "changes": []}
    samples = {name: {"queue_bytes": [0.0, 2500.0, 25000.0]} for name in links}
    assert waits_ms(data, "a", samples) == [0.0, 1.0, 10.0]
    assert waits_ms(data, "b", samples) == []
    assert waits_ms(data, "c", samples) == []
    assert waits_ms({**data, "changes": [{"link": "a"}]}, "a", samples) == []
    sojourns = {"b": {"queue_sojourn_ms": [3.0], "queue_bytes": [9.0]}}
    assert waits_ms(data, "b", sojourns) == [3.0]


def test_a_summary_has_loss_and_delays_first(small: Path, capsys: Captured) -> None:
    assert cli.invoke(["run", str(small), "--set", "links.down1.queue.packets=5"]) == 0
    said = capsys.readouterr().out
    order = ["lost [%]", "Round-trip time [ms]", "Links: loss, and delay in the queue", "Sender", "Elements [packets]"]
    places = [said.index(part) for part in order]
    assert places == sorted(places)
    assert cli.invoke(["run", str(small), "--set", "links.down1.queue.packets=5", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    dropped, arrived = (result["elements"]["down1"][key]["packets"] for key in ("dropped", "received"))
    assert dropped > 0
    row = next(line.split() for line in said.splitlines() if line.split()[:1] == ["down1"])
    statistics = result["elements"]["down1"]["statistics"]
    assert row[1:4] == [str(dropped), text(100 * dropped / arrived), text(statistics["queueing_mean_ms"])]
    assert row[4] == text(statistics["queueing_longest_ms"])
    median, tail, last = map(float, row[5:8])
    assert median <= tail <= last <= float(row[4]) + 1e3 * 1500 * 8 / 20e6


def test_a_run_reads_the_files_of_its_scenario_from_any_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.invoke(["run", str(ROOT / "scenarios" / "cellular_trace.toml")]) == 0
    assert "Its sender was limited by" in capsys.readouterr().out


def test_a_summary_tells_delays_of_packets_from_those_over_time(small: Path, capsys: Captured) -> None:
    """Each name of a group of columns stands above its columns, and above no others."""
    assert cli.invoke(["run", str(small), "--set", "links.down1.queue.packets=5"]) == 0
    said = capsys.readouterr().out
    above, heads = said.partition("Links: loss")[2].splitlines()[2:4]
    groups = {match[0].strip(" ─"): match.span() for match in re.finditer(r"─+ [^─]+ ─+", above)}
    within = {name: heads[first:end].split() for name, (first, end) in groups.items()}
    assert list(within) == ["over all packets [ms]", "over time [ms]"]
    assert within["over all packets [ms]"] == ["mean", "maximum"]
    assert within["over time [ms]"] == ["median", "95", "%", "99", "%"]
    for words in (
        "Over all packets: the wait",
        "Over time: percentiles of samples every",
        "the packet in service included",
    ):
        assert words in said
