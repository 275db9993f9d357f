#!/usr/bin/env bash
# Records what clients and servers send to the load balancer between them, which is weir running graph.click on devices.
# Usage, as root: record.sh [FOLDER]. Writes FOLDER/eth0.pcap and FOLDER/eth1.pcap; FOLDER is this script's own if left out.
# WEIR names the command; target/release/weir if left out.
set -euo pipefail
. "$(dirname "$0")/../../captures/recording.sh"

folder=$(realpath "${1:-$(dirname "$0")}")
here=$(realpath "$(dirname "$0")")
weir=$(realpath "${WEIR:-$here/../../target/release/weir}")
clients=lb-clients-$id balancer=lb-$id servers=lb-servers-$id

make_network() {
    local address
    make_ipv4_namespaces "$clients" "$balancer" "$servers"
    join "$clients" eth0 02:00:00:00:03:02 "$balancer" eth0 02:00:00:00:03:01
    join "$servers" eth0 02:00:00:00:04:02 "$balancer" eth1 02:00:00:00:04:01
    for address in 192.0.2.2 192.0.2.3 192.0.2.4; do ip -n "$clients" address add $address/24 dev eth0; done
    for address in 10.1.0.1 10.1.0.2 10.1.0.3; do ip -n "$servers" address add $address/24 dev eth0; done
    ip -n "$clients" route add default via 192.0.2.1
    ip -n "$servers" route add default via 10.1.0.254
}

# Each server has a page and a record that tell which one it is.
start_servers() {
    local n pages=
    for n in 1 2 3; do
        mkdir -p "$work/www$n"
        echo "server $n" >"$work/www$n/index.html"
        pages+="server { listen 10.1.0.$n:8080; root $work/www$n; } "
    done
    serve_pages "$servers" "$pages"
    for n in 1 2; do
        serve "$servers" dnsmasq --keep-in-foreground --conf-file=/dev/null --no-hosts --no-resolv --bind-interfaces \
            --except-interface=lo --listen-address="10.1.0.$n" --user=root --pid-file="$work/dnsmasq$n.pid" \
            --local=/example.test/ --address="/www.example.test/198.51.100.$n" --edns-packet-max=4096 \
            --txt-record="example.test,$(seq 60 | tr -d '\n'),$(seq 100 170 | tr -d '\n'),$(seq 200 270 | tr -d '\n'),$(
                seq 300 370 | tr -d '\n'),$(seq 400 470 | tr -d '\n'),$(seq 500 570 | tr -d '\n'),$(
                seq 600 670 | tr -d '\n'),$(seq 700 770 | tr -d '\n'),$(seq 800 870 | tr -d '\n')"
    done
    await sh -c "[ \$(ip netns exec $servers ss -Hltn | grep -c ':8080\|:53 ') -ge 5 ]"
}

make_traffic() {
    local n address
    for n in 1 2 3; do
        for address in 192.0.2.2 192.0.2.3 192.0.2.4; do
            within "$clients" curl -sS --interface $address http://203.0.113.10/ >>"$work/pages"
        done
    done
    sort "$work/pages" | uniq -c
    for address in 192.0.2.2 192.0.2.3 192.0.2.4; do
        within "$clients" dig +short +tries=1 -b $address @203.0.113.10 www.example.test A
    done
    # An answer of several fragments, a port where nobody listens, another service's port, and a ping.
    within "$clients" dig +tries=1 +bufsize=4096 +ignore -b 192.0.2.2 @203.0.113.10 example.test TXT | grep 'MSG SIZE'
    try "$clients" sh -c 'echo hello | nc -u -w 1 203.0.113.10 9'
    try "$clients" curl -s --connect-timeout 1 http://203.0.113.10:81/
    within "$clients" ping -qc 1 203.0.113.10 >/dev/null
}

check_tools nginx curl dnsmasq dig ping nc ss
begin
make_network
serve_graph "$balancer" "$here/graph.click"
start_servers
record "$balancer" eth0 eth0 -Q in
record "$balancer" eth1 eth1 -Q in
make_traffic
stop_recording 2
install -m 644 "$work/eth0.pcap" "$work/eth1.pcap" "$folder"
