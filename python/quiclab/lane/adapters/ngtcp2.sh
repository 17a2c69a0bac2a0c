#!/bin/sh
# Serves an object by the example server of ngtcp2: DIRECTORY SIZE_BYTES FLOW, then its own arguments.
set -e
cd "$1"
truncate --size="$2" "$3.object"
shift 3
exec gtlsserver "$@"
