#!/bin/bash
# Two lines of 50 and 20 Mbit/s, of 100 ms of buffer each, between namespaces; quiclab-tunnel over both, and a TCP
# download and a ping through it. Runs in a guest with the virtual clock; the results are files in the working directory.
#
#     two_lines.sh PROGRAM RTT1_MS RTT2_MS SECONDS
set -e
program=$1 seconds=$4
export PATH=/usr/sbin:/usr/bin:/sbin:/bin

# a line between both ends, in a namespace of its own: NUMBER RATE_MBIT BUFFER_BYTES RTT_MS
line() {
    ip netns add "line$1"
    for end in server client; do
        ip link add "line$1" netns "$end" type veth peer name "$end" netns "line$1"
        ip -n "$end" link set "line$1" up
        ip -n "line$1" link set "$end" up
        ip netns exec "$end" tc qdisc add dev "line$1" root tbf rate "$2mbit" burst 10kb limit "$3"
        ip netns exec "line$1" tc qdisc add dev "$end" root netem delay "$(($4 * 500))us" limit 100000
    done
    ip -n server addr add "192.0.$1.1/25" dev "line$1"
    ip -n client addr add "192.0.$1.129/25" dev "line$1"
    ip -n "line$1" addr add "192.0.$1.2/25" dev server
    ip -n "line$1" addr add "192.0.$1.130/25" dev client
    ip -n server route add "192.0.$1.128/25" via "192.0.$1.2"
    ip -n client route add "192.0.$1.0/25" via "192.0.$1.130"
    ip netns exec "line$1" sysctl -qw net.ipv4.ip_forward=1
}

for end in server client; do
    ip netns add "$end"
    ip -n "$end" link set lo up
done
line 1 50 625000 "$2"
line 2 20 250000 "$3"

server=$("$program" keygen server.key)
client=$("$program" keygen client.key)
cat >server.toml <<END
version = 1
key_file = "server.key"
interface = "ends"
control_socket = "/run/ends.sock"
[server]
listen = ["0.0.0.0:4433"]
pool_ipv4 = "10.77.0.0/24"
[[server.peers]]
name = "client"
public_key = "$client"
END
cat >client.toml <<END
version = 1
key_file = "client.key"
interface = "endc"
control_socket = "/run/endc.sock"
[client]
server_key = "$server"
[[client.paths]]
name = "first"
interface = "line1"
server = "192.0.1.1:4433"
[[client.paths]]
name = "second"
interface = "line2"
server = "192.0.2.1:4433"
END
for end in server client; do
    ip netns exec "$end" "$program" up "$end.toml" 2>"$end.log" &
done
# until COMMAND succeeds; it has a minute of the virtual clock
await() {
    for ((tries = 0; tries < 600; tries++)); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.1
    done
    echo "not within a minute: $*" >&2
    cat ./*.log >&2
    exit 1
}
await ip netns exec client ping -c 1 -W 1 10.77.0.1 # answered as soon as there is a session
ip netns exec server iperf3 --server --one-off --daemon
await ip netns exec server bash -c 'ss -Hltn sport = 5201 | grep -q .'
ip netns exec client ping -i 0.2 -w "$((seconds - 1))" 10.77.0.1 >ping.txt &
ip netns exec client iperf3 --client 10.77.0.1 --reverse --time "$seconds" --congestion cubic --json >download.json
