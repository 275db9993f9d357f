#!/usr/bin/env bash
# Records what two sites send to the router between them, which is weir running examples/router/graph.click on devices.
# Usage, as root: record-sites.sh [FOLDER]. Writes FOLDER/site0.pcap and FOLDER/site1.pcap; FOLDER is this script's own if
# left out. WEIR names the command; target/release/weir if left out.
set -euo pipefail

folder=$(realpath "${1:-$(dirname "$0")}")
root=$(realpath "$(dirname "$0")/..")
weir=$(realpath "${WEIR:-$root/target/release/weir}")
id=$$
host=site-host-$id router=site-router-$id web=site-web-$id
pids=()
work=

cleanup() {
    local pid name
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
    for name in "$host" "$router" "$web"; do ip netns del "$name" 2>/dev/null || true; done
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
    echo "record-sites.sh: gave up after $n_tries tries: $*" >&2
    exit 1
}

# Offloads are off so that every packet is recorded as on a wire.
join() {
    ip link add eth0 netns "$1" address "$2" type veth peer name "$3" netns "$router" address "$4"
    within "$1" ethtool -K eth0 rx off tx off tso off gso off gro off sg off >/dev/null
    within "$router" ethtool -K "$3" rx off tx off tso off gso off gro off sg off >/dev/null
    ip -n "$1" link set eth0 up
    ip -n "$router" link set "$3" up
}

make_network() {
    local name
    for name in "$host" "$router" "$web"; do
        ip netns add "$name"
        within "$name" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
        ip -n "$name" link set lo up
    done
    join "$host" 02:00:00:00:01:02 eth0 02:00:00:00:01:01
    join "$web" 02:00:00:00:02:02 eth1 02:00:00:00:02:01
    ip -n "$host" address add 10.0.1.2/24 dev eth0
    ip -n "$host" route add default via 10.0.1.1
    ip -n "$web" address add 10.0.2.2/24 dev eth0
    ip -n "$web" address add 198.51.100.7/32 dev lo
    ip -n "$web" route add default via 10.0.2.1
}

# The example's router with devices in place of files; the kernel of its namespace has no addresses and stays silent.
start_router() {
    cat >"$work/devices.click" <<'END'
FromDevice(eth0) -> in0 :: Null;
FromDevice(eth1) -> in1 :: Null;
out0 :: Queue -> ToDevice(eth0);
out1 :: Queue -> ToDevice(eth1);
END
    sed -e '/^\/\/ Capture files/,/^\/\/ End/{/^\/\/ End/r '"$work/devices.click" -e 'd}' \
        "$root/examples/router/graph.click" >"$work/router.click"
    "$weir" check "$work/router.click"
    serve "$router" "$weir" run -q "$work/router.click"
}

start_servers() {
    mkdir "$work/www"
    seq 1200 >"$work/www/index.html"
    cat >"$work/nginx.conf" <<END
user root; daemon off; pid $work/nginx.pid; error_log $work/log; worker_processes 1;
events { worker_connections 64; }
http { server_tokens off; access_log off; client_body_temp_path $work/body; proxy_temp_path $work/proxy;
  fastcgi_temp_path $work/fastcgi; uwsgi_temp_path $work/uwsgi; scgi_temp_path $work/scgi;
  server { listen 198.51.100.7:80; root $work/www; } }
END
    serve "$web" nginx -c "$work/nginx.conf" -e "$work/log"
    await sh -c "ip netns exec $web ss -Hltn | grep -q :80"
    local device
    for device in 0 1; do
        serve "$router" tcpdump -i "eth$device" -Q in -s 0 -U --immediate-mode -Z root -w "$work/site$device.pcap"
        await grep -q "listening on eth$device" "$work/log"
    done
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

trap cleanup EXIT
trap 'exit 1' INT TERM HUP
work=$(mktemp -d)
make_network
start_router
start_servers
make_traffic
sleep 0.5
for pid in "${pids[@]: -2}"; do kill -INT "$pid" && wait "$pid"; done
install -m 644 "$work/site0.pcap" "$work/site1.pcap" "$folder"
