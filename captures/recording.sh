# shellcheck shell=bash
# Sourced by the scripts that record captures: namespaces, programs in them, tcpdump, and nothing left of all that in the end.
# A script sets FOLDER, where its captures go, and perhaps WEIR, the command.

id=$$
namespaces=()
pids=()
work=

fail() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}

# Fails unless these programs are there and may do what they must.
check_tools() {
    local tool
    [ "$(id -u)" = 0 ] || fail "must run as root, to make network namespaces"
    [ -w "$folder" ] || fail "cannot write to $folder"
    for tool in ip ethtool tcpdump "$@"; do
        command -v "$tool" >/dev/null || fail "needs the program $tool"
    done
}

# Makes the folder $work, which is gone in the end, as are all namespaces and what runs in them.
begin() {
    trap cleanup EXIT
    trap 'exit 1' INT TERM HUP
    work=$(mktemp -d)
}

cleanup() {
    local pid name
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
    for name in "${namespaces[@]}"; do ip netns del "$name" 2>/dev/null || true; done
    [ -z "$work" ] || rm -rf "$work"
}

# Becomes a command in a namespace.
enter() { exec ip netns exec "$@"; }

# Runs a command in a namespace.
within() { (enter "$@"); }

# A command whose failure is what is wanted, or at least no reason to stop: a closed port, no answer.
try() { within "$@" >/dev/null 2>&1 || true; }

# Runs a command in a namespace in the background until the end. What enters becomes the command, so $! is the command's own id.
serve() {
    enter "$@" >>"$work/log" 2>&1 &
    pids+=($!)
}

# Waits until a command succeeds, for ten seconds at most.
await() {
    local n_tries
    for n_tries in $(seq 100); do
        if "$@" >/dev/null 2>&1; then return; fi
        sleep 0.1
    done
    cat "$work/log" >&2
    fail "gave up after $n_tries tries: $*"
}

make_namespaces() {
    local name
    for name in "$@"; do
        namespaces+=("$name")
        ip netns add "$name"
        ip -n "$name" link set lo up
    done
}

make_ipv4_namespaces() {
    local name
    make_namespaces "$@"
    for name in "$@"; do
        ip netns exec "$name" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
    done
}

# Turns a device's offloads off, so that every packet is recorded as on a wire: NAMESPACE DEVICE.
without_offloads() { ip netns exec "$1" ethtool -K "$2" rx off tx off tso off gso off gro off sg off >/dev/null; }

# Joins two namespaces: NAMESPACE DEVICE MAC, twice.
join() {
    ip link add "$2" netns "$1" address "$3" type veth peer name "$5" netns "$4" address "$6"
    local name device
    for name in "$1 $2" "$4 $5"; do
        read -r name device <<<"$name"
        without_offloads "$name" "$device"
        ip -n "$name" link set "$device" up
    done
}

# Runs a graph in a namespace, with eth0 and eth1 in place of its captures: NAMESPACE FILE. The kernel of the namespace should
# have no addresses, to stay silent.
serve_graph() {
    cat >"$work/devices.click" <<'END'
FromDevice(eth0) -> in0 :: Null;
FromDevice(eth1) -> in1 :: Null;
out0 :: Queue -> ToDevice(eth0);
out1 :: Queue -> ToDevice(eth1);
END
    sed -e '/^\/\/ Capture files/,/^\/\/ End/{/^\/\/ End/r '"$work/devices.click" -e 'd}' "$2" >"$work/graph.click"
    "$weir" check "$work/graph.click"
    serve "$1" "$weir" run -q "$work/graph.click"
}

# Runs nginx in a namespace: NAMESPACE SERVERS.
serve_pages() {
    cat >"$work/nginx.conf" <<END
user root; daemon off; pid $work/nginx.pid; error_log $work/log; worker_processes 1;
events { worker_connections 64; }
http { server_tokens off; access_log off; client_body_temp_path $work/body; proxy_temp_path $work/proxy;
  fastcgi_temp_path $work/fastcgi; uwsgi_temp_path $work/uwsgi; scgi_temp_path $work/scgi;
  $2 }
END
    serve "$1" nginx -c "$work/nginx.conf" -e "$work/log"
}

# Begins to record: NAMESPACE DEVICE NAME [ARGUMENT...]. The capture is $work/NAME.pcap; tcpdump gets the other arguments.
record() {
    serve "$1" tcpdump -i "$2" -s 0 -U --immediate-mode -Z root -w "$work/$3.pcap" "${@:4}"
    await grep -q "listening on $2" "$work/log"
}

# Ends the recording of as many captures, which were begun last.
stop_recording() {
    local pid
    sleep 0.5
    for pid in "${pids[@]: -$1}"; do kill -INT "$pid" && wait "$pid"; done
    ! grep 'packets dropped by kernel' "$work/log" | grep -v '^0 ' || fail "tcpdump dropped packets"
}

# Each kind of packet that a capture is for must be in it: NAME LEAST-NUMBER FILTER.
expect_packets() {
    local n_found
    n_found=$(tcpdump -nr "$work/$1.pcap" "$3" 2>/dev/null | wc -l)
    [ "$n_found" -ge "$2" ] || fail "$1.pcap has $n_found instead of $2 or more packets of: $3"
    printf '%s.pcap %5d  %s\n' "$1" "$n_found" "$3"
}
