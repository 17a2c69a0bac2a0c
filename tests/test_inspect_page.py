"""The page of `quiclab inspect` in headless Chromium: a quiet console, drawn canvases, hover, zoom."""

from __future__ import annotations

import json
import re
import subprocess
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import BROWSER, SMALL
from quiclab import cli
from quiclab.analysis.inspect import Run, open_run, render, side
from test_report_page import DARK, FLAGS

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason="Chromium is not installed (apt-get install chromium)"),
]

# without a window a browser may draw no frame: pages wait for a timer instead
FRAMES = "<script>window.requestAnimationFrame = (callback) => setTimeout(callback, 16);</script>"
PROBE = """
<script>
addEventListener("load", () => setTimeout(async () => {
  const probe = {};
  const drawn = () => new Promise((done) => setTimeout(done, 500));
  const point = (canvas, name, x, y, more = {}) => {
    const box = canvas.getBoundingClientRect();
    const at = { clientX: box.left + x * box.width, clientY: box.top + y, button: 0, bubbles: true, cancelable: true };
    canvas.dispatchEvent(new (name === "wheel" ? WheelEvent : PointerEvent)(name, { ...at, ...more }));
  };
  const colours = (canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const found = {};
    for (let i = 0; i < data.length; i += 4) {
      const colour = data.slice(i, i + 3).join();
      if (data[i + 3] > 200) found[colour] = (found[colour] ?? 0) + 1;
    }
    return found;
  };
  const charts = [...document.querySelectorAll("canvas")];
  const tip = () => (document.getElementById("tip").hidden ? "" : document.getElementById("tip").textContent);
  const text = (node) => node.textContent.trim();
  // BODY
  const told = Object.assign(document.createElement("pre"), { id: "probe", textContent: JSON.stringify(probe) });
  document.body.append(told);
}, 1000));
</script>
"""


def probe(page: Path, profile: Path, body: str, *flags: str) -> tuple[dict[str, Any], list[str]]:
    """Open a page, run a script in it; returns what the script has put into `probe`, and what the console says."""
    assert BROWSER is not None
    copy = profile.with_suffix(".html")
    # the last one: scripts of a page may have the word, too
    before, end, after = page.read_text(encoding="utf-8").rpartition("</body>")
    head, start, rest = before.partition("<head>")
    assert start, "the page has no <head>"
    copy.write_text(head + start + FRAMES + rest + PROBE.replace("// BODY", body) + end + after, encoding="utf-8")
    done = subprocess.run(
        [BROWSER, *FLAGS, *flags, "--window-size=1400,1000", f"--user-data-dir={profile}", "--dump-dom", copy.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found = re.search(r'<pre id="probe">(.*?)</pre>', done.stdout, re.S)
    assert found is not None, done.stderr
    result: dict[str, Any] = json.loads(found[1].replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&"))
    lines = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return result, [
        line for line in lines if "willReadFrequently" not in line and "readback" not in line
    ]  # the probe's


def made(vantage: str, count: int, every_ms: float, flight_ms: float) -> dict[str, Any]:
    """A trace of a download: the server sends `count` packets on two streams, the 10th, 20th ... is lost."""
    sent = [n * every_ms for n in range(count)]
    arrived = [(n, time + flight_ms) for n, time in enumerate(sent) if n % 10 != 9]
    acks = [(n, time + flight_ms) for n, time in arrived]

    def packets(rows: list[tuple[int, float]], size: int, code: int) -> dict[str, Any]:
        return {
            "time_ms": [time for _, time in rows],
            "number": [n for n, _ in rows],
            "space": [3] * len(rows),
            "bytes": [size] * len(rows),
            "frames": [code] * len(rows),
        }

    def stream(number: int) -> dict[str, Any]:
        chosen = [n for n in range(count) if n // 5 % 2 == number // 4]
        frames = {
            "time_ms": [sent[n] for n in chosen],
            "offset": [1000 * index for index in range(len(chosen))],
            "length": [1000] * len(chosen),
            "retransmitted": [n % 10 == 0 for n in chosen],
        }
        return {"id": number, "direction": "sent", "bytes": 1000 * len(chosen), "frames": frames}

    data, replies = list(enumerate(sent)), [(n, time) for n, time in arrived]
    server = vantage == "server"
    lost = [n for n in range(count) if n % 10 == 9]
    return {
        "vantage": vantage,
        "stack": "made",
        "frame_sets": ["ack", "stream"],
        "counts": {
            "packets_sent": count if server else len(replies),
            "bytes_sent": 1200 * count,
            "packets_lost": len(lost),
        },
        "packets_sent": packets(data, 1200, 1) if server else packets(replies, 40, 0),
        "packets_received": packets(acks, 40, 0) if server else packets(arrived, 1200, 1),
        "lost": {"time_ms": [sent[n] + 60 for n in lost], "number": lost, "space": [3] * len(lost)} if server else {},
        "acks": {"time_ms": [t for _, t in acks], "largest": [n for n, _ in acks], "space": [3] * len(acks)},
        "recovery": {
            "time_ms": sent,
            "cwnd_bytes": [12000 + 100 * n for n in range(count)],
            "in_flight_bytes": [6000 + 90 * n for n in range(count)],
            "srtt_ms": [40 + 5 * float(np.sin(n / 20)) for n in range(count)],
            "pacing_rate_mbps": [10 + n / 50 for n in range(count)],
        },
        "phases": [{"time_ms": 0, "state": "slow_start"}, {"time_ms": 50, "state": "recovery"}],
        "streams": [stream(0), stream(4)] if server else [],
        "frame_kinds": {"stream": {"count": count, "bytes": 1000 * count}, "ack": {"count": 5, "bytes": 50}},
        "packet_sizes": [{"bytes": 1200, "sent": count, "received": 0}, {"bytes": 40, "sent": 0, "received": count}],
        "sampling": {"packets": {"shown": 300, "of": 400, "how": "every so often"}} if vantage == "network" else {},
    }


def both(count: int, every_ms: float) -> Run:
    ends = {("", end): made(end, count, every_ms, 20) for end in ("client", "server")}
    return Run(f"made {count}", "made by a test", {**ends})


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with two connections; the second is longer, and faster."""
    page = tmp_path_factory.mktemp("pair") / "pair.html"
    page.write_text(render([side(both(400, 1.0)), side(both(2000, 0.5))]), encoding="utf-8")
    return page


@pytest.fixture(scope="module")
def tcp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run of lab-tcp, from its tables."""
    folder = tmp_path_factory.mktemp("tcp")
    record = '[record]\nseries_interval = "10 ms"\npackets = true\nacks = true\n'
    (folder / "tcp.toml").write_text(SMALL.replace("quinn", "lab-tcp").replace("100 kB", "1 MB") + record)
    assert cli.invoke(["run", str(folder / "tcp.toml"), "--out", str(folder / "run")]) == 0
    (folder / "page.html").write_text(render([side(open_run(folder / "run", 20_000, lambda *_: nullcontext()))]))
    return folder / "page.html"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_views_draw(scheme: str, pair: Path, tmp_path: Path) -> None:
    body = """
      probe.titles = [...document.querySelectorAll("#congestion h3, #streams h3, #packets h3")].map(text);
      probe.canvases = charts.map((canvas) => Object.values(colours(canvas)).reduce((a, b) => a + b, 0));
      probe.colours = charts.map((canvas) => Object.keys(colours(canvas)));
      probe.names = charts.map((canvas) => canvas.getAttribute("aria-label"));
      probe.bars = document.querySelectorAll("#packets svg rect").length;
      probe.empty = [...document.querySelectorAll(".empty")].map(text);
    """
    found, console = probe(pair, tmp_path / "profile", body, *([DARK] if scheme == "dark" else []))
    assert console == []
    assert len(found["titles"]) == 2 * (5 + 1 + 2)
    assert len(found["canvases"]) == 2 * (5 + 1 + 1)
    assert min(found["canvases"]) > 500
    blue, vermillion = {"light": ("0,114,178", "213,94,0"), "dark": ("74,163,223", "240,128,60")}[scheme]
    for name, shades in zip(found["names"], found["colours"], strict=True):
        # the window has always room here, and packets leave at the pacing rate
        assert blue in shades or "What limits" in name, name
        if "Packet numbers" in name:
            assert vermillion in shades
    assert found["bars"] == 2 * 4  # two lengths, sent and received, on each side
    assert len(found["empty"]) == 2
    assert all("time series of a quiclab run" in text for text in found["empty"])


def test_acknowledgements_that_were_left_out_make_no_line(tmp_path: Path) -> None:
    """Between two of the acknowledgements that are shown others have arrived."""
    page = tmp_path / "page.html"
    runs = [both(400, 1.0), both(400, 1.0)]
    runs[0].points = 100
    page.write_text(render([side(run) for run in runs]), encoding="utf-8")
    body = """
      const numbers = charts.filter((canvas) => canvas.getAttribute("aria-label").startsWith("Packet numbers"));
      probe.kinds = numbers.map((canvas) => canvas.rows().find(({ colour }) => colour === "green").kind);
      probe.notes = numbers.map((canvas) => text(canvas.previousElementSibling.previousElementSibling));
    """
    found, console = probe(page, tmp_path / "profile", body)
    assert console == []
    assert found["kinds"] == ["points", "step"]
    few, whole = found["notes"]
    assert "some acknowledgements only, as points; --from and --to show all" in few
    assert whole == "Packet numbers: sent, acknowledged, lost"


def test_bytes_by_type_are_in_sight_on_a_telephone(pair: Path, browser: Any) -> None:
    shown = browser.new_page(viewport={"width": 390, "height": 900})
    shown.goto(pair.as_uri())
    shown.wait_for_selector("table.kinds")
    right = "[...document.querySelectorAll('table.kinds td')].map((cell) => cell.getBoundingClientRect().right)"
    cells = shown.evaluate(right)
    assert len(cells) >= 2 * 3 * 3  # frames, bytes and share of three types at both connections
    assert max(cells) <= 390
    assert shown.evaluate("document.documentElement.scrollWidth") == 390
    shown.close()


def test_the_overview_has_a_column_for_each_end(pair: Path, tmp_path: Path) -> None:
    body = """
      probe.heads = [...document.querySelectorAll("#facts thead th")].map(text);
      probe.rows = [...document.querySelectorAll("#facts tbody tr")].map((row) => [...row.children].map(text));
    """
    found, _ = probe(pair, tmp_path / "profile", body)
    assert found["heads"] == ["", "A: client", "A: server", "B: client", "B: server"]
    rows = {row[0]: row[1:] for row in found["rows"]}
    assert rows["Packets sent"] == ["360", "400", "1\u202f800", "2\u202f000"]
    assert rows["Packets declared lost"] == ["40", "40", "200", "200"]
    assert "Retransmission timeouts" not in rows


def test_hover_tells_the_packet(pair: Path, tmp_path: Path) -> None:
    body = """
      const [diagram] = document.querySelectorAll("canvas.sequence");
      // the first packet starts at the server, at the upper end of the right axis
      point(diagram, "pointermove", 0.97, 28);
      probe.packet = tip();
      point(diagram, "pointerleave", 0.5, 100);
      probe.left = tip();
      const chart = charts.find((canvas) => canvas.getAttribute("aria-label").startsWith("Congestion"));
      point(chart, "pointermove", 0.3, 100);
      probe.window = tip();
    """
    found, console = probe(pair, tmp_path / "profile", body)
    assert console == []
    packet = found["packet"].split("\n")
    assert packet[0] == "1-RTT packet 0, server to client"
    assert packet[1] == "stream, 1\u202f200 B"
    assert packet[2:] == ["sent 0 ms", "arrived 20 ms, after 20 ms"]
    assert found["left"] == ""
    assert re.search(r"congestion window: [\d.]+ kB\nin flight: [\d.]+ kB", found["window"])


def test_zoom_is_shared_and_has_one_scale(pair: Path, tmp_path: Path) -> None:
    body = """
      const window_ = () => text(document.getElementById("window"));
      const windows = charts.filter((canvas) => canvas.getAttribute("aria-label").startsWith("Congestion"));
      probe.before = window_();
      const pictures = () => windows.map((canvas) => canvas.toDataURL());
      const first = pictures();
      point(windows[0], "pointerdown", 0.2, 80, { pointerId: 1 });
      point(windows[0], "pointerup", 0.5, 80, { pointerId: 1 });
      await drawn();
      probe.zoomed = window_();
      probe.changed = pictures().map((picture, i) => picture !== first[i]);
      document.querySelector("[data-act=all]").click();
      await drawn();
      probe.after = window_();
      probe.same = pictures().map((picture, i) => picture === first[i]);
      windows[1].dispatchEvent(new KeyboardEvent("keydown", { key: "+" }));
      await drawn();
      probe.keyed = window_();
    """
    found, console = probe(pair, tmp_path / "profile", body)
    assert console == []
    # 2000 packets, one each 0.5 ms; the last is declared lost 60 ms after it was sent
    assert found["before"] == found["after"] == "0 ms to 1\u202f059.500 ms"
    assert found["changed"] == found["same"] == [True, True]
    low, high = (float(part.removesuffix(" ms")) for part in found["zoomed"].split(" to "))
    assert 100 < low < 250 < high < 600
    assert found["keyed"] == "264.875 ms to 794.625 ms"


def test_the_end_that_is_shown_can_be_chosen(pair: Path, tmp_path: Path) -> None:
    body = """
      const select = document.querySelector("#choices select");
      probe.first = select.selectedOptions[0].textContent;
      select.value = "0";
      select.dispatchEvent(new Event("change"));
      await drawn();
      probe.second = document.querySelector("#choices select").selectedOptions[0].textContent;
      probe.streams = [...document.querySelectorAll("#streams .empty")].map(text);
    """
    found, console = probe(pair, tmp_path / "profile", body)
    assert console == []
    assert (found["first"], found["second"]) == ("seen by the server", "seen by the client")
    assert len(found["streams"]) == 1


def test_a_run_of_tcp_has_its_queue(tcp: Path, tmp_path: Path) -> None:
    body = """
      probe.titles = [...document.querySelectorAll("#links h3")].map(text);
      probe.marks = charts.map((canvas) => Object.keys(colours(canvas)).length);
      probe.empty = [...document.querySelectorAll(".empty")].map(text);
      const [diagram] = document.querySelectorAll("canvas.sequence");
      point(diagram, "pointermove", 0.06, 28);
      probe.packet = tip();
      probe.width = [document.documentElement.scrollWidth, innerWidth];
    """
    found, console = probe(tcp, tmp_path / "profile", body)
    assert console == []
    assert found["titles"] == ["Queue [packets], the one in service included", "Rate at the output of the link"]
    assert min(found["marks"]) > 5
    assert len(found["empty"]) == 1
    assert "TCP has only one stream" in found["empty"][0]
    assert found["packet"].startswith("packet 0, client to server\nlittle or no data (at most 80 B), 60 B\n")
    assert found["width"][0] <= found["width"][1]


def test_the_page_asks_for_nothing(pair: Path) -> None:
    text = pair.read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    assert set(re.findall(r"https?://[^\s\"'`)]+", text)) == {"http://www.w3.org/2000/svg"}


def test_contents_of_names_stay_strings(tmp_path: Path) -> None:
    bad = "</script><script>document.title='bad'</script><img src=x onerror=\"document.title='bad'\">"
    run = both(20, 1.0)
    run.name, run.origin = bad, bad
    for trace in run.traces.values():
        trace["stack"] = bad
    page = tmp_path / "page.html"
    page.write_text(render([side(run)]), encoding="utf-8")
    found, console = probe(
        page, tmp_path / "profile", "probe.title = document.title; probe.images = document.images.length;"
    )
    assert console == []
    assert found["title"].startswith("</script>")
    assert found["images"] == 0


def test_the_end_of_a_file_is_a_gap(tmp_path: Path) -> None:
    run = both(400, 1.0)
    trace = run.traces["", "server"]
    trace["counts"]["truncated_at_byte"] = 4711
    whole = both(2000, 1.0)
    page = tmp_path / "page.html"
    page.write_text(render([side(run), side(whole)]), encoding="utf-8")
    body = """
      const [window_] = charts.filter((canvas) => canvas.getAttribute("aria-label").startsWith("Congestion"));
      probe.until = window_.rows()[0].until;
      point(window_, "pointermove", 0.9, 100);
      probe.tip = tip();
    """
    run.traces["", "client"]["acks"]["time_ms"].append(1500.0)  # the other end goes on
    run.traces["", "client"]["acks"]["largest"].append(1)
    run.traces["", "client"]["acks"]["space"].append(3)
    page.write_text(render([side(run), side(whole)]), encoding="utf-8")
    found, console = probe(page, tmp_path / "profile", body)
    assert console == []
    assert found["until"] < 500_000
    assert "congestion window" not in found["tip"]
