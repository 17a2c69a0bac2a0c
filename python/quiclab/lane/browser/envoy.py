"""The server of pages: Envoy, with one set of files over HTTP/3 (Google QUICHE) and over HTTP/2 (TLS 1.3 on TCP).

Why Envoy is in docs/decisions/0015-browser.md. Envoy itself answers, from files (`direct_response`): no second server
is involved. Its access log has a line of JSON for each request; Envoy adds `early-data` to requests that it accepts
from 0-RTT packets before the handshake is complete (RFC 8470 section 5.1): the view of the server, not of the client.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from quiclab.lane.browser.site import TYPES, Page, body

PORT: Final = 443
CONFIGURATION, ACCESS_LOG = "envoy.json", "access.log"
#: Milliseconds between two writes of the access log.
FLUSH_MS: Final = 50
_TYPE: Final = "type.googleapis.com/envoy.extensions"
#: Larger than any page; by default Envoy rejects responses above 4 kB.
_MAX_RESPONSE_BYTES: Final = 2**32 - 1
#: No limit. Chromium orders its requests anew with each image that it hears of, by HTTP/2's PRIORITY frames (RFC 9113
#: section 5.3.2): 100 images are enough for Envoy's 100 for each stream, and then Envoy closes the connection.
_PRIORITY_FRAMES: Final = 2**32 - 1


@dataclass(frozen=True)
class Request:
    """A line of the access log.

    Parameters
    ----------
    protocol
        `HTTP/2` or `HTTP/3`.
    connection
        Number of the connection.
    path
        Path and query.
    early_data
        Whether the request came in 0-RTT packets and was taken from them.
    """

    protocol: str
    connection: str
    path: str
    early_data: bool


def write_files(page: Page, directory: Path, address: str, certificate: Path, key: Path) -> Path:
    """Write page and configuration to an existing directory; returns the configuration."""
    (directory / "html").write_bytes(page.html())
    for number, group in enumerate(page.groups):
        (directory / f"object-{number}").write_bytes(body(group.kind, group.size_bytes))
    (directory / ACCESS_LOG).write_bytes(b"")
    file = directory / CONFIGURATION
    file.write_text(json.dumps(configuration(page, directory, address, certificate, key), indent=1), encoding="utf-8")
    return file


def configuration(page: Page, directory: Path, address: str, certificate: Path, key: Path) -> dict[str, Any]:
    """Return Envoy's configuration: one listener on TCP, one on UDP."""
    own = {"certificate_chain": {"filename": str(certificate)}, "private_key": {"filename": str(key)}}
    tls = {"tls_certificates": [own]}
    only_13 = {"tls_minimum_protocol_version": "TLSv1_3"}
    quic = {"downstream_tls_context": {"common_tls_context": tls}, "enable_early_data": True}
    tcp = {"common_tls_context": {**tls, "tls_params": only_13, "alpn_protocols": ["h2"]}}
    listeners = []
    for protocol, socket, codec, options in (
        ("TCP", _typed("transport_sockets.tls.v3.DownstreamTlsContext", "tls", tcp), "HTTP2", {}),
        (
            "UDP",
            _typed("transport_sockets.quic.v3.QuicDownstreamTransport", "quic", quic),
            "HTTP3",
            {"udp_listener_config": {"quic_options": {}, "downstream_socket_config": {"prefer_gro": False}}},
        ),
    ):
        chain = {"transport_socket": socket, "filters": [_connection_manager(codec, page, directory)]}
        where = {"socket_address": {"protocol": protocol, "address": address, "port_value": PORT}}
        listeners.append({"name": codec, "address": where, "filter_chains": [chain], **options})
    return {"static_resources": {"listeners": listeners}}


def _connection_manager(codec: str, page: Page, directory: Path) -> dict[str, Any]:
    routes = [
        _route(f"/{number}/", directory / f"object-{number}", TYPES[group.kind])
        for number, group in enumerate(page.groups)
    ]
    routes.append(_route("/", directory / "html", "text/html; charset=utf-8"))
    host = {
        "name": "all",
        "domains": ["*"],
        "routes": routes,
        # fonts of other origins are requested with CORS (Fetch, section 3.3)
        "response_headers_to_add": [_header("cache-control", "no-store, no-cache")]
        + ([_header("access-control-allow-origin", "*")] if page.has_resources else []),
    }
    line = {
        "protocol": "%PROTOCOL%",
        "connection": "%CONNECTION_ID%",
        "path": "%REQ(:PATH)%",
        "early_data": "%REQ(EARLY-DATA)%",
        "bytes_sent": "%BYTES_SENT%",
        "tls": "%DOWNSTREAM_TLS_VERSION%",
    }
    log = _typed(
        "access_loggers.file.v3.FileAccessLog",
        "file",
        {"path": str(directory / ACCESS_LOG), "log_format": {"json_format": line}},
    )
    manager = {
        "codec_type": codec,
        "http2_protocol_options": {"max_inbound_priority_frames_per_stream": _PRIORITY_FRAMES},
        "stat_prefix": codec.lower(),
        "http_filters": [_typed("filters.http.router.v3.Router", "router", {})],
        "access_log": [log],
        "route_config": {"max_direct_response_body_size_bytes": _MAX_RESPONSE_BYTES, "virtual_hosts": [host]},
    }
    return _typed("filters.network.http_connection_manager.v3.HttpConnectionManager", "http", manager)


def _route(prefix: str, file: Path, kind: str) -> dict[str, Any]:
    return {
        "match": {"prefix": prefix},
        "direct_response": {"status": 200, "body": {"filename": str(file)}},
        "response_headers_to_add": [_header("content-type", kind)],
    }


def _header(name: str, value: str) -> dict[str, Any]:
    return {"header": {"key": name, "value": value}, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"}


def _typed(kind: str, name: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "typed_config": {"@type": f"{_TYPE}.{kind}", **fields}}


def requests(text: str) -> list[Request]:
    """Read an access log; an incomplete last line is ignored."""
    found = []
    for line in text.splitlines():
        try:
            entry = json.loads(line)
            early = str(entry["early_data"] or "") == "1"
            found.append(Request(entry["protocol"], str(entry["connection"]), entry["path"], early))
        except (ValueError, KeyError, TypeError):
            continue
    return found
