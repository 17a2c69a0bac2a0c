"""`run` and `inspect` begin with the answer: what was delivered, what limited the sender, where packets were lost."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import quiclab
from quiclab import cli
from quiclab.analysis.inspect import open_run, side
from quiclab.analysis.inspect.source import DEFAULT_POINTS
from quiclab.analysis.inspect.view import limits_of
from quiclab.experiment.sweeps import session
from quiclab.report.answer import answer, limited, losses
from quiclab.result.delivered import capacity_bps, rate_bps

SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"
Captured = pytest.CaptureFixture[str]


def invoke(*arguments: str | Path) -> int:
    return cli.invoke([str(argument) for argument in arguments])


def test_losses_are_by_cause_and_element(small: Path) -> None:
    changes = [
        ("links.down1.queue.packets", "5"),
        ("links.down1.loss", "2 %"),
        ("links.down1.policer", '{ rate = "15 Mbit/s", burst = "5 kB" }'),
        ("links.up1.loss", "5 %"),
        ("flows.dc.workload.size", "1 MB"),
    ]
    result = quiclab.run(quiclab.load(small, changes))
    said = losses(result)
    for link, keys in (("down1", {"full queue": "queue_full", "random loss": "loss", "policer": "policed"}),):
        for cause, key in keys.items():
            count = int(result.elements[link]["statistics"][f"dropped_{key}_packets"])
            assert (f"{count} ({cause})" in said) == (count > 0), said
        assert said.startswith(f"Dropped packets: {link} ")
    assert "up1 " in said
    assert "queue discipline" not in said, "all drops have a cause"


def test_a_flow_is_a_sentence(small: Path) -> None:
    done = quiclab.run(quiclab.load(small))
    flow = done.flows["dc"]
    (line, dropped) = answer(done)
    assert line == (
        f"dc delivered 0.1 MB in {flow.download_time_s:.3f} s, {flow.goodput_mbps:.1f} Mbit/s, "
        f"{flow.goodput_mbps / 20:.1%} of the 20 Mbit/s of its links."
    ).replace("%", " %")
    assert dropped == "No element dropped a packet."
    lost = quiclab.run(quiclab.load(small, [("links.down1.loss", "1")]))
    assert answer(lost)[0].startswith("dc failed after 0 MB: ")
    cut = quiclab.run(quiclab.load(small, [("duration", "40 ms")]))
    assert answer(cut)[0].startswith("dc had not finished: it delivered ")


def test_shares_are_those_of_inspect(small: Path, tmp_path: Path, capsys: Captured) -> None:
    out = tmp_path / "run"
    assert invoke("run", small, "--set", "record.qlog=true", "--set", "record.series_interval=1 ms", "--out", out) == 0
    capsys.readouterr()
    opened = open_run(out, DEFAULT_POINTS, lambda *_: _Quiet())
    shares = limits_of(opened)["dc"]
    assert sum(shares.values()) == pytest.approx(100)
    assert limited(shares) in side(opened).data["answer"][0]
    for options, shown in (([], True), (["--limits"], True), (["--no-limits"], False)):
        assert invoke("run", small, *options) == 0
        said = capsys.readouterr()
        assert (f"Its sender was limited by: {limited(shares)}." in said.out, said.err) == (shown, "")
    page = tmp_path / "page.html"
    assert invoke("inspect", small, "--out", page) == 0
    said = capsys.readouterr()
    assert (said.out, limited(shares) in said.err) == (f"{page}\n", True)
    assert f"limited by: {limited(shares)}." in page.read_text()


def test_a_long_run_is_made_twice_only_on_request(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr("quiclab.cli.run.SHORT_RUN", 1)
    for options, shown in (([], False), (["--limits"], True)):
        assert invoke("run", small, *options) == 0
        assert ("limited by" in capsys.readouterr().out) == shown


class _Quiet:
    """A step that shows nothing."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


def test_a_stack_lists_its_controls(capsys: Captured) -> None:
    assert invoke("stack", "show", "lab-tcp") == 0
    assert "congestion controls newreno, cubic, bbr-linux" in capsys.readouterr().out
    assert invoke("stack", "show", "lab-tcp", "--json") == 0
    controls = json.loads(capsys.readouterr().out)["controls"]
    assert ("dctcp" in controls, "lia" in controls) == (True, False)


def test_a_family_of_controls_has_a_suggestion(small: Path, capsys: Captured) -> None:
    assert invoke("run", small, "--set", "flows.dc.sender.congestion_control=bbr") == 2
    assert "did you mean `bbr-linux`?" in capsys.readouterr().err


def test_a_long_sweep_says_first_how_long_it_takes(
    small: Path, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "probe", lambda _: session.Probe(3600.0))
    assert invoke("sweep", small, "--seeds", "3", "--jobs", "1", "--out", tmp_path / "out") == 0
    said = capsys.readouterr().err
    assert said.index("all 3 runs take 3 h on 1 worker") < said.index("3 runs complete")


def test_the_share_of_the_links_is_left_out_where_they_carry_packets_twice() -> None:
    scenario = quiclab.load(SCENARIOS / "dual_connectivity.toml", [("flows.*.workload.size", "1 MB")])
    name, bearer = next(iter(scenario.value("flows"))), next(iter(scenario.value("bearers")))
    split, twice = (
        quiclab.run(scenario.with_values({f"bearers.{bearer}.mode": mode, f"bearers.{bearer}.shares": None}))
        for mode in ("split", "duplicate")
    )
    assert capacity_bps(split.data, name) == rate_bps(split.data, name) < math.inf
    assert capacity_bps(twice.data, name) == math.inf
