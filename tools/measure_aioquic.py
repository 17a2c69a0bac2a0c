"""Measures aioquic in virtual time and stores what it does as reference data (studies/validation/reference/aioquic).

    python tools/measure_aioquic.py INSTALLATION [--only PART] [--most-seconds CPU_S]

INSTALLATION is a directory with an unpacked aioquic, as `pip install --no-deps --target INSTALLATION aioquic==0.9.25`
makes it. Runs that the tables hold already are left out, so that an interrupted measurement goes on where it stopped.
The adapter `quiclab.stacks.aioquic` is written for a newer aioquic and fits 0.9.25, too.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from statistics import fmean, stdev
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "studies/quiclab_studies/validation/reference/aioquic"
QLOG = ROOT / "tests" / "data" / "aioquic-0.9.25.qlog"
PATH, DUAL_CONNECTIVITY = ROOT / "scenarios" / "quic_path.toml", ROOT / "scenarios" / "dual_connectivity.toml"
VERSION = "0.9.25"
DATAGRAM_BYTES, FRAME_BYTES = 1280, 1322
PATH_KEYS = ("rate_mbps", "rtt_ms", "queue_packets", "loss_percent", "jitter", "seed")
BATCH_KEYS = ("batch_packets", "seed")
MEANS = ("first_byte_ms", "mean_srtt_ms", "mean_cwnd_packets")
SUMS = ("data_datagrams", "client_acks", "lost_packets", "spurious_losses", "congestion_events", "probe_timeouts")
JITTER = "normal 1ms down"
BATCHES = (2, *range(50, 501, 50))
BATCH_SEEDS = (1, 2)
QLOG_WORKLOAD, QLOG_LOSS_PERCENT, QLOG_SEED = '{ kind = "download", size = "45 kB", request = "16 B" }', 5, 1


@dataclass(frozen=True)
class Chain:
    """A bottleneck, a delay, and how long a run lasts."""

    rate_mbps: int
    rtt_ms: int
    duration_s: int

    @property
    def queue_packets(self) -> int:
        """One bandwidth-delay product of full frames."""
        return round(1e3 * self.rate_mbps * self.rtt_ms / (8 * FRAME_BYTES))

    def changes(self, loss_percent: float, jitter: str) -> list[tuple[str, str]]:
        """Return what makes the scenario this chain."""
        half = f'"{self.rtt_ms / 2:g} ms"'
        far = f'{{ mean = {half}, deviation = "1 ms", distribution = "normal", reorder = true }}'
        changes = [
            ("duration", f"{self.duration_s} s"),
            ("until", "duration_over"),
            ("flows.main.workload.duration", f"{self.duration_s} s"),
            ("links.bottleneck.rate", f"{self.rate_mbps} Mbit/s"),
            ("links.bottleneck.queue.packets", str(self.queue_packets)),
            ("links.far.delay", half.strip('"') if jitter == "none" else far),
            ("links.back.delay", half.strip('"')),
        ]
        if loss_percent:
            changes.append(("links.bottleneck.loss", f"{loss_percent:g} %"))
        return changes


CHAINS = (Chain(20, 20, 30), Chain(100, 36, 30), Chain(10, 112, 60))
#: Runs of each chain by random loss in percent and jitter.
SEEDS: Mapping[tuple[float, str], tuple[int, int, int]] = {
    (0, "none"): (2, 2, 2),
    (0, JITTER): (6, 16, 20),
    (0.1, "none"): (14, 24, 20),
    (0.1, JITTER): (6, 14, 20),
    (1, "none"): (10, 18, 18),
    (1, JITTER): (6, 14, 18),
}


def main() -> None:
    """Measure what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("installation", type=Path, help="directory with aioquic")
    parser.add_argument("--only", choices=("path", "dual_connectivity", "qlog"), help="one part only")
    parser.add_argument("--most-seconds", type=float, default=math.inf, help="stop after so much CPU time")
    options = parser.parse_args()
    sys.path.insert(0, str(options.installation))
    if version("aioquic") != VERSION:
        parser.error(f"INSTALLATION: expected aioquic {VERSION}, got {version('aioquic')} in {options.installation}")
    parts = {"path": measure_path, "dual_connectivity": measure_dual_connectivity, "qlog": write_qlog}
    for name, part in parts.items():
        if options.only in (None, name):
            part(options.most_seconds)
    summarise()


def measure_path(most_seconds: float) -> None:
    """Measure downloads through one bottleneck: `path.csv`."""
    settings = [
        (chain, loss, jitter, seed)
        for seed in range(1, 1 + max(max(counts) for counts in SEEDS.values()))
        for (loss, jitter), counts in SEEDS.items()
        for chain, count in zip(CHAINS, counts, strict=True)
        if seed <= count
    ]
    with Table(FOLDER / "path.csv", PATH_KEYS) as table:
        for chain, loss, jitter, seed in settings:
            if time.process_time() > most_seconds:
                return
            key = (chain.rate_mbps, chain.rtt_ms, chain.queue_packets, loss, jitter, seed)
            if key in table:
                continue
            result, ends = measured(PATH, "main", chain.changes(loss, jitter), seed)
            delivered = result.flows["main"].delivered_bytes
            values = {
                "duration_s": chain.duration_s,
                "goodput_mbps": 8e-6 * delivered / chain.duration_s,
                **ends.values(),
                "queue_drops": drops(result, "queue_full"),
                "random_losses": drops(result, "loss"),
                "mean_srtt_ms": result.over_time("main.sender", "srtt_ms", "mean"),
                "mean_cwnd_packets": result.over_time("main.sender", "cwnd_bytes", "mean") / DATAGRAM_BYTES,
                "max_cwnd_packets": result.over_time("main.sender", "cwnd_bytes", "largest") / DATAGRAM_BYTES,
            }
            table.append(key, values)


def measure_dual_connectivity(most_seconds: float) -> None:
    """Measure 100 MB over a split bearer, by batch size: `dual_connectivity_batch.csv`."""
    with Table(FOLDER / "dual_connectivity_batch.csv", BATCH_KEYS) as table:
        for seed in BATCH_SEEDS:
            for batch in BATCHES:
                if time.process_time() > most_seconds:
                    return
                if (batch, seed) in table:
                    continue
                changes = [("bearers.dc.batch_packets", str(batch)), ("record.series_interval", "10 ms")]
                result, ends = measured(DUAL_CONNECTIVITY, "dc", changes, seed)
                flow = result.flows["dc"]
                values = {
                    "throughput_mbps": flow.goodput_mbps,
                    "time_s": flow.download_time_s,
                    **ends.values(),
                    "mean_srtt_ms": result.over_time("dc.sender", "srtt_ms", "mean"),
                    "mean_cwnd_packets": result.over_time("dc.sender", "cwnd_bytes", "mean") / DATAGRAM_BYTES,
                    "max_cwnd_packets": result.over_time("dc.sender", "cwnd_bytes", "largest") / DATAGRAM_BYTES,
                }
                table.append((batch, seed), values)


def summarise() -> None:
    """Write means over the seeds: `path_summary.csv`, `dual_connectivity_summary.csv`."""
    for stored, name, keys, rate in (
        ("path", "path_summary", PATH_KEYS[:-1], "goodput_mbps"),
        ("dual_connectivity_batch", "dual_connectivity_summary", BATCH_KEYS[:-1], "throughput_mbps"),
    ):
        cells: dict[tuple[str, ...], list[dict[str, str]]] = {}
        for row in read(FOLDER / f"{stored}.csv"):
            cells.setdefault(tuple(row[key] for key in keys), []).append(row)
        (FOLDER / f"{name}.csv").unlink(missing_ok=True)
        with Table(FOLDER / f"{name}.csv", keys) as table:
            for cell, rows in cells.items():
                columns = {metric: [float(row[metric]) for row in rows] for metric in (rate, *MEANS, *SUMS)}
                deviation = stdev(columns[rate]) if len(rows) > 1 else math.nan
                values = {"runs": len(rows), f"{rate}_mean": fmean(columns[rate]), f"{rate}_stdev": deviation}
                values |= {f"{metric}_mean": fmean(columns[metric]) for metric in MEANS}
                values |= {f"{metric}_sum": int(sum(columns[metric])) for metric in SUMS}
                table.append(cell, values)


def read(file: Path) -> list[dict[str, str]]:
    """Return the rows of a table; none before its first run."""
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as stored:
        return list(csv.DictReader(stored))


def drops(result: Any, cause: str) -> int:
    """Return the packets that the bottleneck dropped for this cause."""
    return int(result.elements["bottleneck"]["statistics"][f"dropped_{cause}_packets"])


def write_qlog(_: float) -> None:
    """Write the qlog of the server's end of a short download with a loss: for tests of its readers."""
    from aioquic.quic import logger as module  # noqa: PLC0415 - of the installation that is measured

    logger = module.QuicLogger()
    changes = [*Chain(10, 40, 10).changes(QLOG_LOSS_PERCENT, "none"), ("flows.main.workload", QLOG_WORKLOAD)]
    _, ends = measured(PATH, "main", changes, QLOG_SEED, logger)
    print(f"qlog with {ends.values()['lost_packets']} lost packets")
    QLOG.parent.mkdir(exist_ok=True)
    QLOG.write_text(json.dumps(logger.to_dict(), separators=(",", ":")), encoding="utf-8")


def measured(
    file: Path, flow: str, changes: Sequence[tuple[str, str]], seed: int, logger: Any = None
) -> tuple[Any, Ends]:
    """Run a scenario with aioquic at both ends; return the result and what the ends saw."""
    from aioquic.quic import logger as logging  # noqa: PLC0415 - of the installation that is measured

    import quiclab  # noqa: PLC0415
    from quiclab.stacks import EndpointSetup, registry  # noqa: PLC0415
    from quiclab.stacks import aioquic as adapter  # noqa: PLC0415

    ends = Ends()
    # the logger takes its times from the clock of the host
    clock = SimpleNamespace(time=lambda: adapter.VIRTUAL_DATE.timestamp() + ends.now_ns / 1e9)

    class Endpoint(adapter.AioquicEndpoint):
        def __init__(self, setup: EndpointSetup) -> None:
            super().__init__(setup)
            if self._server:
                self._configuration.quic_logger = logger
            ends.add(self)

        def receive(self, now_ns: int, datagram: bytes) -> None:
            ends.now_ns = now_ns
            super().receive(now_ns, datagram)

        def wake(self, now_ns: int) -> None:
            ends.now_ns = now_ns
            super().wake(now_ns)

        def _counted(self, connection: Any) -> Any:
            counted = super()._counted(connection)
            ends.watch(counted, self._server)
            return counted

        def _handle(self, connection: Any, event: Any, now_ns: int) -> None:
            super()._handle(connection, event, now_ns)
            if ends.first_byte_ns is None and not self._server and self._delivered:
                ends.first_byte_ns = now_ns

    stack = [(f"flows.{flow}.stack", "aioquic")]
    found = {"aioquic": replace(adapter.STACK, endpoint=Endpoint)}.get
    replaced = ((registry, "find", found), (logging, "time", clock))
    unmodified = [getattr(owner, name) for owner, name, _ in replaced]
    for owner, name, replacement in replaced:
        setattr(owner, name, replacement)
    try:
        with numbers_kept():
            result = quiclab.run(quiclab.load(file, [*stack, *changes]), seed)
    finally:
        for (owner, name, _), original in zip(replaced, unmodified, strict=True):
            setattr(owner, name, original)
    return result, ends


class Ends:
    """What server and client of a run saw."""

    def __init__(self) -> None:
        self.server: Any = None
        self.client: Any = None
        self.first_byte_ns: int | None = None
        self.now_ns = 0
        self._lost: list[int] = []
        self._acks = {True: 0, False: 0}
        self._probe_timeouts = {True: 0, False: 0}

    def add(self, endpoint: Any) -> None:
        """Take one end."""
        if endpoint._server:
            self.server = endpoint
        else:
            self.client = endpoint

    def watch(self, connection: Any, server: bool) -> None:
        """Count acknowledgements and probes of a connection; collect what the server lost."""
        acknowledge, reschedule = connection._write_ack_frame, connection._loss.reschedule_data

        def write_ack_frame(**arguments: Any) -> None:
            self._acks[server] += 1
            acknowledge(**arguments)

        def reschedule_data(*, now: float) -> None:
            self._probe_timeouts[server] += 1
            reschedule(now=now)

        connection._write_ack_frame = write_ack_frame
        connection._loss.reschedule_data = reschedule_data
        if server:
            control = connection._loss._cc
            lose = control.on_packets_lost

            def on_packets_lost(*, now: float, packets: Any) -> None:
                self._lost += [packet.packet_number for packet in packets]
                lose(now=now, packets=packets)

            control.on_packets_lost = on_packets_lost

    def values(self) -> dict[str, float]:
        """Return the columns that every run has."""
        arrived = {number for pair in self.client._connection._cryptos.values() for number in numbers(pair)}
        lost = self.server._lost_packets
        return {
            "first_byte_ms": math.nan if self.first_byte_ns is None else self.first_byte_ns / 1e6,
            "data_datagrams": self.server._packets_sent,
            "client_datagrams": self.client._packets_sent,
            "client_acks": self._acks[False],
            "server_acks": self._acks[True],
            "lost_packets": lost,
            "spurious_losses": sum(number in arrived for number in self._lost),
            "congestion_events": self.server._congestion_events,
            "probe_timeouts": self._probe_timeouts[True],
            "client_probe_timeouts": self._probe_timeouts[False],
        }


def numbers(pair: Any) -> list[int]:
    """Packet numbers that a pair of keys has decrypted."""
    found: list[int] = pair.__dict__.setdefault("decrypted_numbers", [])
    return found


@contextmanager
def numbers_kept() -> Iterator[None]:
    """Keep the numbers of all packets that are decrypted."""
    from aioquic.quic import crypto  # noqa: PLC0415 - of the installation that is measured

    pair: Any = crypto.CryptoPair
    decrypt = pair.decrypt_packet

    def decrypt_packet(self: Any, *arguments: Any, **named: Any) -> tuple[bytes, bytes, int]:
        header, payload, number = decrypt(self, *arguments, **named)
        numbers(self).append(number)
        return header, payload, number

    pair.decrypt_packet = decrypt_packet
    try:
        yield
    finally:
        pair.decrypt_packet = decrypt


class Table:
    """A CSV file that grows by a row per run."""

    def __init__(self, file: Path, keys: Sequence[str]) -> None:
        self._file, self._keys = file, keys
        file.parent.mkdir(parents=True, exist_ok=True)
        self._rows = read(file)

    def __enter__(self) -> Table:
        return self

    def __exit__(self, *_: object) -> None:
        """Sort the rows by their keys."""
        self._rows.sort(key=lambda row: tuple(_order(row[key]) for key in self._keys))
        if self._rows:
            self._write("w", self._rows)

    def __contains__(self, key: tuple[object, ...]) -> bool:
        return any(tuple(row[name] for name in self._keys) == tuple(map(_text, key)) for row in self._rows)

    def append(self, key: tuple[object, ...], values: Mapping[str, object]) -> None:
        """Add a row and write it immediately."""
        row = {name: _text(value) for name, value in [*zip(self._keys, key, strict=True), *values.items()]}
        self._rows.append(row)
        self._write("a" if len(self._rows) > 1 else "w", [row])
        print(", ".join(f"{name} {value}" for name, value in row.items()), flush=True)

    def _write(self, mode: str, rows: Sequence[dict[str, str]]) -> None:
        with self._file.open(mode, encoding="utf-8", newline="") as stored:
            writer = csv.DictWriter(stored, list(self._rows[0]), lineterminator="\n")
            if mode == "w":
                writer.writeheader()
            writer.writerows(rows)


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _order(text: str) -> tuple[int, float, str]:
    try:
        return (0, float(text), "")
    except ValueError:
        return (1, 0.0, text)


if __name__ == "__main__":
    main()
