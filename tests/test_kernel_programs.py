"""Real transfers between namespaces: the kernel's TCP by our own programs, and the example of the documents.

Skipped where there is no program `quiclab-live`, or no namespaces.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import undefined
from quiclab.errors import QuiclabError
from quiclab.lane import doctor
from quiclab.lane.adapter import BUILT_IN, load_adapters
from quiclab.lane.choices import Certificate
from quiclab.lane.kernel.programs import live_program
from quiclab.lane.run import Lane
from quiclab.result import RunResult
from quiclab.scenario import load
from test_kernel_adapters import example

pytestmark = pytest.mark.kernel_lane
#: 2 Mbit/s both ways with 20 ms of round trip, and a queue of a fifth of a second.
SCENARIO = """\
version = 1
name = "programs"
duration = "30 s"
[links.down1]
rate = "2 Mbit/s"
delay = "10 ms"
queue = {{ kind = "drop_tail", packets = 33 }}
[links.up1]
rate = "2 Mbit/s"
delay = "10 ms"
[flows.main]
stack = "{stack}"
sender = {sender}
down = ["down1"]
up = ["up1"]
workload = {workload}
"""
SIZE = 100_000
RATE_BPS, RTT_S = 2_000_000, 0.020


@pytest.fixture(scope="module", autouse=True)
def machine() -> None:
    try:
        live_program()
    except QuiclabError as error:
        pytest.skip(error.message)
    prefix = doctor.user_prefix()
    for finding in (doctor.privileges(prefix), doctor.network_namespace(prefix), doctor.tun_device()):
        if not finding.ok:
            pytest.skip(f"{finding.title}: {finding.found}; {finding.advice}")


def run(
    folder: Path,
    stack: str,
    workload: str,
    lane: Lane | None = None,
    sender: str | None = None,
    sets: tuple[tuple[str, str], ...] = (),
) -> RunResult:
    lane = lane or Lane()
    sender = sender or '{ congestion_control = "newreno" }'
    file = folder / "programs.toml"
    file.write_text(SCENARIO.format(stack=stack, workload=workload, sender=sender))
    return lane.run(load(file, sets, lane.stacks()), base_dir=folder, record_dir=folder)


def report(folder: Path, end: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / f"main.{end}.json").read_text())
    return loaded


def test_the_kernels_tcp_carries_a_download(tmp_path: Path) -> None:
    result = run(tmp_path, "linux", '{ kind = "download", size = "100 kB" }')
    flow = result.flows["main"]
    assert (flow.completed, flow.delivered_bytes) == (True, SIZE)
    client, server = report(tmp_path, "client"), report(tmp_path, "server")
    assert client["started_ns"] < client["connected_ns"] < client["first_byte_ns"] < client["finished_ns"]
    # no faster than the network: a round trip each for handshake and request, and the bytes at the link's rate
    assert client["connected_ns"] - client["started_ns"] >= RTT_S * 1e9
    assert client["finished_ns"] - client["started_ns"] >= (2 * RTT_S + 8 * SIZE / RATE_BPS) * 1e9
    columns = server["samples"]
    assert {len(column) for column in columns.values()} == {len(columns["time_ns"])}
    gaps = [later - earlier for earlier, later in zip(columns["time_ns"], columns["time_ns"][1:], strict=False)]
    assert min(gaps) > 0
    # the initial window is ten segments (RFC 6928), and no window is less than one
    assert columns["cwnd_bytes"][0] == 10 * 1448
    assert min(columns["cwnd_bytes"]) >= 1448
    assert server["statistics"]["min_rtt_ms"] >= 1e3 * RTT_S
    assert server["statistics"]["TcpExt.TCPOrigDataSent"] >= SIZE / 1448
    assert undefined(result) == set()


@pytest.mark.parametrize("stack", sorted(set(load_adapters()) - {"linux"}))
def test_a_program_that_is_there_carries_a_download(tmp_path: Path, stack: str) -> None:
    adapter = load_adapters()[stack]
    for message in adapter.missing():
        pytest.skip(message)
    sender = "{ }" if "congestion_control" not in adapter.file.options else None
    result = run(tmp_path, stack, '{ kind = "download", size = "100 kB" }', sender=sender)
    flow = result.flows["main"]
    assert flow.completed, result.warnings
    assert undefined(result) == set()
    # iperf3 counts what was on its way when it had enough
    assert flow.delivered_bytes >= SIZE
    if adapter.file.format != "iperf3":
        assert flow.delivered_bytes == SIZE
        # a round trip each for handshake and request, and the bytes at the link's rate
        assert flow.download_time_s is not None
        assert flow.download_time_s >= 2 * RTT_S + 8 * SIZE / RATE_BPS


@pytest.mark.parametrize("client", ["aioquic", "quinn"])
def test_programs_of_one_application_serve_each_others_clients(tmp_path: Path, client: str) -> None:
    server = load_adapters()["quic-go"]
    for message in (*server.missing(), *load_adapters()[client].missing()):
        pytest.skip(message)
    chosen = (("flows.main.receiver.stack", client),)
    result = run(tmp_path, "quic-go", '{ kind = "download", size = "100 kB" }', sets=chosen)
    flow = result.flows["main"]
    assert (flow.completed, flow.delivered_bytes) == (True, SIZE), result.warnings
    assert {"quic-go", client} <= set(result.data["versions"])


@pytest.mark.parametrize("stack", [name for name, adapter in load_adapters().items() if adapter.takes_certificate])
@pytest.mark.parametrize("certificate", ["p-256", "rsa-2048", "p-256-chain-2", "rsa-2048-chain-3"])
def test_servers_have_the_certificate_that_is_chosen(tmp_path: Path, stack: str, certificate: Certificate) -> None:
    adapter = load_adapters()[stack]
    for message in adapter.missing():
        pytest.skip(message)
    sender = "{ }" if "congestion_control" not in adapter.file.options else None
    lane = Lane(certificate=certificate)
    result = run(tmp_path, stack, '{ kind = "download", size = "100 kB" }', lane, sender)
    assert result.flows["main"].completed, result.warnings
    assert f"certificate-{certificate}.pem" in (tmp_path / "job.json").read_text()


def test_requests_and_responses_take_at_least_their_round_trips(tmp_path: Path) -> None:
    workload = '{ kind = "request_response", count = 3, response = "5 kB", pause = "10 ms" }'
    result = run(tmp_path, "linux", workload)
    assert result.flows["main"].delivered_bytes == 3 * 5000
    statistics = report(tmp_path, "client")["statistics"]
    assert statistics["responses"] == 3
    assert statistics["response_time_ms_min"] >= 1e3 * (RTT_S + 8 * 5000 / RATE_BPS)


def test_each_acknowledgement_is_traced_where_the_kernel_can(tmp_path: Path) -> None:
    finding = doctor.tcp_probe(doctor.user_prefix())
    if not finding.ok:
        pytest.skip(f"{finding.title}: {finding.advice}")
    lane = changed(tmp_path, '["--probe", "{probe}"]', '"--probe", "true"')
    run(tmp_path, "odd", '{ kind = "download", size = "100 kB" }', lane)
    server = report(tmp_path, "server")
    rows = server["acknowledgements"]
    assert {len(column) for column in rows.values()} == {len(rows["time_ns"])}
    assert 0 < len(rows["time_ns"]) <= server["statistics"]["packets_received"]
    assert rows["time_ns"] == sorted(rows["time_ns"])
    assert rows["time_ns"][0] >= server["started_ns"] - 1000, "the trace counts microseconds"
    assert min(rows["cwnd_bytes"]) >= 1448
    assert max(rows["outstanding_bytes"]) <= SIZE


def changed(tmp_path: Path, old: str, new: str) -> Lane:
    """Return the lane with the stack `odd`: `linux` with something changed."""
    text = (BUILT_IN / "linux.toml").read_text()
    assert old in text
    folder = tmp_path / "adapters"
    folder.mkdir()
    (folder / "odd.toml").write_text(text.replace('name = "linux"', 'name = "odd"').replace(old, new))
    return Lane(adapters=(folder / "odd.toml",))


def test_an_option_that_the_kernel_refuses_is_a_message(tmp_path: Path) -> None:
    lane = changed(tmp_path, 'newreno = "reno"', 'newreno = "no-such-control"')
    with pytest.raises(QuiclabError, match=r"congestion control `no-such-control`.*this kernel has .*reno"):
        run(tmp_path, "odd", '{ kind = "download", size = "100 kB" }', lane)


def test_the_example_of_the_documents_runs(tmp_path: Path) -> None:
    folder = tmp_path / "example"
    folder.mkdir()
    lane = Lane(adapters=(example(folder).file.path,))
    flow = run(tmp_path, "transfer", '{ kind = "download", size = "100 kB" }', lane).flows["main"]
    assert (flow.completed, flow.delivered_bytes) == (True, SIZE)
