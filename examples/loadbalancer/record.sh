#!/usr/bin/env bash
# Records what clients and servers send to the load balancer between them, which is weir running graph.click on devices.
# Usage, as root: record.sh [FOLDER]. Writes FOLDER/eth0.pcap and FOLDER/eth1.pcap; FOLDER is this script's own if left out.
# WEIR names the command; target/release/weir if left out.
set -euo pipefail

folder=$(realpath "${1:-$(dirname "$0")}")
here=$(realpath "$(dirname "$0")")
weir=$(realpath "${WEIR:-$here/../../target/release/weir}")
id=$$
clients=lb-clients-$id balancer=lb-$id servers=lb-servers-$id
pids=()
work=

cleanup() {
    local pid name
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
    for name in "$clients" "$balancer" "$servers"; do ip netns del "$name" 2>/dev/null || true; done
    [ -z "$work" ] || rm -rf "$work"
}

within() { ip netns exec "$@"; }

try() { within "$@" >/dev/null 2>&1 || true; }

# `$!` is the command itself: `ip` replaces itself by it.
serve() {
    ip netns exec "$@" >>"$work/log" 2>&1 &
    pids+=($!)
}

await() {
    local n_tries
    for n_tries in $(seq 100); do
        if "$@" >/dev/null 2>&1; then return; fi
        sleep 0.1
    done
    cat "$work/log" >&2
    echo "record.sh: gave up after $n_tries tries: $*" >&2
    exit 1
}

# Offloads are off so that every packet is recorded as on a wire.
join() {
    ip link add eth0 netns "$1" address "$2" type veth peer name "$3" netns "$balancer" address "$4"
    within "$1" ethtool -K eth0 rx off tx off tso off gso off gro off sg off >/dev/null
    within "$balancer" ethtool -K "$3" rx off tx off tso off gso off gro off sg off >/dev/null
    ip -n "$1" link set eth0 up
    ip -n "$balancer" link set "$3" up
}

make_network() {
    local name address
    for name in "$clients" "$balancer" "$servers"; do
        ip netns add "$name"
        within "$name" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
        ip -n "$name" link set lo up
    done
    join "$clients" 02:00:00:00:03:02 eth0 02:00:00:00:03:01
    join "$servers" 02:00:00:00:04:02 eth1 02:00:00:00:04:01
    for address in 192.0.2.2 192.0.2.3 192.0.2.4; do ip -n "$clients" address add $address/24 dev eth0; done
    for address in 10.1.0.1 10.1.0.2 10.1.0.3; do ip -n "$servers" address add $address/24 dev eth0; done
    ip -n "$clients" route add default via 192.0.2.1
    ip -n "$servers" route add default via 10.1.0.254
}

# The example with devices in place of files; the kernel of its namespace has no addresses and stays silent.
start_balancer() {
    cat >"$work/devices.click" <<'END'
FromDevice(eth0) -> in0 :: Null;
FromDevice(eth1) -> in1 :: Null;
out0 :: Queue -> ToDevice(eth0);
out1 :: Queue -> ToDevice(eth1);
END
    sed -e '/^\/\/ Capture files/,/^\/\/ End/{/^\/\/ End/r '"$work/devices.click" -e 'd}' \
        "$here/graph.click" >"$work/balancer.click"
    "$weir" check "$work/balancer.click"
    serve "$balancer" "$weir" run -q "$work/balancer.click"
}

# Each server has a page and a record that tell which one it is.
start_servers() {
    local n device
    {
        echo "user root; daemon off; pid $work/nginx.pid; error_log $work/log; worker_processes 1;"
        echo "events { worker_connections 64; } http { server_tokens off; access_log off;"
        echo "client_body_temp_path $work/body; proxy_temp_path $work/proxy; fastcgi_temp_path $work/fastcgi;"
        echo "uwsgi_temp_path $work/uwsgi; scgi_temp_path $work/scgi;"
        for n in 1 2 3; do
            mkdir -p "$work/www$n"
            echo "server $n" >"$work/www$n/index.html"
            echo "server { listen 10.1.0.$n:8080; root $work/www$n; }"
        done
        echo "}"
    } >"$work/nginx.conf"
    serve "$servers" nginx -c "$work/nginx.conf" -e "$work/log"
    for n in 1 2; do
        serve "$servers" dnsmasq --keep-in-foreground --conf-file=/dev/null --no-hosts --no-resolv --bind-interfaces \
            --except-interface=lo --listen-address="10.1.0.$n" --user=root --pid-file="$work/dnsmasq$n.pid" \
            --local=/example.test/ --address="/www.example.test/198.51.100.$n" --edns-packet-max=4096 \
            --txt-record="example.test,$(seq 60 | tr -d '\n'),$(seq 100 170 | tr -d '\n'),$(seq 200 270 | tr -d '\n'),$(
                seq 300 370 | tr -d '\n'),$(seq 400 470 | tr -d '\n'),$(seq 500 570 | tr -d '\n'),$(
                seq 600 670 | tr -d '\n'),$(seq 700 770 | tr -d '\n'),$(seq 800 870 | tr -d '\n')"
    done
    await sh -c "[ \$(ip netns exec $servers ss -Hltn | grep -c ':8080\|:53 ') -ge 5 ]"
    for device in 0 1; do
        serve "$balancer" tcpdump -i "eth$device" -Q in -s 0 -U --immediate-mode -Z root -w "$work/eth$device.pcap"
        await grep -q "listening on eth$device" "$work/log"
    done
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

trap cleanup EXIT
trap 'exit 1' INT TERM HUP
work=$(mktemp -d)
make_network
start_balancer
start_servers
make_traffic
sleep 0.5
for pid in "${pids[@]: -2}"; do kill -INT "$pid" && wait "$pid"; done
install -m 644 "$work/eth0.pcap" "$work/eth1.pcap" "$folder"
