"""Captures made at random: encapsulations, lengths, copies and connections, each from a seed.

`capture(seed)` makes one: TCP connections and UDP flows that interleave, use ports again, begin in the middle or wrap
sequence numbers; inside tunnels, tags and labels; in a file of any format and link type; with frames cut by a snap
length, stated too short, or copied at the same place or at another one. `python tests/random_captures.py SEED DIR`
writes one to look at.

Headers are written after the same documents as the reader's, but once more: nothing of the reader is used.
"""

from __future__ import annotations

import random
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ETHERNET, RAW, SLL, SLL2 = 1, 101, 113, 276
#: Ports without a protocol of their own in tshark.
PORTS = (20011, 21013, 22017, 23029, 24043, 33301, 41117, 47057)
#: Label of a pseudo-wire of Ethernet with a control word.
PSEUDO_WIRE = 500
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16


@dataclass(frozen=True)
class Sent:
    """A packet as its sender made it."""

    at_us: int
    client: bool
    flow: int
    #: Identification of IPv4.
    number: int
    above: bytes
    protocol: int


@dataclass
class Frame:
    """A frame of a file; `original` is the length that the file states."""

    at_ns: int
    data: bytes
    original: int
    whole: int
    interface: int = 0
    #: Shows a packet that another frame has shown.
    copy: bool = False


@dataclass
class Made:
    """A capture, and what no reader of it can know."""

    seed: int
    name: str
    content: bytes
    frames: list[Frame]
    #: The file states the captured length for the original one.
    shortened: bool
    description: list[str] = field(default_factory=list)


def half(value: int) -> bytes:
    return struct.pack(">H", value & 0xFFFF)


def word(value: int) -> bytes:
    return struct.pack(">I", value & 0xFFFFFFFF)


def checksum(data: bytes) -> int:
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ipv4(source: int, target: int, protocol: int, above: bytes, *, number: int, ttl: int, zero: bool = False) -> bytes:
    length = 0 if zero else 20 + len(above)
    head = struct.pack(">BBHHHBBH", 0x45, 0, length, number & 0xFFFF, 0, ttl, protocol, 0)
    head += word(source) + word(target)
    return head[:10] + half(checksum(head)) + head[12:] + above


def ipv6(source: int, target: int, protocol: int, above: bytes, *, ttl: int, extensions: Sequence[int] = ()) -> bytes:
    chain = [*extensions, protocol]
    for index in reversed(range(len(extensions))):
        # PadN of 4 bytes
        above = bytes([chain[index + 1], 0, 1, 4, 0, 0, 0, 0]) + above
    head = struct.pack(">IHBB", 0x60000000, len(above), chain[0], ttl)
    return head + b"\xfd" + bytes(11) + word(source) + b"\xfd" + bytes(11) + word(target) + above


def is_six(packet: bytes) -> bool:
    return packet[0] >> 4 == 6


def udp(source: int, target: int, payload: bytes) -> bytes:
    return struct.pack(">HHHH", source, target, 8 + len(payload), 0) + payload


def ethertype(packet: bytes) -> int:
    return 0x86DD if is_six(packet) else 0x0800


def ethernet(kind: int, inside: bytes, mac: int = 1) -> bytes:
    return bytes([2, 0, 0, 0, 0, mac, 2, 0, 0, 0, 1, mac]) + half(kind) + inside


def ppp(packet: bytes, style: int, *, six: bool | None = None) -> bytes:
    protocol = b"\x00\x57" if (is_six(packet) if six is None else six) else b"\x00\x21"
    return (b"\xff\x03" if style & 1 else b"") + (protocol[1:] if style & 2 else protocol) + packet


def mpls(inside: bytes, labels: int, first: int = 100) -> bytes:
    stack = b"".join(word((first + n) << 12 | int(n + 1 == labels) << 8 | 64) for n in range(labels))
    return stack + inside


class Tunnel:
    """What is around the packets of a capture: the same for each, but for numbers and lengths."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.six = rng.random() < 0.3
        self.kind = rng.choice(sorted(TUNNELS))
        self.number = rng.randrange(1 << 16)
        self.options = rng.randrange(8)
        self.labels = rng.randint(1, 3)

    def around(self, packet: bytes) -> bytes:
        """Return an IP packet that carries an IP packet."""
        protocol, above = TUNNELS[self.kind](self, packet)
        self.number += 1
        outer = 0xC6330001
        if self.six:
            return ipv6(outer, outer + 1, protocol, above, ttl=64)
        return ipv4(outer, outer + 1, protocol, above, number=self.number, ttl=64)

    def in_udp(self, port: int, payload: bytes) -> tuple[int, bytes]:
        return 17, udp(50000, port, payload)

    def gre(self, kind: int, inside: bytes) -> tuple[int, bytes]:
        flags = (self.options & 1) << 13 | (self.options >> 1 & 1) << 12
        extra = word(7) * (self.options & 1) + word(self.number) * (self.options >> 1 & 1)
        return 47, half(flags) + half(kind) + extra + inside

    def erspan(self, packet: bytes) -> tuple[int, bytes]:
        inside = ethernet(ethertype(packet), packet, 9)
        if self.options & 1:
            return 47, half(0x1000) + half(0x88BE) + word(self.number) + half(0x1005) + half(3) + word(0) + inside
        head = half(0x2005) + half(3) + word(0) + half(0) + half(0)
        return 47, half(0x1000) + half(0x22EB) + word(self.number) + head + inside

    def geneve(self, packet: bytes) -> tuple[int, bytes]:
        options = b"\x01\x02\x80\x01\x00\x00\x00\x00" if self.options & 1 else b""
        kind, inside = (0x6558, ethernet(ethertype(packet), packet, 9)) if self.options & 2 else (0, packet)
        return self.in_udp(
            6081, bytes([len(options) // 4, 0]) + half(kind or ethertype(packet)) + word(77 << 8) + options + inside
        )

    def gtp(self, packet: bytes) -> tuple[int, bytes]:
        extra = half(self.number) + bytes(2) if self.options & 1 else b""
        flags = 0x32 if extra else 0x30
        return self.in_udp(2152, bytes([flags, 255]) + half(len(extra) + len(packet)) + word(5) + extra + packet)

    def l2tp(self, packet: bytes) -> tuple[int, bytes]:
        inside = ppp(packet, 1)
        if self.options & 1:
            return self.in_udp(1701, half(0x4002) + half(8 + len(inside)) + half(1) + half(2) + inside)
        return self.in_udp(1701, half(0x0002) + half(1) + half(2) + inside)


TUNNELS: dict[str, Callable[[Tunnel, bytes], tuple[int, bytes]]] = {
    "ip-in-ip": lambda _, packet: (41 if is_six(packet) else 4, packet),
    "gre": lambda self, packet: self.gre(ethertype(packet), packet),
    "gre-ethernet": lambda self, packet: self.gre(0x6558, ethernet(ethertype(packet), packet, 9)),
    "gre-mpls": lambda self, packet: self.gre(0x8847, mpls(packet, self.labels)),
    "erspan": Tunnel.erspan,
    "etherip": lambda _, packet: (97, b"\x30\x00" + ethernet(ethertype(packet), packet, 9)),
    "vxlan": lambda self, packet: self.in_udp(
        4789, b"\x08\0\0\0" + word(42 << 8) + ethernet(ethertype(packet), packet, 9)
    ),
    "vxlan-vlan": lambda self, packet: self.in_udp(
        4789, b"\x08\0\0\0" + word(42 << 8) + ethernet(0x8100, half(9) + half(ethertype(packet)) + packet, 9)
    ),
    "geneve": Tunnel.geneve,
    "gtp-u": Tunnel.gtp,
    "l2tp": Tunnel.l2tp,
}


def on_ethernet(style: int, packet: bytes, place: int) -> bytes:
    """Return a frame of Ethernet: plain, with one tag or two, LLC/SNAP, MPLS, a pseudo-wire, PPPoE."""
    kind = ethertype(packet)
    mac = 1 + place
    frames = {
        0: lambda: ethernet(kind, packet, mac),
        1: lambda: ethernet(0x8100, half(5 + place) + half(kind) + packet, mac),
        2: lambda: ethernet(0x88A8, half(5) + half(0x8100) + half(6 + place) + half(kind) + packet, mac),
        3: lambda: ethernet(0x8847, mpls(packet, 2), mac),
        4: lambda: ethernet(0x8847, mpls(bytes(4) + ethernet(kind, packet, 7), 1, PSEUDO_WIRE), mac),
        5: lambda: ethernet(0x8864, b"\x11\0\0\x01" + half(len(ppp(packet, 0))) + ppp(packet, 0), mac),
        6: lambda: ethernet(8 + len(packet), b"\xaa\xaa\x03\0\0\0" + half(kind) + packet, mac),
    }
    if style == 6 and 8 + len(packet) > 1500:
        style = 0
    frame = frames[style]()
    return frame + bytes(max(0, 60 - len(frame)))  # padding


def link_layer(link: int, style: int, packet: bytes, place: int) -> bytes:
    """Return a frame of a link type, seen at a place."""
    kind = half(ethertype(packet))
    family = 24 if is_six(packet) else 2
    session = b"\x11\0\0\x01" + half(len(packet) + 2) + ppp(packet, 0)
    before = {
        0: struct.pack(">I" if style & 1 else "<I", family),
        50: ppp(b"", 1, six=is_six(packet)) if style & 1 else b"\x0f\0" + kind,
        100: b"\xaa\xaa\x03\0\0\0" + kind,
        104: b"\x0f\0" + kind,
        108: word(family),
        113: half(4 * place) + half(1) + half(6) + bytes([2, 0, 0, 0, 0, place, 0, 0]) + kind,
        276: kind + half(0) + word(1 + place) + half(1) + bytes([4 * place, 6, 2, 0, 0, 0, 0, place, 0, 0]),
    }
    whole = {1: lambda: on_ethernet(style % 7, packet, place), 9: lambda: ppp(packet, style % 4), 51: lambda: session}
    return whole[link]() if link in whole else before.get(link, b"") + packet


LINKS = (1, 1, 1, 1, 0, 9, 50, 51, 100, 101, 104, 108, 113, 228, 229, 276)


class Endpoints:
    """Packets of a few flows, in the order in which they were sent."""

    def __init__(self, rng: random.Random, *, large: bool) -> None:
        self.rng, self.large = rng, large
        self.packets: list[Sent] = []
        self.numbers = [rng.randrange(1, 30000), rng.randrange(1, 30000)]
        self.now = 0

    def send(self, flow: int, above: bytes, protocol: int, *, client: bool) -> None:
        self.now += self.rng.choice((3, 40, 120, 1500, 2500))
        self.numbers[client] += 1
        self.packets.append(Sent(self.now, client, flow, self.numbers[client], above, protocol))

    def ports(self, flow: int) -> tuple[int, int]:
        return PORTS[flow], PORTS[flow + 4]

    def tcp(self, flow: int, *, middle: bool) -> None:
        """Run a connection: the client asks, the server sends, some segments twice and some out of order."""
        rng = self.rng
        near_the_end = rng.random() < 0.4
        numbers = [0xFFFFFFFF - rng.randrange(6000) if near_the_end else rng.randrange(1 << 32) for _ in range(2)]
        stamp = rng.random() < 0.5

        def segment(*, client: bool, flags: int, sequence: int, acknowledges: int, payload: bytes = b"") -> None:
            source, target = self.ports(flow) if client else self.ports(flow)[::-1]
            options = b"\x01\x01\x08\x0a" + word(self.now // 1000) + word(1) if stamp else b""
            head = struct.pack(">HHII", source, target, sequence & 0xFFFFFFFF, acknowledges & 0xFFFFFFFF)
            head += struct.pack(">BBHHH", (5 + len(options) // 4) << 4, flags, 500, rng.randrange(1 << 16), 0)
            self.send(flow, head + options + payload, 6, client=client)

        if not middle:
            segment(client=True, flags=SYN, sequence=numbers[0], acknowledges=0)
            numbers[0] += 1
            segment(client=False, flags=SYN | ACK, sequence=numbers[1], acknowledges=numbers[0])
            numbers[1] += 1
            segment(client=True, flags=ACK, sequence=numbers[0], acknowledges=numbers[1])
        ask = rng.randbytes(rng.randint(1, 200))
        segment(client=True, flags=ACK | PSH, sequence=numbers[0], acknowledges=numbers[1], payload=ask)
        numbers[0] += len(ask)
        longest = 6000 if self.large else 1200
        for _ in range(rng.randint(2, 8)):
            burst = [rng.randbytes(rng.randint(1, longest)) for _ in range(rng.randint(1, 3))]
            starts = [numbers[1] + sum(map(len, burst[:n])) for n in range(len(burst))]
            order = list(range(len(burst)))
            if rng.random() < 0.2:
                rng.shuffle(order)
            for n in order:
                segment(client=False, flags=ACK, sequence=starts[n], acknowledges=numbers[0], payload=burst[n])
            if rng.random() < 0.2:  # lost behind the capture, asked for, and sent again
                segment(client=True, flags=ACK, sequence=numbers[0], acknowledges=numbers[1])
                self.now += 1500
                segment(client=False, flags=ACK, sequence=starts[0], acknowledges=numbers[0], payload=burst[0])
            numbers[1] += sum(map(len, burst))
            segment(client=True, flags=ACK, sequence=numbers[0], acknowledges=numbers[1])
        if rng.random() < 0.6:
            segment(client=False, flags=ACK | FIN, sequence=numbers[1], acknowledges=numbers[0])
            segment(client=True, flags=ACK | FIN, sequence=numbers[0], acknowledges=numbers[1] + 1)
            segment(client=False, flags=ACK, sequence=numbers[1] + 1, acknowledges=numbers[0] + 1)
        elif rng.random() < 0.5:
            segment(client=True, flags=RST, sequence=numbers[0], acknowledges=0)

    def datagrams(self, flow: int) -> None:
        source, target = self.ports(flow)
        for number in range(self.rng.randint(1, 12)):
            client = self.rng.random() < 0.7
            # neither a long header of QUIC nor a short one
            payload = b"\x01" + word(number) + self.rng.randbytes(self.rng.randrange(1100))
            self.send(flow, udp(*((source, target) if client else (target, source)), payload), 17, client=client)


def flows(rng: random.Random, *, large: bool, datagrams: bool) -> list[Sent]:
    """Return the packets of one to four flows, of which some follow each other on the same ports."""
    ends = Endpoints(rng, large=large)
    for flow in range(rng.randint(1, 3)):
        ends.now = rng.randrange(20000)
        if datagrams and rng.random() < 0.25:
            ends.datagrams(flow)
            continue
        ends.tcp(flow, middle=rng.random() < 0.3)
        while rng.random() < 0.3:
            ends.tcp(flow, middle=False)
    return sorted(ends.packets, key=lambda packet: packet.at_us)


def capture(seed: int) -> Made:
    """Make the capture of a seed."""
    rng = random.Random(seed)  # noqa: S311
    link = rng.choice(LINKS)
    six = {228: False, 229: True}.get(link, rng.random() < 0.4)
    tunnels = [Tunnel(rng) for _ in range(rng.choice((0, 0, 0, 1, 1, 2, 3)))]
    if tunnels and link in {228, 229}:
        tunnels[-1].six = six
    style, extensions = rng.randrange(84), rng.choice(((), (), (0,), (60,), (0, 43, 60)))
    large = rng.random() < 0.1 and not tunnels and link in {ETHERNET, RAW, SLL, SLL2} and style % 7 != 6
    copies = rng.choice(("none", "none", "same place", "other place", "other side"))
    lengths = rng.choice(("whole", "whole", "cut", "lost"))
    zero = large and not six and lengths == "whole"
    # without identification: of copies at the same place, only those of TCP can be told
    nameless = six or rng.random() < 0.2
    base = 0x0A000000 + (seed % 65000) * 256

    def frame(packet: Sent, place: int, ttl: int) -> bytes:
        source, target = base + 1, base + 2 + packet.flow
        ends = (source, target) if packet.client else (target, source)
        if six:
            inner = ipv6(*ends, packet.protocol, packet.above, ttl=ttl, extensions=extensions)
        else:
            zeroed = zero and len(packet.above) > 1500
            inner = ipv4(
                *ends, packet.protocol, packet.above, number=0 if nameless else packet.number, ttl=ttl, zero=zeroed
            )
        for tunnel in tunnels:
            inner = tunnel.around(inner)
        return link_layer(link, style, inner, place)

    writer = rng.choice(("pcap", "pcap-ns", "pcap-modified", "pcapng", "pcapng-ns"))
    big = rng.random() < 0.5
    places = writer.startswith("pcapng") and copies == "other side"
    snap = 220 + 80 * len(tunnels)
    frames = []
    for packet in flows(rng, large=large, datagrams=not nameless or copies != "same place"):
        at_ns = packet.at_us * 1000 + (rng.randrange(1000) if writer.endswith("ns") else 0)
        seen = [(at_ns, frame(packet, 0, 64), 0)]
        if copies == "same place":
            seen.append((at_ns + 2000, seen[0][1], 0))
        elif copies == "other place" and link in {1, SLL, SLL2}:
            seen.append((at_ns + rng.choice((2000, 90000)), frame(packet, 1, 64), 0))
        elif copies == "other side":
            seen.append((at_ns + 5000, frame(packet, 0, 63), int(places)))
        for number, (at, data, interface) in enumerate(seen):
            kept = data[:snap] if lengths != "whole" else data
            original = len(kept) if lengths == "lost" else len(data)
            frames.append(Frame(at, kept, original, len(data), interface, number > 0))
    others = [kind for kind in (0x0806, 0x88CC) if link == ETHERNET and rng.random() < 0.5]
    frames += [Frame(0, ethernet(kind, bytes(46)), 60, 60) for kind in others]
    frames.sort(key=lambda item: item.at_ns)
    content = (
        pcapng(frames, link, writer, big=big) if writer.startswith("pcapng") else pcap(frames, link, writer, big=big)
    )
    told = [f"link type {link}", f"style {style}", f"IPv{6 if six else 4}", copies, lengths, writer]
    told += [tunnel.kind for tunnel in tunnels] + ["large"] * large + ["zero lengths"] * zero
    return Made(seed, f"{seed}.{writer.partition('-')[0]}", content, frames, lengths == "lost", told)


#: Seconds at which captures begin: few enough for nanoseconds in a float.
EPOCH = 1_000_000


def pcap(frames: Sequence[Frame], link: int, writer: str, *, big: bool) -> bytes:
    """Return a pcap file: microseconds, nanoseconds, or the modified format of an old libpcap."""
    order = ">" if big else "<"
    magic = {"pcap": 0xA1B2C3D4, "pcap-ns": 0xA1B23C4D, "pcap-modified": 0xA1B2CD34}[writer]
    file = struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 65535, link)
    for item in frames:
        seconds, rest = divmod(item.at_ns, 10**9)
        fraction = rest if writer == "pcap-ns" else rest // 1000
        file += struct.pack(f"{order}IIII", EPOCH + seconds, fraction, len(item.data), item.original)
        if writer == "pcap-modified":
            file += struct.pack(f"{order}IHBB", 2, 0x0800, 0, 0)
        file += item.data
    return file


def pcapng(frames: Sequence[Frame], link: int, writer: str, *, big: bool) -> bytes:
    """Return a pcapng file of one section; interfaces in microseconds or nanoseconds."""
    order = ">" if big else "<"

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        return struct.pack(f"{order}II", kind, 12 + len(body)) + body + struct.pack(f"{order}I", 12 + len(body))

    file = block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1))
    unit = 1 if writer == "pcapng-ns" else 1000
    resolution = struct.pack(f"{order}HHB3x", 9, 1, 9) if unit == 1 else b""
    for _ in range(1 + max(item.interface for item in frames)):
        file += block(1, struct.pack(f"{order}HHI", link, 0, 65535) + resolution + bytes(4))
    for item in frames:
        units = (EPOCH * 10**9 + item.at_ns) // unit
        head = struct.pack(
            f"{order}IIIII", item.interface, units >> 32, units & 0xFFFFFFFF, len(item.data), item.original
        )
        file += block(6, head + item.data)
    return file


if __name__ == "__main__":
    made = capture(int(sys.argv[1]))
    (Path(sys.argv[2]) / made.name).write_bytes(made.content)
    print(made.name, *made.description, sep="; ")
