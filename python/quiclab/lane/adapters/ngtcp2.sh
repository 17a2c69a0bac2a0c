#!/bin/sh
# Serves an object by the example server of ngtcp2: DIRECTORY SIZE_BYTES FLOW, then its own arguments. The name of the
# object is that of the file to which the client writes it.
set -e
mkdir -p "$1/$3.served"
truncate --size="$2" "$1/$3.served/$3.received"
shift 3
exec gtlsserver "$@"
