#!/bin/sh
# Serves an object by nginx: CONGESTION_CONTROL DIRECTORY SIZE_BYTES FLOW CERTIFICATE KEY. The object is a file without content;
# nginx has no option for the congestion control, it is that of the route.
set -e
ip route replace default dev quiclab0 congctl "$1"
cd "$2"
truncate --size="$3" "$4.object"
# its date goes into the headers: one that no two runs differ in
touch --date=@0 "$4.object"
sed "s|CERTIFICATE|$5|; s|KEY|$6|" "${0%/*}/nginx.conf" >"$4.nginx.conf"
exec nginx -p "$2/" -c "$2/$4.nginx.conf" -g "pid $4.nginx.pid;"
