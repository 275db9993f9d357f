#!/usr/bin/env bash
# Records what two sites send to the router between them, which is weir running examples/router/graph.click on devices.
# Usage, as root: record-sites.sh [FOLDER]. Writes FOLDER/site0.pcap and FOLDER/site1.pcap; FOLDER is this script's own if
# left out. WEIR names the command; target/release/weir if left out.
set -euo pipefail
. "$(dirname "$0")/recording.sh"

folder=$(realpath "${1:-$(dirname "$0")}")
root=$(realpath "$(dirname "$0")/..")
weir=$(realpath "${WEIR:-$root/target/release/weir}")
host=site-host-$id router=site-router-$id web=site-web-$id

make_network() {
    make_ipv4_namespaces "$host" "$router" "$web"
    join "$host" eth0 02:00:00:00:01:02 "$router" eth0 02:00:00:00:01:01
    join "$web" eth0 02:00:00:00:02:02 "$router" eth1 02:00:00:00:02:01
    ip -n "$host" address add 10.0.1.2/24 dev eth0
    ip -n "$host" route add default via 10.0.1.1
    ip -n "$web" address add 10.0.2.2/24 dev eth0
    ip -n "$web" address add 198.51.100.7/32 dev lo
    ip -n "$web" route add default via 10.0.2.1
}

start_servers() {
    mkdir "$work/www"
    seq 1200 >"$work/www/index.html"
    serve_pages "$web" "server { listen 198.51.100.7:80; root $work/www; }"
    await sh -c "ip netns exec $web ss -Hltn | grep -q :80"
}

make_traffic() {
    within "$host" ping -qc 2 -i 0.2 198.51.100.7 >/dev/null
    within "$host" curl -sS http://198.51.100.7/ -o "$work/page"
    cmp "$work/page" "$work/www/index.html"
    within "$web" ping -qc 1 10.0.1.2 >/dev/null
    # Fragments: made by the host, made by the router, and forbidden.
    within "$host" ping -qc 1 -s 2000 10.0.2.2 >/dev/null
    within "$host" ping -qc 1 -M dont -s 1200 198.51.100.7 >/dev/null
    try "$host" ping -qc 1 -W 1 -M "do" -s 1300 10.0.2.2
    # Options, time to live, no route, a way back, nobody there, and the router itself.
    try "$host" ping -qc 1 -W 1 -R 198.51.100.7
    try "$host" ping -qc 1 -W 1 -t 1 198.51.100.7
    try "$host" ping -qc 1 -W 1 203.0.113.9
    try "$host" ping -qc 1 -W 1 192.0.2.9
    try "$host" ping -qc 1 -W 1 10.0.2.99
    within "$host" ping -qc 1 10.0.1.1 >/dev/null
    try "$host" sh -c 'echo hello | nc -u -w 1 10.0.2.1 9'
    try "$host" curl -s --connect-timeout 1 http://10.0.2.2:81/
}

check_tools nginx curl ping nc ss
begin
make_network
serve_graph "$router" "$root/examples/router/graph.click"
start_servers
record "$router" eth0 site0 -Q in
record "$router" eth1 site1 -Q in
make_traffic
stop_recording 2
install -m 644 "$work/site0.pcap" "$work/site1.pcap" "$folder"
