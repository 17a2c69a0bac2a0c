#!/bin/sh
# Serves an object by Envoy over HTTP/3: SIZE_BYTES DIRECTORY/FLOW ADDRESS. The object is a file without
# content; Envoy takes no Ed25519 certificate, hence one of its own.
set -e
truncate --size="$1" "$2.object"
exec envoy --disable-hot-restart --concurrency 1 --log-level warn --config-yaml "
static_resources:
  listeners:
  - name: quic
    address:
      socket_address: { protocol: UDP, address: $3, port_value: 443 }
    udp_listener_config:
      quic_options: {}
      downstream_socket_config: { prefer_gro: false }
    filter_chains:
    - transport_socket:
        name: envoy.transport_sockets.quic
        typed_config:
          '@type': type.googleapis.com/envoy.extensions.transport_sockets.quic.v3.QuicDownstreamTransport
          downstream_tls_context:
            common_tls_context:
              tls_certificates:
              - certificate_chain: { filename: '${0%/*}/certificate-p-256.pem' }
                private_key: { filename: '${0%/*}/key-p-256.pem' }
      filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          '@type': type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          codec_type: HTTP3
          stat_prefix: quic
          http_filters:
          - name: envoy.filters.http.router
            typed_config:
              '@type': type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
          route_config:
            max_direct_response_body_size_bytes: 4294967295
            virtual_hosts:
            - name: all
              domains: ['*']
              routes:
              - match: { prefix: / }
                direct_response: { status: 200, body: { filename: '$2.object' } }
"
