#!/usr/bin/env bash
# Records in.pcap: a client and a server in network namespaces, real programs, some of what rules describe among the rest.
# Usage, as root: record.sh [FOLDER]. Writes FOLDER/in.pcap; FOLDER is this script's own if left out.
set -euo pipefail

folder=$(realpath "${1:-$(dirname "$0")}")
max_bytes=100000
id=$$
client=ids-client-$id wire=ids-wire-$id server=ids-server-$id
pids=()
work=

fail() {
    echo "record.sh: $*" >&2
    exit 1
}

cleanup() {
    local pid name
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
    for name in "$client" "$wire" "$server"; do ip netns del "$name" 2>/dev/null || true; done
    [ -z "$work" ] || rm -rf "$work"
}

# Runs a command in a namespace in the background until the end.
serve() {
    local name=$1
    shift
    ip netns exec "$name" "$@" >>"$work/log" 2>&1 &
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

# A command whose failure is no reason to stop.
try() {
    ip netns exec "$client" "$@" >/dev/null 2>&1 || true
}

check_tools() {
    local tool
    [ "$(id -u)" = 0 ] || fail "must run as root, to make network namespaces"
    [ -w "$folder" ] || fail "cannot write to $folder"
    for tool in ip nft ethtool ss tcpdump nginx curl dnsmasq dig nc ping python3; do
        command -v "$tool" >/dev/null || fail "needs the program $tool"
    done
}

make_network() {
    local name
    for name in "$client" "$wire" "$server"; do
        ip netns add "$name"
        ip -n "$name" link set lo up
    done
    # A bridge between them can lose packets without the client's noticing.
    ip -n "$wire" link add wire type bridge mcast_snooping 0
    ip link add eth0 netns "$client" address 02:00:00:00:00:10 type veth peer name client netns "$wire"
    ip link add eth0 netns "$server" address 02:00:00:00:00:20 type veth peer name server netns "$wire"
    for name in client server; do ip -n "$wire" link set "$name" master wire up; done
    ip -n "$wire" link set wire up
    # Offloads are off so that every packet is recorded as on a wire, and addresses need no time to be checked.
    for name in "$client 10" "$server 20"; do
        read -r name host <<<"$name"
        ip netns exec "$name" ethtool -K eth0 rx off tx off tso off gso off gro off sg off >/dev/null
        ip netns exec "$name" sysctl -qw net.ipv6.conf.eth0.accept_dad=0 net.ipv6.conf.eth0.router_solicitations=0
        ip -n "$name" address add "10.0.0.$host/24" dev eth0
        ip -n "$name" address add "fd00::$host/64" dev eth0 nodad
        ip -n "$name" link set eth0 up
    done
}

start_servers() {
    mkdir -p "$work/www"
    printf '<html><body>It works.</body></html>\n' >"$work/www/index.html"
    seq 1 900 >"$work/www/numbers.txt"
    cat >"$work/nginx.conf" <<END
user root; daemon off; pid $work/nginx.pid; error_log $work/log; worker_processes 1;
events { worker_connections 64; }
http { server_tokens off; access_log off; client_body_temp_path $work/body; proxy_temp_path $work/proxy;
  fastcgi_temp_path $work/fastcgi; uwsgi_temp_path $work/uwsgi; scgi_temp_path $work/scgi;
  server { listen 80; listen [::]:80; root $work/www; } }
END
    serve "$server" nginx -c "$work/nginx.conf" -e "$work/log"
    serve "$server" dnsmasq --keep-in-foreground --conf-file=/dev/null --no-hosts --no-resolv --bind-interfaces \
        --listen-address=10.0.0.20 --user=root --pid-file="$work/dnsmasq.pid" --local=/test/ \
        --address=/www.example.test/10.0.0.20 --address=/update.botnet.test/10.0.0.66
    serve "$server" sh -c 'while :; do printf "220 ready\r\n331 password\r\n530 no\r\n" | nc -l -p 21 -q 1; done'
    local port
    for port in 80 53 21; do await sh -c "ip netns exec $server ss -Hltun src :$port | grep -q ."; done
}

start_recording() {
    serve "$server" tcpdump -i eth0 -s 0 -U --immediate-mode -Z root -w "$work/in.pcap" \
        'tcp or udp port 53 or icmp'
    await grep -q "listening on eth0" "$work/log"
}

# Sends pieces of text one by one to the web server.
pieces() {
    ip netns exec "$client" python3 - "$@" <<'END'
import socket, sys, time
connection = socket.create_connection(("10.0.0.20", 80))
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for piece in sys.argv[1:]:
    connection.sendall(piece.encode().decode("unicode_escape").encode("latin1"))
    time.sleep(0.05)
connection.shutdown(socket.SHUT_WR)
while connection.recv(4096):
    pass
END
}

make_traffic() {
    local web=http://10.0.0.20 port
    # What everybody does.
    try dig +tries=1 @10.0.0.20 www.example.test A
    try curl -sS -A 'Mozilla/5.0 (X11; Linux x86_64)' "$web/" "$web/numbers.txt" -o /dev/null -o /dev/null
    try curl -sS -6 -A 'Mozilla/5.0 (X11; Linux x86_64)' 'http://[fd00::20]/' -o /dev/null
    try ping -qc 2 -i 0.2 10.0.0.20
    # A directory traversal, a scanner, an injection; one of each over IPv6.
    try curl -sS --path-as-is "$web/images/../../../../etc/passwd"
    try curl -sS --path-as-is -6 'http://[fd00::20]/images/../../../../etc/passwd'
    try curl -sS -A 'sqlmap/1.7' "$web/index.html?id=1%27%20UNION%20SELECT%20name,password%20FROM%20users--"
    # The injection in pieces: no packet holds it as a whole.
    pieces 'GET /item?id=7%27%20UN' 'ION%20SEL' 'ECT%20password%20FR' 'OM%20users HTTP/1.1\r\nHost: www.exam' \
        'ple.test\r\nConnection: close\r\n\r\n'
    # An upload of which a segment gets lost, so that what follows overtakes it.
    ip netns exec "$wire" nft -f - <<'END'
table bridge loss {
    chain forward {
        type filter hook forward priority 0
        tcp dport 80 ip length 500-699 limit rate 1/hour burst 1 packets drop
    }
}
END
    pieces 'POST /upload.php HTTP/1.1\r\nHost: www.example.test\r\nContent-Length: 2000\r\n\r\n' \
        "$(head -c 590 /dev/zero | tr '\0' x)eval(ba" "se64_decode(\$_POST[c]));$(head -c 1373 /dev/zero | tr '\0' y)" 'end'
    ip netns exec "$wire" nft delete table bridge loss
    # Guessing passwords, asking for a bad name, knocking at doors, large echo requests.
    for port in 1 2 3 4 5 6; do
        printf 'USER admin\r\nPASS secret%s\r\nQUIT\r\n' "$port" | try nc -q 1 -w 2 10.0.0.20 21
    done
    try dig +tries=1 @10.0.0.20 update.botnet.test A
    for port in 22 23 25 110 135 139 445 1433 3306 3389; do try nc -z -w 1 10.0.0.20 "$port"; done
    try ping -qc 1 -s 1200 10.0.0.20
}

stop_recording() {
    local recorder=${pids[-1]}
    sleep 0.5
    kill -INT "$recorder" && wait "$recorder"
    ! grep 'packets dropped by kernel' "$work/log" | grep -v '^0 ' || fail "tcpdump dropped packets"
}

# Each kind of packet that the capture is for must be in it: LEAST-NUMBER FILTER.
expect_packets() {
    local n_found
    n_found=$(tcpdump -nr "$work/in.pcap" "$2" 2>/dev/null | wc -l)
    [ "$n_found" -ge "$1" ] || fail "there are $n_found instead of $1 or more packets of: $2"
}

check_capture() {
    local n_bytes
    expect_packets 60 'tcp port 80'
    expect_packets 8 'ip6'
    expect_packets 4 'udp port 53'
    expect_packets 6 'tcp dst port 21 and tcp[tcpflags] = tcp-syn'
    expect_packets 5 'icmp'
    expect_packets 10 'tcp[tcpflags] & tcp-rst != 0'
    n_bytes=$(wc -c <"$work/in.pcap")
    [ "$n_bytes" -le "$max_bytes" ] || fail "the capture has $n_bytes bytes, more than $max_bytes"
    ! grep -aqF -- "$work" "$work/in.pcap" || fail "the capture mentions $work"
}

check_tools
trap cleanup EXIT
trap 'exit 1' INT TERM HUP
work=$(mktemp -d)
make_network
start_servers
start_recording
make_traffic
stop_recording
check_capture
install -m 644 "$work/in.pcap" "$folder"
